"""Store: the seam between the coordinator and its stores."""

from __future__ import annotations

import time
from typing import Protocol, TypeVar

from ..contracts.lean import dataclass
from . import commands as c
from .coded.codec import Codec
from .lifetime import Lifetime

R = TypeVar("R")
# How many events are kept. So many take about 150 MB on Redis, and are the last 40 minutes of a hundred jobs a second:
# that is how long a reader of events may be away.
KEPT_EVENTS = 1_000_000


def host_clock() -> int:
    """The clock of a store without a server: this machine's, in ms since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Topic:
    """What a watch waits for: deliveries in `queues`, or changes of `subject` (a job's id; "" for all events)."""

    subject: str = ""
    queues: tuple[str, ...] = ()


class Watch(Protocol):
    """A source of wake-ups. They may come without a reason, and may get lost: look at the store after each wait.

    Open it before the first look, so that a change between that and the wait is not missed.
    """

    def wait(self, timeout: float) -> None:
        """Block until something may have changed, at most `timeout` seconds."""
        ...

    async def await_(self, timeout: float) -> None: ...

    async def ainterrupt(self) -> None:
        """End a wait that is going on in another task."""
        ...

    async def aopen(self) -> None: ...

    def close(self) -> None: ...

    async def aclose(self) -> None: ...


class Behind(Protocol):
    """What a store has answered already, but not stored durably yet."""

    def settle(self) -> None:
        """Return when it is durable. `Unreachable` if it may get lost."""
        ...

    async def asettle(self) -> None: ...


class Store(Protocol):
    """Carries commands out, each atomically. One store object serves one event loop or any number of threads."""

    codec: Codec | None
    """The codec for its contents."""
    kept_events: int
    """How many events its workers keep, at least."""
    lifetime: Lifetime
    """Until when this handle may connect. A sibling has its own."""

    @property
    def url(self) -> str:
        """Its address, as a URL without secrets."""
        ...

    @property
    def namespace(self) -> str:
        """Separates its users from others of the same store."""
        ...

    def call(self, command: c.Command[R]) -> R: ...

    async def acall(self, command: c.Command[R]) -> R: ...

    async def acall_after(self, watch: Watch, timeout: float, command: c.Command[R]) -> R:
        """Wait with a watch of this store, then carry a command out, if possible in the same round trip.

        Don't cancel this: the command may still be carried out, with nobody to receive the answer. Let the wait end on
        its own, or by `ainterrupt`.
        """
        ...

    def behind(self) -> Behind | None:
        """What this handle has answered to `Put(soon=True)` and may not have stored durably yet. None if there is
        nothing."""
        ...

    def watch(self, topic: Topic) -> Watch: ...

    def sibling(self) -> Store:
        """Another handle with a connection of its own, for another thread."""
        ...

    def open(self) -> None:
        """Connect and check that the store can be used; `Unreachable` or `BadSetup` if not."""
        ...

    def close(self) -> None:
        """Close what is open. Breaks nothing that is under way, and whoever may goes on with what is opened for it.

        What belongs to event loops they close themselves, as soon as it is idle or at their end, unless somebody has
        opened the store again meanwhile."""
        ...

    async def aopen(self) -> None: ...

    async def aclose(self) -> None:
        """`close`, and wait until the event loops that run have closed what belongs to them, as far as it is idle."""
        ...


# Commands after which nobody has anything new to do.
_QUIET = (
    c.AckEvents,
    c.Declare,
    c.DeleteGroup,
    c.DeleteJob,
    c.DeleteThread,
    c.Drop,
    c.Heartbeat,
    c.Import,
    c.JoinGroup,
    c.Name,
    c.Prune,
    c.PruneJobs,
    c.Put,
    c.PutWrites,
    c.Record,
    c.RefreshItems,
    c.Save,
    c.TakeEvents,
    c.TrimEvents,
    c.WriteItems,
)


def rings(command: c.Command[R], answer: R, told: bool) -> bool:
    """Whether a command that was carried out may have given somebody something to do. `told`: it added events."""
    if isinstance(command, _QUIET):
        return False
    if isinstance(command, c.Reap):
        return isinstance(answer, c.Reaped) and answer.moved > 0
    if isinstance(command, c.Claim):
        return told  # even if it started nothing, it may have let others out of their lines
    return type(command) not in c.READING

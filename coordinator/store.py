"""Store: the seam between the coordinator and what it keeps things in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from . import commands as c
from .coded.codec import Codec

R = TypeVar("R")
# Events are kept by number, since that bounds what they take: so many are some 150 MB on Redis, and the last 40 minutes
# of a hundred jobs a second, which is how long one who reads them may be away.
KEPT_EVENTS = 1_000_000


@dataclass(frozen=True)
class Topic:
    """What a watch waits for: deliveries in `queues`, or changes of `subject` (a job's id; "" for all events)."""

    subject: str = ""
    queues: tuple[str, ...] = ()


class Watch(Protocol):
    """A wake-up. It may come for nothing, and it may be lost: look at the store after each wait.

    Opened before the first look, so that a change between the look and the wait wakes too.
    """

    def wait(self, timeout: float) -> None:
        """Block until something may have changed, at most `timeout` seconds."""
        ...

    async def await_(self, timeout: float) -> None: ...

    async def ainterrupt(self) -> None:
        """End the wait that another task is in."""
        ...

    async def aopen(self) -> None: ...

    def close(self) -> None: ...

    async def aclose(self) -> None: ...


class Behind(Protocol):
    """What a store has answered soon, and is about to keep."""

    def settle(self) -> None:
        """Return when it is kept; `Unreachable` if it may get lost."""
        ...

    async def asettle(self) -> None: ...


class Store(Protocol):
    """Carries commands out, each atomically. One store object serves one event loop or any number of threads."""

    codec: Codec | None
    """What its contents are coded by."""
    kept_events: int
    """How many events the workers on this store keep at least."""

    @property
    def url(self) -> str:
        """Where it keeps things, as a URL without secrets."""
        ...

    @property
    def namespace(self) -> str:
        """What keeps its users apart from others on the same store."""
        ...

    def call(self, command: c.Command[R]) -> R: ...

    async def acall(self, command: c.Command[R]) -> R: ...

    async def acall_after(self, watch: Watch, timeout: float, command: c.Command[R]) -> R:
        """Wait with a watch of this store, then carry a command out: in the same round trip where that is possible.

        The command may be carried out for a caller that has gone away while it waited: let the wait end by itself or
        by `ainterrupt`, not by cancellation.
        """
        ...

    def behind(self) -> Behind | None:
        """What this handle has answered to `Put(soon=True)` and may not have kept yet; None where all is kept."""
        ...

    def watch(self, topic: Topic) -> Watch: ...

    def sibling(self) -> Store:
        """Another handle with a connection of its own, for another thread."""
        ...

    def open(self) -> None:
        """Connect and check that the store can be used; `Unreachable` or `BadSetup` if not."""
        ...

    def close(self) -> None: ...

    async def aopen(self) -> None: ...

    async def aclose(self) -> None: ...


# Commands that give nobody anything to do.
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
    """Whether a finished command may have given somebody something to do. `told`: it has added events."""
    if isinstance(command, _QUIET):
        return False
    if isinstance(command, c.Reap):
        return isinstance(answer, c.Reaped) and answer.moved > 0
    if isinstance(command, c.Claim):
        return told  # one that starts nothing may let others out of their lines
    return type(command) not in c.READING

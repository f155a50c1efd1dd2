"""Rows: what stores keep, as plain data. Every field is a text, a number or opaque bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..contracts.nothing import nothing

SCHEMA_VERSION = 6
# A time that does not come, in ms since 1970: in lua/lib/base.lua, too.
NEVER = 9 * 10**15
# The place in its queue of a delivery that does not go ahead is behind this.
BEHIND = 1 << 52


@dataclass(slots=True)
class JobRow:
    """A job as stored. Times are the store's, in ms since 1970; "" and 0 mean "none".

    `ready` orders the deliveries of a queue (0: not in it): up to BEHIND those that go ahead of the others. `closed` is
    the operation and lease that ended the last delivery, so that a retry after a lost reply is recognised. `failing` is
    when the hop's first attempt failed (below 0 while the job waits: for how long it had failed until then), `expires`
    0 as soon as the job has started.
    `began` is the checkpoint that its first delivery went on from. `lane` is that of its delivery, `slot` the lane in
    which it has a place, `waits` its order among those that wait in line there (0: it does not).

    `asked` names the newest question: when it was asked, later than the one before. `answered` is that of the last
    question that was answered, and the answer's digest, "default" or "timeout". `escalation` is who is asked when the
    time is over, a line for each: for how long (ms), and who; `escalated` is how many of them were. `terms` is what the
    question says besides itself, `otherwise` the answer that is taken if nobody gives one.
    A child has its `parent`, the fan-out that it is counted in (`brood`: "" when it is not any more) and its `number`
    there. A parent has its last fan-out (`fan`) with the number of its `children`,
    how many were `done` and how many `lost` (failed, rejected, canceled), and what decides it: `need` that are done,
    or more than `spare` that are lost. `verdict` is "" while it is open, then "met", "broken", or "cut" (the parent
    ended first).
    """

    id: str
    thread: str = ""
    state: str = ""
    reason: str = ""
    agent: str = ""
    contract: str = ""
    queue: str = ""
    ready: int = 0
    hop: int = 0
    attempt: int = 1
    crashes: int = 0
    failing: int = 0
    token: int = 0
    lease: str = ""
    worker: str = ""
    lease_until: int = 0
    due: int = 0
    tip: str = ""
    began: str = ""
    key: str = ""
    idem: str = ""
    key_ttl: int = 0
    closed: str = ""
    created: int = 0
    updated: int = 0
    error: str = ""
    priority: int = 0
    asked: int = 0
    answered: str = ""
    assignee: str = ""
    escalation: str = ""
    escalated: int = 0
    expires: int = 0
    deadline: int = 0
    lane: str = ""
    slot: str = ""
    waits: int = 0
    parent: str = ""
    brood: str = ""
    number: int = 0
    fan: str = ""
    verdict: str = ""
    children: int = 0
    need: int = 0
    spare: int = 0
    done: int = 0
    lost: int = 0
    envelope: bytes = b""
    result: bytes = b""
    question: bytes = b""
    answer: bytes = b""
    terms: bytes = b""
    otherwise: bytes = b""

    @property
    def limit(self) -> int:
        """When the job fails if it has not ended: at its deadline, or because it expires; 0 for never."""
        return min((at for at in (self.expires, self.deadline) if at), default=0)


@dataclass(slots=True)
class ThreadRow:
    """A thread as stored: its newest checkpoint, how many were ever saved, and the unended job that runs on it."""

    name: str
    tip: str = ""
    count: int = 0
    job: str = ""


@dataclass(slots=True)
class ConsumerGroup:
    """How far a group of consumers is: the number of the last event that was taken, and the batches that are not done:
    id -> the last event before what is left of it, its own last, when its lease ends. `about` is its maker's own."""

    name: str
    front: int = 0
    batches: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])
    about: bytes = b""


class Place(NamedTuple):
    """Where in a thread a framework finds a checkpoint: a scope and a key in it, and the digest of the run that put it
    there ("" for none).

    Stored as one text, in an order that is that of scope and key: neither holds a NUL there.
    """

    scope: str
    key: str
    run: str = ""

    @property
    def text(self) -> str:
        """The stored text."""
        return "\0".join((escaped(self.scope), escaped(self.key), self.run))


def escaped(text: str) -> str:
    """A text without NUL; the order of texts stays what it was."""
    return text.replace("\1", "\1\2").replace("\0", "\1\1")


def place_from(text: str) -> Place:
    """The place that a stored text says; ValueError if it says none."""
    scope, key, run = text.split("\0")
    return Place(unescaped(scope), unescaped(key), run)


def unescaped(text: str) -> str:
    """What `escaped` was given."""
    return text.replace("\1\1", "\0").replace("\1\2", "\1")


@dataclass(slots=True)
class CommitLine:
    """What a store adds to a checkpoint when it commits it, and the seal over that and the header.

    Stored as one line of text, `step_index parent created_at expires_at spans seal`, with "-" for none. The text of its
    place follows, if it has one: no seal covers that, but the header says it too.
    """

    step_index: int
    parent: str
    created: int
    expires: int
    spans: str
    seal: str
    place: Place | None = None

    @property
    def sealed(self) -> str:
        """The text that the seal covers, without the header."""
        return f"{self.step_index} {self.parent or '-'} {self.created} {self.expires} {self.spans or '-'}"

    def line(self) -> str:
        """The stored text."""
        line = f"{self.sealed} {self.seal}"
        return f"{line} {self.place.text}" if self.place else line


@dataclass(slots=True)  # not frozen: one is made with every restore
class CheckpointRow:
    """A checkpoint as stored. `commit` is `CommitLine.line()`. `bodies` is what each of its spans holds.

    Lists leave `state`, `native` and `bodies` empty. `name` can be changed at any time: no seal covers it.
    """

    id: str
    thread: str
    header: bytes
    commit: str
    state: bytes = b""
    native: bytes = b""
    bodies: tuple[bytes, ...] = ()
    name: str = ""


@dataclass(slots=True)
class Write:
    """What was written at a place under a name. `data` is as its writer packed it. What lies in logs is named by
    `spans` and, when it was read, in `bodies`.

    The first of a name stays, unless the later one says `again`. One that is `gone` takes the one of its name away.
    """

    name: str
    data: bytes
    spans: str = ""
    again: bool = False
    bodies: tuple[bytes, ...] = ()
    gone: bool = False


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """A place that has a checkpoint, and what was written there, by name."""

    place: Place
    checkpoint: CheckpointRow
    writes: Sequence[Write] = ()


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as stored: its position and its fields, all texts."""

    position: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One thing that a job streamed, and its position."""

    job_id: str
    position: str
    data: bytes


# What the state of an outcome begins with that came when the fan-out was over, and is kept for what it spent.
LATE = "late"


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """How a child of a fan-out ended: what was counted, whatever became of the child later. Without a result, `result`
    is what it spent. One that is not counted has `LATE` and a blank before its state. `fan` is the last fan-out of a
    child that was not completed: its own children may have ended after it."""

    job_id: str
    number: int
    state: str
    reason: str = ""
    error: str = ""
    result: bytes = b""
    fan: str = ""


@dataclass(slots=True)
class Delivery:
    """A claimed delivery: the leased job, the checkpoint to go on from, and the hop's journal."""

    job: JobRow
    checkpoint: CheckpointRow | None
    journal: Mapping[str, bytes] = field(default_factory=nothing)

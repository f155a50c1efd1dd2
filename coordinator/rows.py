"""Rows: what stores keep, as plain data. Every field is a text, a number or opaque bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from ..contracts.lean import dataclass
from ..contracts.nothing import nothing

# A time that never comes, in ms since 1970. Also in lua/lib/base.lua.
NEVER = 9 * 10**15
# The places in a queue of deliveries that don't go ahead are above this.
BEHIND = 1 << 52


@dataclass(frozen=True, slots=True)
class Fence:
    """Proof of ownership: the lease under which a worker writes."""

    job_id: str
    token: int
    lease_id: str


@dataclass(frozen=True, slots=True)
class PauseRow:
    """Whether an agent is paused, and since when that is so. `at` grows with each change."""

    agent: str
    at: int
    paused: bool
    reason: str = ""


@dataclass(slots=True)
class JobRow:
    """A job as stored. Times are the store's, in ms since 1970; "" and 0 mean "none".

    `ready` is its place in its queue (0: not there). Those that go ahead of the others have places up to BEHIND.
    `closed` is the operation and the lease that ended the last delivery, to recognise a retry after a lost reply.
    `failing` is when the hop's first attempt failed (while the job waits, below 0: for how long it had been failing).
    `expires` is 0 once the job has started. `began` is the checkpoint from which its first delivery went on. `lane` is
    the lane of its delivery, `slot` the lane in which it has a place, and `waits` its rank in that lane's line (0: it
    does not wait there).

    `asked` names the newest question: when it was asked, but later than the one before. `answered` is the name of the
    last question that was answered, and the answer's digest, "default" or "timeout". `escalation` says who is asked
    when the time is over, in a line for each (how long in ms, and who); `escalated` is how many of them were asked.
    Once a person has answered, a line before these says until when the question would have waited.
    `terms` is what else is stored about the question, `otherwise` the answer that is taken if nobody gives one.

    A child has its `parent`, the fan-out that it counts for (`brood`; "" when it does not count any more), and its
    `number` in it. A parent has its last fan-out (`fan`), the number of its `children`, how many were `done` and how
    many `lost` (failed, rejected, canceled), and what decides it: `need` are done, or more than `spare` are lost.
    `verdict` is "" while it is undecided, then "met", "broken", or "cut" (the parent ended first).
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
    def fence(self) -> Fence:
        """What a write of its worker carries."""
        return Fence(self.id, self.token, self.lease)

    @property
    def limit(self) -> int:
        """When the job fails if it has not ended: at its deadline, or when it expires. 0 for never."""
        return min((at for at in (self.expires, self.deadline) if at), default=0)


@dataclass(slots=True)
class DamagedRow(JobRow):
    """A job that somebody has damaged in the store. The fields that can't be read have their defaults, and `damaged`
    names them. (No store keeps such a row.)"""

    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A lane: the jobs that have a place in it, and when its line moves (0, or `NEVER`: not by time)."""

    holders: tuple[str, ...]
    opens: int = 0


@dataclass(slots=True)
class ThreadRow:
    """A thread as stored: its newest checkpoint, how many were ever saved, and the unended job on it."""

    name: str
    tip: str = ""
    count: int = 0
    job: str = ""


@dataclass(slots=True)
class ConsumerGroup:
    """How far a group of consumers is: the number of the last event that was taken, and the batches that are not done,
    by id: the event before the rest of the batch, its last event, and when its lease ends. `about` is kept for the
    group's maker."""

    name: str
    front: int = 0
    batches: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])
    about: bytes = b""


class Place(NamedTuple):
    """Where a framework finds a checkpoint in a thread: a scope, and a key in it. And the digest of the run that put it
    there ("" for none).

    Stored as one text that sorts like scope and key, which contain no NUL in it.
    """

    scope: str
    key: str
    run: str = ""

    @property
    def text(self) -> str:
        """The stored text."""
        return "\0".join((escaped(self.scope), escaped(self.key), self.run))


def escaped(text: str) -> str:
    """A text without NUL, which sorts like the given one."""
    return text.replace("\1", "\1\2").replace("\0", "\1\1")


def place_from(text: str) -> Place:
    """The place in a stored text. ValueError if it is not one."""
    scope, key, run = text.split("\0")
    return Place(unescaped(scope), unescaped(key), run)


def unescaped(text: str) -> str:
    """The opposite of `escaped`."""
    return text.replace("\1\1", "\0").replace("\1\2", "\1") if "\1" in text else text


@dataclass(slots=True)
class CommitLine:
    """What a store adds to a checkpoint when it commits it, and the seal over this and the header.

    Stored as one line of text, `step_index parent created_at expires_at spans seal`, with "-" for none. If the
    checkpoint has a place, its text follows. No seal covers that, but the header has it, too.
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
        """The part of the text that the seal covers."""
        return f"{self.step_index} {self.parent or '-'} {self.created} {self.expires} {self.spans or '-'}"

    def line(self) -> str:
        """The stored text."""
        line = f"{self.sealed} {self.seal}"
        return f"{line} {self.place.text}" if self.place else line


def commit_from(line: str) -> CommitLine:
    """The commit line in a stored text. ValueError if it is not one."""
    step_index, parent, created, expires, spans, seal, *place = line.split(" ", 6)
    parent, spans = "" if parent == "-" else parent, "" if spans == "-" else spans
    where = place_from(place[0]) if place else None
    return CommitLine(int(step_index), parent, int(created), int(expires), spans, seal, where)


@dataclass(slots=True)  # not frozen: one is made with every restore
class CheckpointRow:
    """A checkpoint as stored. `commit` is `CommitLine.line()`. `bodies` is what each of its spans holds.

    Lists leave `state`, `native` and `bodies` empty. `name` can change at any time, so no seal covers it.
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
    """What was written at a place, under a name. `data` is as its writer packed it. `spans` names what is in logs, and
    `bodies` has that, once it was read.

    The first write of a name stays, unless a later one says `again`, or `gone`, which removes it.
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


# Numbers that events of one ms may have: more than a store without a server can write in it. (They are places in
# queues, too, and stay below BEHIND until the year 2112.)
EVENTS_PER_MS = 1000
# The fields that every event has. The others are its data.
EVENT_ATTRIBUTES = frozenset({"type", "subject", "time"})


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


# Begins the state of an outcome that came after the fan-out was decided, and is kept for what the child spent.
LATE = "late"


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """How a child of a fan-out ended, as counted, whatever became of the child later. Without a result, `result` is
    what it spent. If it was not counted, its state has `LATE` and a blank in front. `fan` is the last fan-out of a
    child that did not complete, because its own children may have ended after it."""

    job_id: str
    number: int
    state: str
    reason: str = ""
    error: str = ""
    result: bytes = b""
    fan: str = ""


@dataclass(frozen=True, slots=True)
class KeptJob:
    """All that is kept of a job: its record, its hop's journal, and how its children ended, each with its fan-out."""

    job: JobRow
    journal: Mapping[str, bytes]
    outcomes: Sequence[tuple[str, OutcomeRow]] = ()


@dataclass(slots=True)
class Delivery:
    """A claimed delivery: the leased job, the checkpoint to go on from, and the hop's journal."""

    job: JobRow
    checkpoint: CheckpointRow | None
    journal: Mapping[str, bytes] = field(default_factory=nothing)

"""Rows: what stores keep, as plain data. Every field is a text, a number or opaque bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEMA_VERSION = 1


@dataclass(slots=True)
class JobRow:
    """A job as stored. Times are the store's, in ms since 1970; "" and 0 mean "none".

    `ready` orders the deliveries of a queue (0: not in it). `closed` is the operation and lease that ended the last
    delivery, so that a retry after a lost reply is recognised.
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
    token: int = 0
    lease: str = ""
    worker: str = ""
    lease_until: int = 0
    due: int = 0
    tip: str = ""
    key: str = ""
    idem: str = ""
    key_ttl: int = 0
    closed: str = ""
    created: int = 0
    updated: int = 0
    error: str = ""
    envelope: bytes = b""
    result: bytes = b""
    question: bytes = b""
    answer: bytes = b""


@dataclass(slots=True)
class ThreadRow:
    """A thread as stored: its newest checkpoint, how many were ever saved, and the unended job that runs on it."""

    name: str
    tip: str = ""
    count: int = 0
    job: str = ""


@dataclass(slots=True)
class CommitLine:
    """What a store adds to a checkpoint when it commits it, and the seal over that and the header.

    Stored as one line of text, `step_index parent created_at expires_at spans seal`, with "-" for none.
    """

    step_index: int
    parent: str
    created: int
    expires: int
    spans: str
    seal: str

    @property
    def sealed(self) -> str:
        """The text that the seal covers, without the header."""
        return f"{self.step_index} {self.parent or '-'} {self.created} {self.expires} {self.spans or '-'}"

    def line(self) -> str:
        """The stored text."""
        return f"{self.sealed} {self.seal}"


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as stored: its position and its fields, all texts."""

    position: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A claimed delivery: the leased job, the checkpoint to go on from, and the hop's journal."""

    job: JobRow
    checkpoint: CheckpointRow | None
    journal: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

"""What the ledger knows of a job and of a thread. The names are those of the store's rows, to be compared with them."""

from __future__ import annotations

from dataclasses import dataclass, field

ENDED = frozenset({"completed", "failed", "canceled", "rejected"})
# A job is at one place at any moment. In the order of a job's life, for tables.
PLACES = [
    *("none", "scheduled", "retry_at", "ready", "working", "input_required"),
    *("completed", "failed", "rejected", "canceled"),
]


@dataclass(slots=True)
class Job:
    """A job as it must be."""

    id: str
    thread: str
    queue: str
    tip: str
    idem: str
    key_ttl: int
    state: str = "submitted"
    reason: str = "ready"
    hop: int = 0
    attempt: int = 1
    crashes: int = 0
    token: int = 0
    lease: str = ""
    lease_until: int = 0
    due: int = 0
    closed: str = ""
    answer: bytes = b""
    result: bytes = b""
    forget_at: int = 0
    journal: dict[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def place(self) -> str:
        """Where it is: its state, or what it waits for."""
        return self.reason if self.state == "submitted" else self.state

    def lease_for(self, lease: str, token: int, until: int) -> None:
        self.state, self.reason, self.lease, self.token, self.lease_until = "working", "", lease, token, until

    def let_go(self, closed: str) -> None:
        self.lease, self.lease_until, self.closed = "", 0, closed

    def make_ready(self) -> None:
        self.state, self.reason, self.due = "submitted", "ready", 0

    def next_hop(self, queue: str) -> None:
        self.make_ready()
        self.queue, self.hop, self.attempt, self.crashes, self.answer, self.journal = (
            queue,
            self.hop + 1,
            1,
            0,
            b"",
            {},
        )

    def end(self, state: str, reason: str, now: int) -> None:
        self.state, self.reason, self.due, self.journal = state, reason, 0, {}
        if self.idem:
            self.forget_at = now + self.key_ttl


@dataclass(slots=True)
class Thread:
    """A thread as it must be; `line` is what is left of its checkpoints, oldest first."""

    name: str
    tip: str = ""
    count: int = 0
    job: str = ""
    line: list[str] = field(default_factory=list[str])

    def append(self, checkpoint_id: str) -> None:
        self.line.append(checkpoint_id)
        self.tip, self.count = checkpoint_id, self.count + 1

"""Session: what an adapter sees of the delivery that it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..contracts.checkpoint import Checkpoint, Snapshot
from ..contracts.handoff import Answer
from ..contracts.transcript import Transcript


class Parts(Protocol):
    """The parts of an agent (a graph's tasks), by ids without spaces."""

    def here(self) -> str:
        """The part whose code calls this. Empty if that can't be told."""
        ...

    def likely(self) -> str:
        """The parts that run now, separated by spaces: one of them calls this."""
        ...


class Session(Protocol):
    """One delivery of a job, held under a lease. Every write carries the lease's token.

    Each writing call has a form for sync code (any thread) and, with an `a`, for async code. All raise `Fenced` once
    the lease is lost (`Canceled` if the job was canceled). The adapter must let that error out at once.
    """

    @property
    def job_id(self) -> str: ...
    @property
    def hop(self) -> int: ...
    @property
    def agent(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def token(self) -> int:
        """The lease's fencing token, which is greater each time a worker takes up the job."""
        ...

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The last checkpoint of this hop, from which to resume. None if the hop has not saved any yet."""
        ...

    @property
    def remembered(self) -> Checkpoint | None:
        """The last checkpoint of this agent's previous visit, if it has `memory="job"` or "thread". Start from it if
        this hop has not saved any yet. If it is of another job, that has ended, perhaps in the middle: begin anew with
        its state."""
        ...

    @property
    def journal(self) -> Mapping[str, Any]:
        """This hop's records, by key, in no order. Everything that `record` acknowledged is here after a crash."""
        ...

    @property
    def answer(self) -> Answer | None:
        """The answer that resumed this job after a suspension of this hop, until the next suspension."""
        ...

    @property
    def inherited(self) -> Transcript | None:
        """The conversation from another agent that this hop continues, or None to start fresh. It is saved with each
        checkpoint, so that a resumed hop has it too."""
        ...

    @property
    def news(self) -> Transcript | None:
        """The part of `inherited` that came after `remembered`: what the agent has not seen yet."""
        ...

    parts: Parts | None
    """Tells which part of the agent the running code belongs to. An adapter sets it if a part may have to go on in a
    later hop, which then needs the steps and effects of that part."""

    heard: bool
    """Whether the agent was told `inherited`, or has read `ctx.transcript`: what it says from then on may stand for it.
    An adapter keeps this with its checkpoints, if it matters to it."""

    async def asettle(self) -> None:
        """Wait for the effects that still run in the agent's threads and tasks. Then none may begin. For code that
        stops while something beside it goes on."""
        ...

    def save(self, snapshot: Snapshot, *, records: Mapping[str, Any] | None = None) -> Checkpoint:
        """Commit a checkpoint, and journal records with it, in one write. When this returns, it is stored."""
        ...

    async def asave(self, snapshot: Snapshot, *, records: Mapping[str, Any] | None = None) -> Checkpoint: ...

    def record(self, records: Mapping[str, Any]) -> None:
        """Commit journal records (plain values) without a checkpoint."""
        ...

    async def arecord(self, records: Mapping[str, Any]) -> None: ...

    def emit(self, values: Sequence[Any]) -> None:
        """Stream plain values to readers of `job.stream()`. They are not part of the job."""
        ...

    async def aemit(self, values: Sequence[Any]) -> None: ...

    def spend(self, tokens: int = 0, cost: float = 0.0) -> None:
        """Count what a model call used towards the job's budget. No I/O: stored with the next write."""
        ...

    def check(self) -> None:
        """Raise `Fenced` if the lease is known to be lost, or `OverBudget`. No I/O, so call it as often as you like."""
        ...

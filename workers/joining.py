"""Joining: an agent's call for children, and what it gets when they have ended. No I/O."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from ..contracts.contract import ContractRef
from ..contracts.errors import ChildrenFailed, StepMismatch
from ..contracts.fanout import ChildFailed, FanOut
from ..contracts.guard import Spent
from ..coordinator.book import Book
from ..coordinator.commands import ReadOutcomes
from ..coordinator.commands.children import AT_ONCE
from ..coordinator.letters import open_letter
from ..coordinator.rows import OutcomeRow
from .session import LeaseSession
from .steps import Steps

_PREFIX = "fan/"


class Spawning(BaseException):
    """Control flow: the agent waits for children, so this run of it ends. Not an Exception, as `Asking` is none."""

    def __init__(self, fan_out: FanOut, step: str, digest: bytes) -> None:
        super().__init__(step)
        self.fan_out = fan_out
        self.step = step
        self.digest = digest

    def record(self, fan: str) -> dict[str, Any]:
        """What the hop's journal says of it from then on."""
        return {_PREFIX + self.step: [self.digest, fan]}


def joining(
    steps: Steps, session: LeaseSession, book: Book, wanted: FanOut, arguments: object
) -> Generator[ReadOutcomes, Any, list[Any]]:
    """The results of children that have ended, in order; asks for the children when there are none yet."""
    full, digest, _ = steps.begin("fan_out", None, arguments)
    try:
        recorded = session.journal.get(_PREFIX + full)
        if recorded is None:
            raise Spawning(wanted, full, digest)
        known, fan = recorded
        if known != digest:
            raise StepMismatch(
                f"{full!r} of job {session.job_id} has made other children: code that replays must fan out to the same "
                "agents with the same payloads, in the same order"
            )
        if fan == session.cut:  # the job ended before it was decided, and was redriven
            raise Spawning(wanted, full, digest)
        rows: list[OutcomeRow] = []
        for start in range(0, len(wanted.handoffs), AT_ONCE):
            rows += yield ReadOutcomes(session.job_id, fan, start, AT_ONCE)
    finally:
        steps.leave("fan_out")
    return _results(session, fan, book, wanted, rows)


def _results(session: LeaseSession, fan: str, book: Book, wanted: FanOut, rows: Sequence[OutcomeRow]) -> list[Any]:
    job_id = session.job_id
    spent: list[Spent] = []
    results: list[Any] = [None] * len(wanted.handoffs)
    failed: list[ChildFailed] = []
    for row in rows:
        if row.state == "completed":
            name, version, data, *more = open_letter(row.result, of=f"the result of job {row.job_id}")
            spent += [Spent(*each) for each in more]
            results[row.number] = book.read(ContractRef(name, version), data)
        else:
            reason = row.reason if row.state == "failed" else row.state
            results[row.number] = ChildFailed(row.job_id, reason, row.error)
            failed.append(results[row.number])
    session.budget.join(fan, spent)
    if len(failed) > wanted.spare:
        shown = "; ".join(f"{child.job_id} ({child.reason}): {child.error or 'no error'}" for child in failed[:3])
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        raise ChildrenFailed(
            f"{len(failed)} of {len(results)} children of job {job_id} failed: {shown}{more}", failed=failed
        )
    return results

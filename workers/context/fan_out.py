"""Fan-out: an agent's fan-out to children, and their results when they have ended. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ...contracts.checkpoint import Snapshot
from ...contracts.contract import ContractRef
from ...contracts.errors import ChildrenFailed, NotFound
from ...contracts.fanout import ChildFailed, FanOut
from ...contracts.guard import NOTHING, Spent
from ...coordinator.blobs import open_blob
from ...coordinator.book import Book
from ...coordinator.commands import (
    ACTED,
    AGAIN,
    DUE,
    FAN,
    SETTLED,
    Command,
    ReadJob,
    ReadOutcomes,
    Reap,
    Reaped,
    Record,
)
from ...coordinator.commands.children import AT_ONCE
from ...coordinator.rows import LATE, JobRow, OutcomeRow
from ..aside import reading
from ..journal import named, packed
from ..session import LeaseSession
from .asking import unanswered
from .counted import Later, counted, news
from .steps import SINCE, Pause, Steps

# How many children a fan-out has, if they are more than the store tells of at once.
_LARGE = "large/"
# How often the store is asked, at most, to cancel children that nobody waits for, 500 at a time.
_ROUNDS = 100
Joining: TypeAlias = Generator[Command[Any] | Later, Any, list[Any]]


class Spawning(Pause):
    """The agent waits for children."""

    def __init__(
        self, fan_out: FanOut, step: str, digest: bytes, before: Sequence[str], steps: Steps, also: Mapping[str, Any]
    ) -> None:
        super().__init__(step)
        self.also = also
        self.fan_out = fan_out
        self.step = step
        self.digest = digest
        self.before = before
        self._steps = steps

    def snapshot(self) -> Snapshot:
        """What is committed with the children: the steps recorded until now."""
        return self._steps.snapshot(self.step)

    def record(self, fan: str) -> dict[str, Any]:
        """The new records in the hop's journal: its fan-outs, the newest last, and `also` others."""
        return {FAN + self.step: [self.digest, *self.before, fan], **self.also}


def joining(
    steps: Steps, session: LeaseSession, book: Book, wanted: FanOut, arguments: object, told: Collection[str]
) -> Joining:
    """The results of ended children, in order.

    If there are no children yet, asks for them. If the job was redriven, asks for those that had not completed. What is
    recorded since then need not fit any more. `told` are the losses that were known when it was called.
    """
    full, digest = yield from counted(steps, "fan_out", arguments, steps.fan_outs, session, optional=steps.since)
    if full not in steps.fan_outs:
        steps.losses.act_on(told)
        if records := news(steps, session):
            yield Record(session.fence, packed(records))
    _, *fans = session.journal.get(FAN + full, [digest])
    if fans and session.cut:
        yield from _cancel_left()  # or nobody would know of them that they can go on
    ended: dict[str, list[OutcomeRow]] = {fan: [] for fan in fans if fan}
    for fan, rows in ended.items():
        rows += yield from _outcomes(session.job_id, fan, len(wanted.handoffs))
    done = frozenset(row.number for rows in ended.values() for row in rows if row.state == "completed")
    if not fans or _is_again(session, full, fans):
        also = _also(steps, session, full, len(wanted.handoffs))
        if not fans or len(done) < wanted.need:
            rows = [row for rows in ended.values() for row in rows]
            try:
                there = yield from _there(session.job_id, rows, full, wanted.spare)
            except ChildrenFailed:
                steps.losses.note(full, fans[-1])
                raise
            raise steps.paused(Spawning(replace(wanted, done=done, there=there), full, digest, fans, steps, also))
        # Enough of them completed after the fan-out ended, so it is not made again.
        asked = Spawning(wanted, full, digest, fans, steps, {**also, SETTLED + fans[-1]: True})
        yield Record(session.fence, packed(asked.record("")))
        fans.append("")
    if len(done) < wanted.need:
        steps.losses.note(full, fans[-1])
    if fans[1:]:
        yield from _count_earlier(session, steps.since - steps.made)
    results, failed = _results(session, book, wanted, ended, fans)
    if len(failed) > wanted.spare:
        if fans[-1]:
            raise _too_many(session.job_id, failed, len(results), full)
        # As if nobody had waited for them.
        results = [None if isinstance(each, ChildFailed) else each for each in results]
    session.check()  # what the children have spent may be too much
    return results


def _is_again(session: LeaseSession, full: str, fans: Sequence[str]) -> bool:
    """Whether a redrive makes a fan-out again."""
    noted = session.journal.get(AGAIN + full)
    if not fans or fans[-1] in ("", session.journal.get(ACTED + full)):
        return False
    if not session.cut:  # what was noted for a failure was not written with it
        return bool(noted == DUE)
    return noted in (True, DUE, session.cut) or fans[-1] == session.cut


def made_again(session: LeaseSession, raised: Iterable[str]) -> dict[str, Any]:
    """What is recorded with a failure so that a redrive makes those fan-outs again whose `ChildrenFailed` was `raised`,
    whatever was done since (their keys), and those that `Losses` tells of.
    Takes back what was recorded with one that could not be written, if the job went on without a redrive."""
    left = named(session.journal, AGAIN) if not session.cut else {}
    void = {AGAIN + full: None for full, noted in left.items() if noted not in (None, DUE)}
    made = _made(session)
    told = {ACTED + full: "" for full in raised if full}
    told |= {SETTLED + made[full][-1]: None for full in raised if full in made}
    return {**void, **told, **{AGAIN + full: session.fan for full in {*raised, *session.lost} if full}}


def _made(session: LeaseSession) -> dict[str, list[Any]]:
    """The hop's fan-outs by key: the digest of what was given to the children, then each time it was made."""
    return named(session.journal, FAN)


def _counted(session: LeaseSession) -> list[str]:
    return [*_made(session), *unanswered(session)]


def _also(steps: Steps, session: LeaseSession, full: str, size: int) -> dict[str, Any]:
    """What is recorded beside a fan-out that is made: what had been recorded since, if it was made before. Others that
    are to be made again are noted, as this one is the job's last from now on."""
    made = _made(session)
    records: dict[str, Any] = {
        AGAIN + each: DUE for each in made.keys() - {full} if _is_again(session, each, made[each][1:])
    }
    records[ACTED + full] = ""
    if session.journal.get(AGAIN + full):
        records[AGAIN + full] = None
    if full in made and (ahead := steps.ahead(_counted(session))):
        records[SINCE + full] = sorted(ahead)
        steps.since |= ahead
    if size > AT_ONCE:
        records[_LARGE + full] = size
    return records


def _there(
    job_id: str, rows: Sequence[OutcomeRow], full: str, spare: int
) -> Generator[Command[Any], Any, dict[int, str]]:
    """The children that can go on, by their numbers: those that failed, were canceled, or were redriven meanwhile. (Of
    two with the same number, the later one.) Refuses as long as a person has to find out what one may have done, unless
    the fan-out can spare all of them: it would only fail again."""
    last = {row.number: row for row in rows}
    found: dict[int, str] = {}
    unsure: list[OutcomeRow] = []
    for number, row in last.items():
        if row.state == "completed":
            continue
        try:
            child: JobRow = yield ReadJob(row.job_id)
        except NotFound:
            continue
        if child.state == "failed" and child.reason == "ambiguous":
            unsure.append(row)
        if child.state != "rejected":
            found[number] = child.id
    if unsure and sum(row.state != "completed" for row in last.values()) > spare:
        shown = ", ".join(row.job_id for row in unsure[:3])
        raise ChildrenFailed(
            f"the children of job {job_id} can't go on yet: effects of {shown} may have happened, so find out, and "
            "redrive those first",
            failed=[_failure(row) for row in unsure],
            key=full,
        )
    return found


def counting(session: LeaseSession) -> Generator[Command[Any], Any, None]:
    """Before the job continues elsewhere, count what was spent by children that were canceled or ended after the join,
    and by their own children.

    Children that still run although nobody waits for them are canceled now, because nobody would count them later.
    """
    yield from _cancel_left()
    for fan, total in list(session.budget.open.items()):
        rows: list[OutcomeRow] = yield from _outcomes(session.job_id, fan, total)
        for later in _later(session, fan):
            again: list[OutcomeRow] = yield from _outcomes(session.job_id, later, total)
            went_on = {row.job_id for row in again}  # and have counted everything there
            rows = [row for row in rows if row.job_id not in went_on]
        session.budget.join(fan, {**_spent_by(rows), **(yield from _below(rows))})


def _later(session: LeaseSession, fan: str) -> list[str]:
    """The fan-outs in which children of this one may have gone on."""
    for made in _made(session).values():
        if fan in made[1:]:
            return [each for each in made[made.index(fan, 1) + 1 :] if each]
    return []


def _cancel_left() -> Generator[Command[Any], Any, None]:
    """Cancel children that still run although nobody waits for them."""
    for _ in range(_ROUNDS):
        reaped: Reaped = yield Reap(AT_ONCE, leases=False)
        if reaped.next_due:
            break


def _outcomes(job_id: str, fan: str, total: int) -> Generator[ReadOutcomes, Any, list[OutcomeRow]]:
    rows: list[OutcomeRow] = []
    for start in range(0, total, AT_ONCE):
        rows += yield ReadOutcomes(job_id, fan, start, min(total - start, AT_ONCE))
    return rows


def _below(rows: Sequence[OutcomeRow]) -> Generator[Command[Any], Any, dict[str, Spent]]:
    """What the children's own children have spent, if the children had not counted it when they ended."""
    found: dict[str, Spent] = {}
    for row in rows:
        counted = _blob(row)[6:] if row.fan else ()
        if not row.fan or (row.result and not counted):  # it ended on its own, and has counted everything
            continue
        try:
            child: JobRow = yield ReadJob(row.job_id)
        except NotFound:
            continue
        below: list[OutcomeRow] = yield from _outcomes(row.job_id, row.fan, child.children)
        if counted and row.fan in counted[0]:
            below = [each for each in below if each.state.startswith(LATE)]
        found |= {**_spent_by(below), **(yield from _below(below))}
    return found


def _count(session: LeaseSession, fan: str, total: int, rows: Sequence[OutcomeRow]) -> None:
    session.budget.join(fan, _spent_by(rows))
    if len(rows) < total or any(row.fan for row in rows):
        session.budget.open[fan] = total


def _count_earlier(session: LeaseSession, calls: Iterable[str]) -> Generator[Command[Any], Any, None]:
    """Count what was spent in fan-outs that an earlier run made: this one need not come to them."""
    for full in calls:
        total = session.journal.get(_LARGE + full, AT_ONCE)
        for fan in session.journal.get(FAN + full, [b""])[1:]:
            if fan and not session.budget.counts(fan):
                rows: list[OutcomeRow] = yield from _outcomes(session.job_id, fan, total)
                _count(session, fan, rows[-1].number + 1 if rows else 0, rows)


def _blob(row: OutcomeRow) -> Sequence[Any]:
    with reading():
        return open_blob(row.result, of=_about(row)) if row.result else ()


def _spent(row: OutcomeRow) -> Spent:
    """What a child itself has spent (`Budget.news`, `at_the_end`, `seal_result`)."""
    blob = _blob(row)
    if row.state.endswith("completed"):
        return Spent(*blob[3][2:]) if len(blob) > 3 else NOTHING
    return Spent(*blob[4:6])


def _spent_by(rows: Sequence[OutcomeRow]) -> dict[str, Spent]:
    return {row.job_id: _spent(row) for row in rows}


def _about(row: OutcomeRow) -> str:
    return f"the result of job {row.job_id}"


def _failure(row: OutcomeRow) -> ChildFailed:
    return ChildFailed(row.job_id, row.reason if row.state == "failed" else row.state, row.error)


def _results(
    session: LeaseSession, book: Book, wanted: FanOut, ended: Mapping[str, Sequence[OutcomeRow]], fans: Sequence[str]
) -> tuple[list[Any], list[ChildFailed]]:
    """For each place, the result of the child that completed, or how the last one for it ended otherwise. Also the
    latter alone."""
    last = [fan for fan in fans if fan][-1]
    results: list[Any] = [None] * len(wanted.handoffs)
    failed: list[ChildFailed] = []
    for fan, rows in ended.items():
        for row in rows:
            if row.state == "completed":
                with reading():
                    name, version, data, *_ = open_blob(row.result, of=_about(row))
                results[row.number] = book.read(ContractRef(name, version), data)
            elif fan == last and not row.state.startswith(LATE):
                results[row.number] = _failure(row)
                failed.append(results[row.number])
        _count(session, fan, len(results), rows)
    return results, failed


def _too_many(job_id: str, failed: Sequence[ChildFailed], total: int, full: str) -> ChildrenFailed:
    shown = "; ".join(f"{child.job_id} ({child.reason}): {child.error or 'no error'}" for child in failed[:3])
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    text = f"{len(failed)} of {total} children of job {job_id} failed: {shown}{more}"
    return ChildrenFailed(text, failed=failed, key=full)

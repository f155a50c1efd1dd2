"""Fan-out: commits that a job waits for its children."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from ...contracts.agent import Agent
from ...contracts.guard import Guard
from ...contracts.handoff import Envelope
from ...contracts.job import CHILDREN
from ...contracts.names import mint, partition_of
from ...contracts.outcome import FannedOut
from ...coordinator.blobs import open_envelope, seal_blob, seal_envelope
from ...coordinator.book import Book
from ...coordinator.commands import Child, Command, ReadJob, Spawn, Stage, Target
from ...coordinator.commands.children import AT_ONCE
from ...coordinator.rows import JobRow
from ..budget import ALLOW_MORE
from ..session import LeaseSession
from .outcomes import onward
from .refused_handoffs import OverLimit, over_limit


def spawning(
    book: Book, agent: Agent[Any], envelope: Envelope, session: LeaseSession, outcome: FannedOut
) -> Generator[Command[Any], Any, Spawn]:
    """The command that commits it. Checks every child before the first is staged. Yields the lookups and the stages."""
    final = session.seal(outcome.final)
    at = partition_of(session.job_id)
    children: list[Child] = []
    wanted = outcome.fan_out
    for number, handoff in enumerate(wanted.handoffs):
        if number in wanted.done:
            continue
        if number in wanted.there:
            children.append((yield from _there(wanted.there[number], number, envelope.guard)))
            continue
        sent = yield from onward(book, agent, envelope, session, handoff, final.id, outcome.final)
        sent.envelope.born = session.budget.spent
        sent.envelope.effects = f"{session.effects}.{session.hop}/{outcome.step}/{number}"
        if why := over_limit(sent.envelope):
            raise OverLimit(f"job {session.job_id} has no child at {sent.to!r}, {why}: {ALLOW_MORE}")
        children.append(Child(mint("j", at), number, (yield from sent.target(book, session))))
    for start in range(AT_ONCE, len(children), AT_ONCE):
        yield Stage(session.fence, start - AT_ONCE, tuple(children[start : start + AT_ONCE]))
    fan = mint("f", at)
    records = {key: seal_blob(value, path=key) for key, value in outcome.record(fan).items()}
    need = wanted.need - len(wanted.done)
    return Spawn(session.fence, fan, len(children), need, wanted.spare, tuple(children[:AT_ONCE]), final, records)


def _there(job_id: str, number: int, guard: Guard) -> Generator[Command[Any], Any, Child]:
    """A child that failed, to go on where it was. If it or one of its own may have failed because of its guard, it gets
    its parent's."""
    row: JobRow = yield ReadJob(job_id)
    sealed = row.envelope
    if row.state == "canceled" or row.reason in ("chain_guard", CHILDREN):
        own = open_envelope(sealed, of=f"the envelope of job {job_id}")
        sealed = seal_envelope(replace(own, guard=guard))
    return Child(job_id, number, Target(row.agent, row.contract, row.queue, sealed, lane=row.lane))

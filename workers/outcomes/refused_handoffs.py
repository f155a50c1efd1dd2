"""Refused handoffs: those that a job's guard refuses. They are kept with the job, so that a redrive need not run the
hop again."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ...contracts.checkpoint import Snapshot
from ...contracts.errors import BatonpassError, OverBudget
from ...contracts.handoff import Envelope
from ...coordinator.blobs import open_envelope, seal_blob, seal_envelope
from ...coordinator.book import Book, target
from ...coordinator.commands import SPENT, Command, HandOff, NewCheckpoint, Target
from ...coordinator.seals import content_hash
from ..budget import ALLOW_MORE
from ..session import LeaseSession

# Where the journal keeps a refused handoff.
_KEY = "refused"


@dataclass(frozen=True)
class Onward:
    """A handoff: what goes to whom, and what else its event says."""

    envelope: Envelope
    about: Mapping[str, str]

    @property
    def to(self) -> str:
        """The agent."""
        return self.envelope.path[-1]

    def target(self, book: Book, session: LeaseSession) -> Generator[Command[Any], Any, Target]:
        """Where it goes, in the store's terms."""
        lane = yield from book.lane(self.to, self.envelope.contract, self.envelope.payload)
        sealed = seal_envelope(self.envelope)
        return target(self.to, self.envelope.contract, sealed, self.about, priority=session.priority, lane=lane)

    def command(
        self, book: Book, session: LeaseSession, final: NewCheckpoint | None = None
    ) -> Generator[Command[Any], Any, HandOff]:
        """The command that commits it."""
        first = session.budget.first_news
        spent = seal_blob(first, path=SPENT) if first else b""
        return HandOff(session.fence, (yield from self.target(book, session)), final, spent)


class OverLimit(BatonpassError):
    """The guard lets the job go no further."""


class Held(OverLimit):
    """The guard refuses a handoff that was just made."""

    def __init__(self, message: str, onward: Onward) -> None:
        super().__init__(message)
        self.onward = onward


def over_limit(envelope: Envelope) -> str:
    """Why the envelope's guard refuses it. Empty if it doesn't."""
    return envelope.guard.against(envelope.path) or envelope.guard.over(envelope.spent)


def refusal(envelope: Envelope, session: LeaseSession) -> str:
    """Why the envelope's guard refuses the handoff, and what to do. Empty if it doesn't."""
    why = over_limit(envelope)
    told = f"the handoff is kept, {ALLOW_MORE}"
    return f"job {session.job_id} is not passed on to {envelope.path[-1]!r}, {why}: {told}" if why else ""


async def keep(session: LeaseSession, given: Envelope, final: Snapshot | None, held: Held) -> None:
    """Record a refused handoff, and what the hop has done."""
    with suppress(OverBudget):  # raised after the write
        if final is not None:
            await session.asave(final)
    onward = replace(held.onward.envelope, checkpoint=session.tip_id or None)
    record = [_origin(session, given), seal_envelope(onward), dict(held.onward.about)]
    with suppress(OverBudget):
        await session.arecord({_KEY: record})


def kept(book: Book, session: LeaseSession, given: Envelope) -> Generator[Command[Any], Any, HandOff | None]:
    """The refused handoff of this hop, if it may be made now. `OverLimit` if it still may not.

    None if there is none, or if the payload or the state was edited since: then the hop runs again with that.
    """
    record = session.journal.get(_KEY)
    if record is None or record[0] != _origin(session, given):
        return None
    envelope = open_envelope(record[1], of=f"the refused handoff of job {session.job_id}")
    onward = Onward(replace(envelope, guard=given.guard), record[2])
    if why := refusal(onward.envelope, session):
        raise OverLimit(why)
    return (yield from onward.command(book, session))


def _origin(session: LeaseSession, given: Envelope) -> list[Any]:
    return [session.tip_id, content_hash(given.payload)]

"""Attempts: an agent's code, run under a lease up to the command that commits its outcome."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..adapters.adapter import Adapter
from ..contracts.agent import Agent
from ..contracts.app import App
from ..contracts.checkpoint import Snapshot
from ..contracts.contract import Contract, contract_ref
from ..contracts.errors import Ambiguous, ContractViolation
from ..contracts.handoff import Envelope, Handoff
from ..contracts.outcome import Asleep, FannedOut, Finished, Outcome, Rejected, Suspended
from ..coordinator.book import Book
from ..coordinator.calls import adrive
from ..coordinator.commands import Command
from ..coordinator.following import afollow
from ..coordinator.store import Store
from .adapters import run_by
from .aside import reading
from .context.base import Rejecting
from .context.context import Context, entered
from .context.fan_out import counting
from .copies import end_if_copied
from .doubt import in_doubt, known_in
from .outcomes.fan_out import spawning
from .outcomes.outcomes import ending, handing_off
from .outcomes.refused_handoffs import Held, keep, kept
from .remembering import remembering
from .session import LeaseSession
from .single import single


class Attempts:
    """Runs the agents of an app. `resources` is what its lifespan gave."""

    def __init__(self, app: App, store: Store, book: Book, adapters: Mapping[str, Adapter], resources: Any) -> None:
        self._app = app
        self._store = store
        self._book = book
        self._adapters = adapters
        self._resources = resources
        self._home = os.getpid()

    async def run(self, agent: Agent[Any], envelope: Envelope, session: LeaseSession) -> Command[None]:
        """Run the agent, unless its end is recorded. Returns the command that commits its outcome."""
        payload = _open_payload(self._app, agent, envelope)
        if envelope.transcript is not None:
            session.inherit(envelope.transcript)
        if agent.remembers:
            with reading():
                await adrive(self._store, remembering(self._app, agent, envelope, session))
        context = Context(session, agent, payload, self._resources)
        entered(context)
        command: Command[None] | None = None
        if session.journal:
            command = await adrive(self._store, kept(self._book, session, envelope))
        if command is None:
            command = await self._run_to_end(agent, envelope, payload, session, context)
        return command

    async def _run_to_end(
        self, agent: Agent[Any], envelope: Envelope, payload: Contract, session: LeaseSession, context: Context
    ) -> Command[None]:
        """Run the agent. Returns the command that commits its outcome."""
        outcome = await self._outcome(agent, payload, session, context)
        session.check_lease()
        if isinstance(outcome, Suspended | FannedOut | Asleep):
            await session.aflush()
        if session.budget.open and not isinstance(outcome, Suspended | Asleep):
            await adrive(self._store, counting(session))
        if isinstance(outcome, FannedOut):
            return await afollow(spawning(self._book, agent, envelope, session, outcome), session.awrite)
        if not isinstance(outcome, Suspended | Asleep):
            session.check_told()
        _check_doubt(agent, session, outcome)
        if isinstance(outcome, Finished) and isinstance(outcome.result, Handoff):
            return await self._hand_off(agent, envelope, session, outcome.result, outcome.final)
        return ending(agent, session, outcome)

    async def _hand_off(
        self, agent: Agent[Any], envelope: Envelope, session: LeaseSession, handoff: Handoff[Any], last: Snapshot | None
    ) -> Command[None]:
        try:
            return await adrive(self._store, handing_off(self._book, agent, envelope, session, handoff, last))
        except Held as held:
            await keep(session, envelope, last, held)
            raise

    async def _outcome(self, agent: Agent[Any], payload: Contract, session: LeaseSession, context: Context) -> Outcome:
        try:
            return await run_by(self._adapters[agent.kind], agent, payload, session, context)
        except BaseException as error:
            if isinstance(error, Exception):
                session.check_told()
            rejecting = single(error)
            if isinstance(rejecting, Rejecting):
                if session.told is not None:
                    session.told.end(rejecting.known)
                return Rejected(str(rejecting))
            raise
        finally:
            end_if_copied(self._home)
            session.leave()


def _check_doubt(agent: Agent[Any], session: LeaseSession, outcome: Outcome) -> None:
    """Refuse an end that would hide an effect which may have happened, unless the code knows of it: in this run it has
    called that effect, and was told of the error. (In a framework a model may have been told, and have gone on.)

    A child can't end at all then: if it is rejected later in its chain, or its parent is, and a parent above that is
    redriven, another child is made, which would do that again.
    """
    if not isinstance(outcome, Finished | Rejected):
        return
    own, rejected = agent.kind == "function", isinstance(outcome, Rejected)
    known = known_in(session) if own and not session.is_child else ()
    if doubts := in_doubt(session, over=not (own or rejected), known=known):
        ends = f"rejects the job ({outcome.reason})" if isinstance(outcome, Rejected) else "ends its hop"
        raise Ambiguous(f"the agent {ends}, but {'; '.join(doubts)}")


def _open_payload(app: App, agent: Agent[Any], envelope: Envelope) -> Contract:
    accepts = contract_ref(agent.accepts)
    if envelope.contract != accepts and envelope.contract not in app.versions(agent.accepts):
        raise ContractViolation(f"agent {agent.name!r} accepts {accepts}, but got {envelope.contract}")
    payload: Contract = app.load(agent.accepts, envelope.contract, envelope.payload)
    return payload

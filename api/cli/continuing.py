"""Continuing: whether the agents of a new release could go on with what jobs have saved, as their frameworks see it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, redirect_stdout
from typing import Any, NoReturn, cast

import anyio

from batonpass.adapters.factory import built, takes_context
from batonpass.contracts.agent import Agent
from batonpass.contracts.app import App
from batonpass.contracts.contract import Contract
from batonpass.contracts.errors import BadSetup, BatonpassError
from batonpass.contracts.raised import described
from batonpass.coordinator.blobs import open_envelope
from batonpass.coordinator.book import parse_ref
from batonpass.coordinator.commands import ReadKept, Restore
from batonpass.coordinator.frameworks import adapter_of
from batonpass.coordinator.rows import Delivery, JobRow
from batonpass.coordinator.store import Store
from batonpass.workers.context.base import Rejecting
from batonpass.workers.context.context import Context, entered, left
from batonpass.workers.context.steps import Recorded, Steps
from batonpass.workers.session import LeaseSession
from batonpass.workers.single import single

UNBUILT = "were not looked at, because its factory fails here"
UNCLOSED = "fit, but what its factory makes fails here at its end"
_FINISHED, _HOLD = "have finished", "hold"
Problem = tuple[JobRow, str, str]


_REFUSED = "`batonpass check` changes nothing, so a factory can't record steps there"


class _Unchanged:
    """In place of a store: a factory may not write, and what it would write could count, as the job may be running."""

    codec = None

    def call(self, command: object) -> NoReturn:
        raise BadSetup(_REFUSED)

    async def acall(self, command: object) -> NoReturn:
        self.call(command)


class _OnlyRecorded(Steps):
    """Refuses any other step before its function is called. (`_Unchanged` sees it after that, and never sees an effect
    that is to be repeated.)"""

    def begin(
        self, name: str, key: str | None, arguments: object, *, users: bool = False, part: str = ""
    ) -> tuple[str, bytes, Recorded | None]:
        full, digest, recorded = super().begin(name, key, arguments, users=users, part=part)
        if recorded is None:
            self.leave(name)
            raise BadSetup(_REFUSED)
        return full, digest, recorded


def only_warns(problem: str) -> bool:
    """Whether jobs may go on in spite of a problem."""
    return problem in (UNBUILT, UNCLOSED) or problem.startswith((_FINISHED, _HOLD))


def stuck(app: App, store: Store, rows: Sequence[JobRow]) -> Iterator[Problem]:
    """Those of an agent's jobs that could not go on: each with what is wrong, and the words of an error. Builds what
    the agent's factory makes, and runs nothing of it."""
    agent = app[rows[0].agent]
    adapter = adapter_of(agent.kind)
    if not hasattr(adapter, "lost"):  # an adapter need not have it
        return
    with redirect_stdout(sys.stderr):  # what a factory prints is not the command's output
        yield from anyio.run(_Looked(app, agent, store, adapter).at, rows)


class _Looked:
    """The adapter has `lost`, and perhaps `gone` (see CrewAI's) and `unread` (see LangGraph's)."""

    def __init__(self, app: App, agent: Agent[Any], store: Store, adapter: Any) -> None:
        self._app = app
        self._agent = agent
        self._store = store
        self._adapter = adapter
        self._made: Any = None
        self._found: list[Problem] = []
        self._fit: list[JobRow] = []

    async def at(self, rows: Sequence[JobRow]) -> list[Problem]:
        # In a task of its own: if its factory cancels that, this must not be taken for a Ctrl-C, which cancels ours.
        await asyncio.create_task(self._look_at(rows))
        if (here := asyncio.current_task()) and here.cancelling():
            raise asyncio.CancelledError
        return self._found

    async def _look_at(self, rows: Sequence[JobRow]) -> None:
        looked = False
        try:
            async with AsyncExitStack() as held:
                await self._look_at_each(rows, held)
                looked = True
            await _cancelled()
        except BaseException as error:
            if not looked:
                raise
            self._found += [(row, UNCLOSED, _why(error)) for row in self._fit]

    async def _look_at_each(self, rows: Sequence[JobRow], held: AsyncExitStack) -> None:
        for number, row in enumerate(rows):
            try:
                session = self._session(row)
                payload = self._payload(row)
            except BatonpassError:  # it has ended meanwhile, or is damaged, which `doctor` and `timeline` show
                continue
            if session.checkpoint is None:
                continue  # a hop that has saved nothing starts anew
            try:
                steps = _OnlyRecorded(session, own_state=False)
                await self._build(held, Context(session, self._agent, payload, None, steps))
            except BaseException as error:
                rejects = isinstance(single(error), Rejecting)  # this job: others it may take
                self._found += [(each, UNBUILT, _why(error)) for each in ([row] if rejects else rows[number:])]
                if not rejects:
                    return
                continue
            if problem := self._problem(session):
                self._found.append((row, *problem))
            else:
                self._fit.append(row)

    def _session(self, row: JobRow) -> LeaseSession:
        """The job as a worker would get it."""
        kept = self._store.call(ReadKept(row.id))
        delivery = Delivery(kept.job, self._store.call(Restore(kept.job.tip)), kept.journal)
        return LeaseSession(cast("Store", _Unchanged()), delivery, self._app)

    def _payload(self, row: JobRow) -> Contract:
        payload = open_envelope(row.envelope, of=f"the envelope of job {row.id}").payload
        loaded: Contract = self._app.load(self._agent.accepts, parse_ref(row.contract), payload)
        return loaded

    async def _build(self, held: AsyncExitStack, context: Context) -> None:
        """What a factory makes without `ctx` is the same for all jobs."""
        if self._made is not None and not takes_context(self._agent):
            return
        before = entered(context)
        try:
            self._made = await held.enter_async_context(built(self._agent, context))
            await _cancelled()
        finally:
            left(before)

    def _problem(self, session: LeaseSession) -> tuple[str, str] | None:
        try:
            lost, gone, unread = (self._of(name, session) for name in ("lost", "gone", "unread"))
        except BatonpassError as error:
            return "can't continue in what its factory makes", f": {error}"
        if lost:
            return f"continue at {lost}, which it no longer has", ""
        if unread:
            return f"{_HOLD} {unread} in the state, which it no longer has (a migration could rename it)", ""
        return (f"{_FINISHED} {gone}, which it no longer has", "") if gone else None

    def _of(self, name: str, session: LeaseSession) -> str:
        find: Callable[..., str] | None = getattr(self._adapter, name, None)
        return find(self._agent, self._made, session) if find else ""


async def _cancelled() -> None:
    """Have a factory that cancelled its task, and did not wait since, cancelled here, where that is told as its end."""
    await asyncio.sleep(0)


def _why(error: BaseException) -> str:
    """The words of an error of a factory, whatever it is: a worker takes each as the end of one job. Raises a Ctrl-C
    again."""
    error = single(error)
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        raise error
    return f": it rejects this job: {error}" if isinstance(error, Rejecting) else f": {described(error)}"

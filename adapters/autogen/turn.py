"""Turn: one turn of a team, which ends at once when this worker loses the job."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

import anyio
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import BaseChatMessage, ModelClientStreamingChunkEvent
from autogen_agentchat.teams import BaseGroupChat
from autogen_core import CancellationToken

from ...contracts.errors import Fenced
from ...coordinator.session import Session
from . import private
from .errors import Errors
from .journal import Journal, concerns_job, current
from .keepers import Keeper, bring_back
from .members import report_all_errors, teams_within

# Seconds between two looks for tasks that a stopped turn has started meanwhile.
_AGAIN = 0.01


class Turns:
    """Runs a team's turns.

    A cancelled `run_stream` waits until all members are done, and members turn the error of a lost lease into a message
    to the model. So a turn runs in its own task, which is stopped with everything that it started.
    """

    def __init__(self, team: BaseGroupChat, session: Session, keepers: Sequence[Keeper]) -> None:
        self._team = team
        self._keepers = keepers
        self._session = session
        self._teams = teams_within(team)
        self._token = CancellationToken()
        self._fatal: BaseException | None = None
        self._errors = Errors()
        self._turn: asyncio.Future[str | None] | None = None
        self._stopped: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._journal = Journal(session, self._end)
        report_all_errors(team, self._keep)

    async def begin(self, number: int) -> None:
        """Begin a turn. `number` grows from turn to turn, and is the same when a turn is run again."""
        await bring_back(self._keepers, self._journal.begin(number))
        current.set(self._journal)

    async def run(self, start: Sequence[BaseChatMessage]) -> str | None:
        """Run the turn, which begins with these messages. Returns the team's reason to stop. Raises what a member
        raised."""
        self._errors = Errors()
        with self._journal.running():
            return await self._run(start)

    async def _run(self, start: Sequence[BaseChatMessage]) -> str | None:
        turn = self._turn = asyncio.ensure_future(self._consume(start))
        # Look at its error, or asyncio would complain if we raise another one.
        turn.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        try:
            await asyncio.wait({turn})
        finally:
            if not turn.done():
                self._stop()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait({turn})
        if self._fatal is not None:
            raise self._fatal
        raised = None if turn.cancelled() else turn.exception()
        if (turn.cancelled() or raised is not None) and (cause := self._errors.cause(raised)) is not None:
            await self._journal.take_back(*cause)
            raise cause[1]
        return turn.result()

    async def _consume(self, start: Sequence[BaseChatMessage]) -> str | None:
        reason: str | None = None
        async for item in self._team.run_stream(task=list(start) or None, cancellation_token=self._token):
            if isinstance(item, TaskResult):
                reason = item.stop_reason
            try:
                if isinstance(item, ModelClientStreamingChunkEvent):
                    await self._session.aemit([self._part(item)])
                self._session.check()
            except Fenced as error:
                self._end(error)
        return reason

    def _part(self, chunk: ModelClientStreamingChunkEvent) -> dict[str, Any]:
        of = {"message": chunk.full_message_id} if chunk.full_message_id else {}  # the user's own agents may give none
        return {"agent": chunk.source, **of, "lease": self._session.token, "chunk": chunk.content}

    def _keep(self, member: str, error: BaseException) -> None:
        self._errors.add(member, error)
        if concerns_job(error):  # a team that is a tool would tell its model the text, and continue
            self._end(error)

    def _end(self, error: BaseException) -> None:
        self._fatal = self._fatal or error
        self._stop()

    def _stop(self) -> None:
        """Cancel the team's tasks, each once, again and again until the turn has ended: a task may start another."""
        self._token.cancel()
        for team in self._teams:
            for task in private.running_tasks(team):
                if task not in self._stopped and private.has_begun(task):
                    self._stopped.add(task)
                    task.cancel()
        if self._turn is not None and not self._turn.done():
            asyncio.get_running_loop().call_later(_AGAIN, self._stop)

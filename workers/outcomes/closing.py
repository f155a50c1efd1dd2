"""Closing: ends deliveries that failed or were given back, and logs it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from traceback import format_exception
from typing import Any

from ...contracts.agent import Agent
from ...contracts.errors import (
    BatonpassError,
    Canceled,
    ChildrenFailed,
    Fenced,
    NotFound,
    OverBudget,
    Overloaded,
    Unanswered,
)
from ...contracts.job import CHILDREN
from ...contracts.raised import chain
from ...coordinator.book import Book
from ...coordinator.calls import adrive
from ...coordinator.commands import Fail, Fence, ReadJob, Release
from ...coordinator.rows import JobRow
from ...coordinator.store import Store
from ..context.asking import asked_again
from ..context.fan_out import counting, made_again
from ..session import LeaseSession
from .error_place import Traced, to_log
from .fallback import falling_back
from .outcomes import ATTEMPTS_OVER, decisive, failing, lasting, says_what_to_do, shortened

_log = logging.getLogger("batonpass.worker")
# Characters of a traceback to log: it shows an error's whole text, which may be megabytes.
_LONGEST_TRACE = 40_000


class Closing:
    """Ends deliveries of one worker. Never raises an error of the store: the lease expires instead. `ends` is called
    with the lease before the write."""

    def __init__(self, store: Store, book: Book, ends: Callable[[str], None]) -> None:
        self._store = store
        self._book = book
        self._ends = ends

    async def fail(
        self,
        about: str,
        agent: Agent[Any] | None,
        session: LeaseSession,
        error: BaseException,
        row: JobRow | None = None,
    ) -> None:
        """The attempt raised: retry it, continue at the fallback, or end the job."""
        raised, error = error, decisive(error)
        if isinstance(error, Fenced) and not isinstance(error, OverBudget):
            self.lost(about, error)
            return
        if isinstance(error, NotFound) and await self._is_deleted(session.fence):
            self._deleted(about)
            return
        if session.budget.open:
            with suppress(BatonpassError):
                await adrive(self._store, counting(session))
        told, command = _failing(agent, session, error)
        if told is not error:  # that can't even be looked at
            raised = error = told
        pause = command.retry_in
        again = f"failed ({command.reason})" if pause is None else f"again in {pause / 1000:.1f} s"
        try:
            instead = await adrive(self._store, falling_back(self._book, agent, row, session, command))
            if instead is not None and agent is not None:
                again = f"goes on at {agent.fallback}"
            reason, again_too = _tried_again(session, error, raised, command) if instead is None else (None, {})
            command = replace(command, reason=reason or command.reason)
            _tell(f"{about}: {command.error}, {again}", agent, error)
            await session.aflush()
            if again_too:
                with suppress(OverBudget):  # raised after the write
                    await session.arecord(again_too)
            self._ends(session.fence.lease_id)
            await session.awrite(instead or command)
        except Fenced as lost:
            self.lost(about, lost)
        except NotFound:
            self._deleted(about)
        except BatonpassError as problem:
            _log.error("%s: the failure was not written: %s", about, problem)
            if isinstance(problem, Overloaded):  # or the lease would run out, as if the job had killed its worker
                await self.release(about, session.fence, aside=True)

    async def _is_deleted(self, fence: Fence) -> bool:
        """Whether the job is what was not found: an agent may look for anything."""
        try:
            await self._store.acall(ReadJob(fence.job_id))
        except BatonpassError as error:
            return isinstance(error, NotFound)
        return False

    def _deleted(self, about: str) -> None:
        """Somebody canceled and deleted the job, which is no trouble of the worker."""
        _log.warning("%s: it was deleted while it ran", about)

    def lost(self, about: str, why: Fenced) -> None:
        """The job is not this worker's any more."""
        if isinstance(why, Canceled):
            self.canceled(about)
        else:
            _log.warning("%s: refused: %s", about, why)

    def canceled(self, about: str) -> None:
        """Somebody canceled the job, which is no trouble."""
        _log.info("%s: canceled", about)

    async def release(self, about: str, fence: Fence, *, aside: bool = False) -> None:
        """Give the delivery back. With `aside`, behind those that this worker can run."""
        self._ends(fence.lease_id)
        try:
            await self._store.acall(Release(fence, aside=aside))
            _log.info("%s: given back", about)
        except Fenced:  # it has just ended, or another worker has it
            _log.info("%s: its lease had ended", about)
        except NotFound:
            self._deleted(about)
        except BatonpassError as error:
            _log.warning("%s: not given back, its lease will expire: %s", about, error)

    async def crash(self, about: str, fence: Fence, how: str) -> None:
        """The process that ran it died: give it back, and count the crash."""
        self._ends(fence.lease_id)
        try:
            await self._store.acall(Release(fence, how))
            _log.error("%s: %s, given back", about, how)
        except Fenced:
            _log.warning("%s: %s; its lease had ended", about, how)
        except BatonpassError as error:
            _log.warning("%s: %s; not given back, its lease will expire: %s", about, how, error)


def _tried_again(
    session: LeaseSession, error: BaseException, raised: BaseException, command: Fail
) -> tuple[str | None, dict[str, Any]]:
    """The reason of a job that ends because of what a redrive tries again, and what to record so that it does: it asks
    again, or makes the children again that failed. An agent may raise that as the cause of its own error, or several
    in a group, which is what was `raised`. None if it ends for another reason."""
    if command.retry_in is not None or command.reason not in (*ATTEMPTS_OVER, CHILDREN, "unanswered"):
        return None, {}
    came_of = next((each for each in chain(error) if isinstance(each, Unanswered | ChildrenFailed)), None)
    if isinstance(came_of, Unanswered):
        return lasting(came_of), asked_again(session, came_of.key) if came_of.key else {}
    keys = {each.key for each in chain(raised) if isinstance(each, ChildrenFailed)}
    return (CHILDREN, made_again(session, keys)) if keys or session.lost else (None, {})


def _failing(agent: Agent[Any] | None, session: LeaseSession, error: BaseException) -> tuple[BaseException, Fail]:
    """The error, or another in place of one that can't be described, and the command for it."""
    try:
        return error, failing(agent, session, error)
    except Exception as odd:  # users' errors may raise whenever they are looked at
        instead = type(type(error).__name__, (Exception,), {})(f"(it can't be described: {type(odd).__name__})")
        return instead, failing(agent, session, instead)


def _tell(what: str, agent: Agent[Any] | None, error: BaseException) -> None:
    """Log it, with the traceback unless it says what to do."""
    if says_what_to_do(error):
        _log.error("%s", what)
        return
    try:
        with to_log(agent, error) as trace:
            text = "".join(format_exception(error)).rstrip("\n")
            if len(text) <= _LONGEST_TRACE:
                _log.error("%s", what, exc_info=trace)
            else:
                _tell_shortened(what, trace, text)
    except Exception:  # to format a traceback, Python reads more of the error than its text
        _log.error("%s (its traceback can't be shown)", what)


def _tell_shortened(what: str, trace: Traced, text: str) -> None:
    if _log.isEnabledFor(logging.ERROR):
        file, line, *_ = _log.findCaller()
        record = _log.makeRecord(_log.name, logging.ERROR, file, line, "%s", (what,), trace)
        record.exc_text = shortened(text, _LONGEST_TRACE)  # which formatters take for its traceback
        _log.handle(record)

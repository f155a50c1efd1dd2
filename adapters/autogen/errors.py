"""Errors: keeps the original errors that a turn's members and managers raise.

A team passes its members' errors on as text, level by level, and logs a whole traceback at each level. It hangs on an
error that is not an Exception.
"""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager
from types import TracebackType

from autogen_agentchat.base import ChatAgent, Response, Team
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_agentchat.teams import BaseGroupChat
from autogen_core import CancellationToken

from . import private
from .journal import current, each_within, member, within

_log = logging.getLogger("batonpass.autogen")

Report = Callable[[str, BaseException], None]


class Errors:
    """The errors raised in a turn, the innermost first, each with the path of the member that raised it."""

    def __init__(self) -> None:
        self._met: list[tuple[str, BaseException, TracebackType | None]] = []

    def add(self, path: str, error: BaseException) -> None:
        self._met.append((path, error, error.__traceback__))

    def cause(self, raised: BaseException | None) -> tuple[str, BaseException] | None:
        """The original of the error that a team has `raised` as text, or that stopped it, and the path of its member.
        None if no member raised it.

        Not every error ends a turn: if the agent is a tool, its error is told to the model.
        """
        for path, error, trace in self._met:
            if raised is None or raised is error or f"{type(error).__name__}: {error}" in str(raised):
                return path, error.with_traceback(trace)
        return None


def report_errors(path: str, watched: ChatAgent | Team, report: Report) -> None:
    """Report each error of an agent, or of a team's manager, when it is raised. Meanwhile `member` says who works."""
    if isinstance(watched, BaseGroupChat):
        private.watch_manager(watched, lambda: _working(path, report))
    elif isinstance(watched, ChatAgent):
        _watch_agent(path, watched, report)


def _watch_agent(path: str, agent: ChatAgent, report: Report) -> None:
    original = agent.on_messages_stream

    async def reported(
        messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        with _reported(path, report):
            async for item in each_within(member, path, original(messages, cancellation_token)):
                yield item

    agent.on_messages_stream = reported  # type: ignore[method-assign]


@contextmanager
def _working(path: str, report: Report) -> Generator[None]:
    with within(member, path), _reported(path, report):
        yield


@contextmanager
def _reported(path: str, report: Report) -> Generator[None]:
    try:
        yield
    except (CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        report(path, error)
        raise


def _told_by_the_job(record: logging.LogRecord) -> bool:
    """Whether to let a log record of AutoGen pass. In a job, the worker says how an attempt failed, once."""
    if current.get() is None or not record.exc_info:
        return True
    _log.debug("%s", record.getMessage(), exc_info=record.exc_info)
    return False


logging.getLogger("autogen_core").addFilter(_told_by_the_job)

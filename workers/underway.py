"""Underway: a delivery that runs in a task of the worker's loop, and what stops it."""

from __future__ import annotations

import asyncio
import signal
from math import inf
from typing import Any, NamedTuple

from anyio import current_effective_deadline

from ..contracts.agent import Agent
from .session import LeaseSession
from .threads import Calls, is_among


class AtWork(NamedTuple):
    """An agent's code that runs in the worker's loop: what the log calls it, and its calls."""

    about: str
    agent: Agent[Any]
    calls: Calls


class Underway:
    """A delivery that runs in this task. (An anyio cancel scope would cost a tenth of a short job.) `host` is the task
    of its worker."""

    def __init__(self, session: LeaseSession | None, host: asyncio.Task[object] | None = None) -> None:
        self.session = session  # None: it runs in a child
        self._host = host
        self._task = asyncio.current_task()
        self.at_work: AtWork | None = None
        self._canceled = False

    def has(self, task: asyncio.Task[Any]) -> bool:
        """Whether its agent's code surely runs in this task."""
        return self.at_work is not None and (self._task is task or is_among(self.at_work.calls, task))

    def cancel(self) -> None:
        """Stop its code where it next awaits."""
        if self._task is not None and not self._canceled:
            self._canceled = True
            self._task.cancel()

    def caught(self) -> bool:
        """Whether this stopped it, and not somebody who stops the task itself."""
        return self._canceled and self._task is not None and self._task.uncancel() == 0

    def lose(self, status: str) -> None:
        """Its lease was lost before it started."""
        if self.session is not None:
            self.session.lose(status)
        else:
            self.cancel()

    def stopped_by(self, error: BaseException) -> bool:
        """Whether an error did not come from its code: its task was cancelled, dropped with its loop, or interrupted by
        Ctrl-C.

        Anything else that is not an `Exception` (`sys.exit()` in an agent) would stop the worker, and all other jobs
        with it.
        """
        if isinstance(error, asyncio.CancelledError):
            return self._task is not None and self._task.cancelling() > 0 and not self._cancels_itself(self._task)
        if isinstance(error, GeneratorExit):
            return _current_task() is not self._task
        return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def _cancels_itself(self, task: asyncio.Task[object]) -> bool:
        """Whether only the agent's code can have cancelled its task, as in a time limit of its own: neither this nor
        what is around it did. Then the cancellation is over."""
        host = self._host
        if self._canceled or host is None or host.done() or host.cancelling() or current_effective_deadline() == -inf:
            return False
        while task.uncancel():
            pass
        return True


def _current_task() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None

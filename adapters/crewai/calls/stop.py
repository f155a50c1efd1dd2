"""Stop: ends a run at once when its job is lost or its store fails, although CrewAI swallows errors of hooks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NoReturn

from anyio import CancelScope
from crewai.hooks.dispatch import HookAborted, InterceptionPoint

from ....contracts.errors import BatonpassError
from ....coordinator.session import Session
from .. import internals

_BEFORE = (InterceptionPoint.PRE_STEP, InterceptionPoint.PRE_MODEL_CALL, InterceptionPoint.PRE_TOOL_CALL)


class Halted(BaseException):
    """Control flow: the code that runs now must not go on. Not an Exception, which CrewAI would swallow there."""


class Stop:
    """Keeps the first error that must end the run, aborts everything that CrewAI starts after it, and raises it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._error: Exception | None = None
        self._over = False
        self._cancel: Callable[[], object] | None = None
        self._stopped: Callable[[], None] = lambda: None

    def hooks(self) -> dict[InterceptionPoint, list[Any]]:
        """Hooks that check before each task, method, model call and tool call whether the run may continue."""
        return {point: [self.check] for point in _BEFORE}

    def check(self, _: object = None) -> None:
        """Abort if the run must end. `HookAborted` is the only exception of a hook that CrewAI lets through."""
        if self._error is None and not self._over:
            try:
                self._session.check()
            except BatonpassError as error:
                self._end(error)
        if self._error is not None or self._over:
            raise HookAborted(str(self._error or "the run is over"), source="batonpass") from self._error

    @contextmanager
    def on_error(self) -> Generator[None]:
        """End the run if the block (a write to the store) fails. From any thread."""
        try:
            yield
        except Exception as error:
            self._end(error)
            raise HookAborted(str(error), source="batonpass") from error

    def halt(self, error: Exception) -> NoReturn:
        """End the run where CrewAI would let the user's code go on after any `Exception`. From any thread."""
        self._end(error)
        raise Halted(str(error)) from error

    @asynccontextmanager
    async def surfacing(self) -> AsyncGenerator[None]:
        """Around the whole run: raises the kept error itself, and at once, whatever CrewAI makes of it. Threads that
        are left behind are stopped at their next hook."""
        loop = asyncio.get_running_loop()
        with internals.pairing() as self._stopped, CancelScope() as scope:
            self._cancel = lambda: loop.call_soon_threadsafe(scope.cancel)
            try:
                yield
            except (Exception, Halted):
                if self._error is None:
                    raise
            finally:
                self._over = True
                self._stopped()
        if self._error is not None:
            raise self._error

    def _end(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
        self._stopped()
        if self._cancel is not None and not self._over:
            self._cancel()

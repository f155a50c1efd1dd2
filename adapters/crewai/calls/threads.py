"""Threads: code that a flow's method or a tool runs without its context, as in the threads of a pool of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Context, copy_context
from functools import wraps
from threading import Thread
from typing import Any, TypeVar
from weakref import WeakSet

from crewai import Crew

from ....coordinator.alone import is_alone
from .steps import current

_ADOPTED = "_adopted_by_batonpass"
R = TypeVar("R")
_log = logging.getLogger("batonpass.crewai")
_running: dict[int, Context] = {}  # of methods, and of crews that are agents
_before = WeakSet[Thread]()  # that were there before the job
_warned = False


def adopt_crews() -> None:
    """Have crews that run in such threads run in the context that they lack: with its hooks, its records and its
    budget. For each job, as threads of an earlier one may be left."""
    crew: Any = Crew
    _before.clear()
    _before.update(threading.enumerate())
    if not hasattr(crew, _ADOPTED):
        setattr(crew, _ADOPTED, True)
        crew.kickoff, crew.akickoff = _within(crew.kickoff), _awithin(crew.akickoff)


def _within(kickoff: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(kickoff)
    def begin(*args: Any, **options: Any) -> Any:
        return in_context(kickoff, *args, **options)

    return begin


def _awithin(kickoff: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    @wraps(kickoff)
    async def begin(*args: Any, **options: Any) -> Any:
        return await ain_context(kickoff, *args, **options)

    return begin


@contextmanager
def running_code() -> Generator[None]:
    """Around a flow's method, or a crew that is an agent, in its context."""
    here = copy_context()
    _running[id(here)] = here
    try:
        yield
    finally:
        del _running[id(here)]


def is_in_job() -> bool:
    """Whether this code belongs to a job."""
    return current.get() is not None or _left() is not None


def in_context(call: Callable[..., R], *args: Any, **options: Any) -> R:
    """A call, in the context that it lacks, if it has none."""
    left = _left()
    return call(*args, **options) if left is None else _both(left).run(call, *args, **options)


def ain_context(call: Callable[..., Coroutine[Any, Any, R]], *args: Any, **options: Any) -> Awaitable[R]:
    """`in_context` for async code."""
    left, made = _left(), call(*args, **options)
    return made if left is None else asyncio.create_task(made, context=_both(left))


def _both(left: Context) -> Context:
    """This thread's own context, with what it lacks of another one."""
    own = copy_context()
    for variable, value in left.items():
        if variable not in own:
            own.run(variable.set, value)
    return own


def _left() -> Context | None:
    """The context that this code was left without. If several run, nobody knows whose it is, nor where other jobs may
    run, or code of none."""
    if current.get() is not None or not _running or not is_alone():
        return None
    if len(_running) > 1 or threading.current_thread() in _before:
        _warn()
        return None
    return next(iter(_running.values()), None)


def _warn() -> None:
    global _warned
    if not _warned:
        _warned = True
        _log.warning(
            "a model was called in a thread that was begun without its context, while several methods run, or before "
            "this job: its answer is not recorded, nor counted. Begin such threads by asyncio.to_thread, or give the "
            "pool contextvars.copy_context().run and the function"
        )

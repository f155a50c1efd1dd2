"""Error place: where in its agent's code an error came from, for people who look at a failed job, not at a log."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any, TypeAlias

from ...contracts.agent import Agent
from ...contracts.raised import chain

_OURS = str(Path(__file__).parents[2])
_NOT_USERS = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
# The second is for other loops than asyncio's own, which have no frames.
_LOOPS = {("asyncio.base_events", "_run_once"), ("asyncio.runners", "run")}
Traced: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]


def raised_in(agent: Agent[Any], error: BaseException) -> str | None:
    """The innermost place in the agent's code that an error passed: "desk.py:20 in research". None if there is none.

    The agent's code is everything in its own package, and everything that is not installed.
    """
    for each in chain(error, context=True):  # frameworks wrap errors in their own, with or without `from`
        for frame, line in reversed(list(walk_tb(each.__traceback__))):
            if _is_users(agent, frame):
                return f"{_file(frame)}:{line} in {frame.f_code.co_name}"
    return None


def stands_in(agent: Agent[Any] | None, frame: FrameType | None) -> str | None:
    """The same for code that runs now in an event loop: `frame` is the innermost. Without an agent, all code that is
    not installed counts."""
    while frame is not None and not _runs_loop(frame):
        if not _is_installed(frame) if agent is None else _is_users(agent, frame):
            return f"{_file(frame)}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return None


def to_log(agent: Agent[Any] | None, error: BaseException) -> Traced:
    """An error as `logging` takes it. Its traceback begins in the agent's code: the frames before that are the worker's
    or a framework's, and the same each time. If none is in the agent's code, the traceback is whole."""
    theirs = error.__traceback__
    while theirs and agent and not _is_users(agent, theirs.tb_frame):
        theirs = theirs.tb_next
    return type(error), error, theirs or error.__traceback__


def _is_users(agent: Agent[Any], frame: FrameType) -> bool:
    return _package(_module(frame)) == _package(agent.fn.__module__ or "") or not _is_installed(frame)


def _runs_loop(frame: FrameType) -> bool:
    """Whether what is around this frame is no code in its event loop, but the program that runs the loop."""
    return (_module(frame), frame.f_code.co_name) in _LOOPS


def _package(module: str) -> str:
    return module.partition(".")[0]


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_installed(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return name.startswith(("<", _OURS, *_NOT_USERS)) or "site-packages" in name


def _file(frame: FrameType) -> str:
    """A file's path from its package on: `nodes.py` alone may be any of several."""
    path = Path(frame.f_code.co_filename)
    deep = _module(frame).count(".") + (path.stem == "__init__")
    return "/".join(path.parts[-1 - deep :])

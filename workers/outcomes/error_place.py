"""Error place: where in its agent's code an error came from, for people who look at a failed job, not at a log."""

from __future__ import annotations

import sysconfig
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any, TypeAlias

from ...contracts.agent import Agent
from ...contracts.raised import chain, described

_OURS = str(Path(__file__).parents[2])
_NOT_USERS = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
# The second is for other loops than asyncio's own, which have no frames.
_LOOPS = {("asyncio.base_events", "_run_once"), ("asyncio.runners", "run")}
# How many errors of one chain are looked at.
_CHAIN = 50
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


@contextmanager
def to_log(agent: Agent[Any] | None, error: BaseException) -> Generator[Traced]:
    """An error as `logging` takes it, in this block. Its traceback begins in the agent's code, and so do those of the
    errors before it: the frames before that are the worker's or a framework's, and the same each time. If none is in
    the agent's code, a traceback is whole. Errors that say again what another one has said are left out: a framework
    that tries again chains each try to the one before.
    """
    before = [(each, each.__context__, each.__traceback__) for each in _printed(error)]
    try:
        if agent is not None:
            _shorten(agent, error)
        yield type(error), error, error.__traceback__
    finally:
        for each, context, trace in before:
            each.__context__, each.__traceback__ = context, trace


def _printed(error: BaseException) -> list[BaseException]:
    """An error and those before it, as a traceback shows them."""
    found: dict[int, BaseException] = {}
    each: BaseException | None = error
    while each is not None and id(each) not in found and len(found) < _CHAIN:
        found[id(each)] = each
        each = _before(each)
    return list(found.values())


def _before(error: BaseException) -> BaseException | None:
    context = None if error.__suppress_context__ else error.__context__
    return context if error.__cause__ is None else error.__cause__


def _shorten(agent: Agent[Any], error: BaseException) -> None:
    """Cut what repeats from what is printed of an error. A cause that somebody has given it stays, and so does an error
    that came through other code of the user's than those that say the same."""
    said = dict[object, set[tuple[str, int]]]()
    last: BaseException | None = None
    for each in _printed(error):
        what = (type(each), described(each), next(reversed(_places(each)), None))
        frames = walk_tb(each.__traceback__)
        through = {(frame.f_code.co_filename, line) for frame, line in frames if _is_users(agent, frame)}
        if what in said and through <= said[what] and last is not None and last.__cause__ is None:
            last.__context__ = _before(each)
            continue
        said.setdefault(what, set()).update(through)
        each.__traceback__, last = _from_users(agent, each.__traceback__), each


def _from_users(agent: Agent[Any], trace: TracebackType | None) -> TracebackType | None:
    theirs = trace
    while theirs and not _is_users(agent, theirs.tb_frame):
        theirs = theirs.tb_next
    return theirs or trace


def _places(error: BaseException) -> list[tuple[str, int]]:
    return [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]


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

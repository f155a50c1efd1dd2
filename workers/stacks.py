"""Stacks: the frames and coroutines of tasks and threads, and the errors in them, as far as Python shows them."""

from __future__ import annotations

import sys
from asyncio import Task, get_running_loop
from collections.abc import Iterator
from gc import get_referents
from opcode import opname
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any

from .threads import place

_RUNS = (CoroutineType, AsyncGeneratorType, GeneratorType)
_WAITS = ("cr_await", "ag_await", "gi_yieldfrom")
_FRAMES = ("cr_frame", "ag_frame", "gi_frame")
# The last instruction of a coroutine that an error ended where it waited.
AWAITS = frozenset({"SEND", "CLEANUP_THROW", "JUMP_BACKWARD_NO_INTERRUPT"})
# Python's own awaitables that show nothing of what they wait for.
_HIDING = frozenset({"async_generator_asend", "async_generator_athrow", "anext_awaitable", "coroutine_wrapper"})


def calling(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame, and those that called it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def frames(task: Task[Any]) -> Iterator[FrameType]:
    """Those of the coroutines in which a task is, the outermost first."""
    for each in _stack(task):
        found = (getattr(each, name, None) for name in _FRAMES)
        yield from (frame for frame in found if frame is not None)


def running() -> set[FrameType]:
    """The frames in which all threads are."""
    tops: dict[int, FrameType] = getattr(sys, "_current_frames")()  # noqa: B009
    return {frame for top in tops.values() for frame in calling(top)}


def code_of(task: Task[Any]) -> object:
    """The code of a task's coroutine. None if it is no usual one."""
    return getattr(task.get_coro(), "cr_code", None)


def handled(task: Task[Any]) -> list[BaseException]:
    """The errors that the coroutines of a task are handling, or have saved."""
    return [each for coroutine in _stack(task) for each in get_referents(coroutine) if isinstance(each, BaseException)]


def waits(task: Task[Any]) -> bool:
    """Whether a task surely stands still, and is not done."""
    try:
        ours = get_running_loop() is task.get_loop()
    except RuntimeError:  # none runs here
        ours = False
    return task is not place() and not task.done() and (ours or not task.get_loop().is_running())


def passed(error: BaseException) -> Iterator[FrameType]:
    """The frames through which an error has passed, the last first."""
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def causes(error: BaseException | None) -> list[BaseException]:
    """An error, and those because of which, or during whose handling, it was raised, or which it groups."""
    found: dict[int, BaseException] = {}
    left: list[BaseException | None] = [error]
    while left:
        each = left.pop()
        if each is not None and id(each) not in found:  # one may be its own cause
            found[id(each)] = each
            left += [each.__cause__, each.__context__]
            if issubclass(type(each), BaseExceptionGroup):
                left += getattr(each, "exceptions", ())
    return list(found.values())


def last_instruction(frame: FrameType) -> str:
    """The name of the last one that a frame has carried out."""
    return opname[frame.f_code.co_code[frame.f_lasti]] if frame.f_lasti >= 0 else ""


def ended_in(task: Task[Any]) -> BaseException | None:
    """The error that ended a task. (If it is asked for the public way, Python does not log that nobody has.)"""
    error: BaseException | None = getattr(task, "_exception", None)
    return error


def _stack(task: Task[Any]) -> Iterator[object]:
    """The coroutines and generators in which a task is, the outermost first."""
    waits: object = task.get_coro()
    while waits is not None:
        yield waits
        awaits = (getattr(waits, name) for name in _WAITS if hasattr(waits, name))
        waits = next(awaits, None) if isinstance(waits, _RUNS) else _hidden(waits)


def _hidden(waits: object) -> object:
    referents: list[object] = get_referents(waits) if type(waits).__name__ in _HIDING else []
    return next((each for each in referents if issubclass(type(each), _RUNS) or type(each).__name__ in _HIDING), None)

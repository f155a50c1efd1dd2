"""Caught: whether an agent's code was given the error of an effect, and went on.

An error in the function's own task or thread is one that it was given. One in a task or thread beside it may have
stayed there: then the job would end without a word of what may have happened. Python says where an error was raised
last: its traceback begins with the frame that caught it, or with the first one of the task or thread that it ended.
"""

from __future__ import annotations

from asyncio import Task, all_tasks
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import currentframe
from types import FrameType
from typing import Any

from .threads import Place, is_alongside, place


@dataclass(frozen=True)
class Raised:
    """An effect's error.

    `own` are frames of its task or thread, which it leaves when other code is given it. `beside` are the other tasks
    that there were: one may wait for this one, be given the error, and end in it, too.
    """

    where: Place | None
    error: BaseException | None = None
    own: tuple[FrameType, ...] = ()
    beside: tuple[Task[Any], ...] = ()

    @classmethod
    def here(cls, home: Place | None, error: Exception) -> Raised:
        """One that passes through here. `home` is where the agent's function runs."""
        where = place()
        if where == home:
            return cls(where)
        if isinstance(where, int):
            return cls(where, error, tuple(_calling(currentframe())), _beside(home, home))
        return cls(where, own=tuple(_waiting(where))[:1], beside=_beside(where, home))

    def is_known(self, home: Place | None) -> bool:
        """Whether the agent's code was given it, as far as can be said here and now."""
        return self.where == home or (self.where is place() and isinstance(self.where, Task)) or self.is_settled()

    def is_settled(self) -> bool:
        """Whether other code was given it, so that nothing can change that."""
        error = self.error
        if isinstance(self.where, Task):
            if not self.where.done() or self.where.cancelled():
                return False
            if (error := self.where.exception()) is None:
                return True
        if error is None or (frame := _caught_in(error)) is None or frame in self.own:
            return False
        return not any(_keeps(each, error, frame) for each in self.beside)


def _beside(task: Place | None, home: Place | None) -> tuple[Task[Any], ...]:
    """The other tasks of a task's loop. None if it is a thread."""
    if not isinstance(task, Task):
        return ()
    others = all_tasks(task.get_loop()) - {task, home}
    return tuple(each for each in others if is_alongside(each))


def _caught_in(error: BaseException) -> FrameType | None:
    return error.__traceback__.tb_frame if error.__traceback__ else None


def _keeps(task: Task[Any], error: BaseException, frame: FrameType) -> bool:
    """Whether a task was given an error, and has told nobody so far."""
    if not task.done():
        return frame in _waiting(task)
    ended_in = None if task.cancelled() else task.exception()
    if ended_in is None or error not in _causes(ended_in):
        return False
    last = _caught_in(ended_in)
    return last is not None and last.f_code is getattr(task.get_coro(), "cr_code", None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _calling(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _waiting(task: Task[Any]) -> Iterator[FrameType]:
    """The frames of the coroutines in which a task is, the outermost first."""
    waits: object = task.get_coro()
    while (frame := getattr(waits, "cr_frame", None)) is not None:
        yield frame
        waits = getattr(waits, "cr_await", None)

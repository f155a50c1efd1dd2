"""Raised: an error of an effect in a task or thread beside the agent's own, and where it has gone since.

Python says where an error was raised last: its traceback begins with the frame that caught it, or with the first one
of the task or thread that it ended. A frame keeps its last instruction, which tells whether it returned. And a
coroutine refers to the error that it handles, until it has done so.
"""

from __future__ import annotations

from asyncio import Task
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from itertools import takewhile
from types import FrameType, MappingProxyType
from typing import Any

from .stacks import (
    AWAITS,
    causes,
    code_of,
    ended_in,
    frames,
    handled,
    last_instruction,
    passed,
    running,
    waits,
)
from .threads import Place

# Whose code is given an error that ends a callback, a thread, or a task.
_RUNNERS = frozenset({"asyncio", "concurrent", "threading", "multiprocessing", "anyio", "uvloop"})


class Seen:
    """The tasks that were in frames when these were looked at."""

    def __init__(self, frames_of: Mapping[FrameType, Task[Any]] = MappingProxyType({})) -> None:
        self._tasks = {id(frame): task for frame, task in frames_of.items()}  # the frames may go

    def holder(self, error: BaseException, first: FrameType) -> Task[Any] | None:
        """The task that is still in the frame in which an error was raised last."""
        task = self._tasks.get(id(first))
        return task if task is not None and not task.done() and first in frames(task) else None


class Held:
    """What tasks have now: their frames and the errors that they handle, each with its task; and what they ended in,
    if nobody was given that. `tasks` are all but those that are about to end the hop."""

    def __init__(self, tasks: Iterable[Task[Any]]) -> None:
        self._tasks = [*tasks]

    @cached_property
    def running(self) -> set[FrameType]:
        """The frames in which all threads are."""
        return running()

    @cached_property
    def _frames(self) -> dict[FrameType, Task[Any]]:
        return {frame: task for task in self._tasks if not task.done() for frame in frames(task)}

    @cached_property
    def _handled(self) -> dict[int, Task[Any]]:
        alive = [task for task in self._tasks if not task.done()]
        return {id(error): task for task in alive for each in handled(task) for error in causes(each)}

    @cached_property
    def _lost(self) -> list[BaseException]:
        return [error for task in self._tasks if task.done() and (error := unseen(task)) is not None]

    @cached_property
    def _lost_causes(self) -> dict[int, BaseException]:
        return {id(each): each for error in self._lost for each in causes(error)}

    @property
    def seen(self) -> Seen:
        """The frames alone."""
        return Seen(self._frames)

    def holder(self, error: BaseException, first: FrameType) -> Task[Any] | None:
        """The task that handles an error which it has raised in this frame last."""
        return self._frames.get(first) or self._handled.get(id(error))

    def has_lost(self, number: int, kind: type[BaseException]) -> bool:
        """Whether a task ended in the error with that id, and nobody was given it."""
        return type(self._lost_causes.get(number)) is kind

    def has(self, error: BaseException, own: Collection[FrameType]) -> bool:
        """Whether one of the tasks has an error that has left its `own` frames, and has told nobody."""
        if id(error) in self._handled or id(error) in self._lost_causes:
            return True
        path = {*takewhile(lambda frame: frame not in own, passed(error))}
        return any(frame in path for each in self._lost for frame in passed(each))


class Raised:
    """An error that passes through here. `own` are frames of its task or thread, which it leaves when other code is
    given it."""

    def __init__(self, where: Place, error: BaseException, own: tuple[FrameType, ...]) -> None:
        self.where = where
        self.error: BaseException | None = error
        # Another effect failed with the same object, so that its traceback tells nothing of either.
        self.shared = False
        self.is_out_of_sight = False  # some code was given it, which was not found in a task
        self._own = own
        self._holder: Task[Any] | None = None  # who was seen to handle it, beside its own task
        self._went_on: tuple[int, type[BaseException]] | None = None  # which it was, when its task had handled it

    def look(self, held: Held | Seen) -> bool:
        """Look whether its task, or the one that was given it, has handled it, and waits for something else. Returns
        whether there is nothing more to see."""
        error, task = self._now(), self.where
        if error is None:
            return True
        if not isinstance(task, Task) or task.done():
            if (first := self._beyond(error)) is None:
                return False
            if last_instruction(first).startswith("RETURN_"):
                return True
            self._holder = self._holder or held.holder(error, first)
            self.is_out_of_sight = self._holder is None
            if self._holder is None or self._holder.done():
                return True
            task = self._holder
        if waits(task) and not any(error in causes(each) for each in handled(task)):
            self._went_on, self.where, self.error, self._own = (id(error), type(error)), 0, None, ()
            return True
        return False

    def was_left(self) -> bool:
        """Whether it surely was left behind: by code that has returned since."""
        if isinstance(self.where, Task):
            if not self.where.done() or self.where.cancelled():
                return False
            if ended_in(self.where) is None:
                return True
        error = self._now()
        first = None if error is None else self._beyond(error)
        return first is not None and last_instruction(first).startswith("RETURN_")

    def was_given(self, held: Held, here: Collection[FrameType]) -> bool:
        """Whether other code was given it, as far as can be said at the end. `here` are the frames of the agent's own
        code."""
        if self._went_on:
            return not held.has_lost(*self._went_on)
        if self.was_left():
            return True
        error = self._now() if not isinstance(self.where, Task) or self.where.done() else None
        if error is None or (first := self._beyond(error)) is None:
            return False
        if first in here:
            return True
        if first in held.running or last_instruction(first) in AWAITS:
            return False
        return not (self._holder is not None and self._holder.cancelled()) and not held.has(error, self._own)

    def _now(self) -> BaseException | None:
        """The error, or what its task has ended in. None if that tells nothing, or is none."""
        task = self.where
        if not isinstance(task, Task) or not task.done():
            return self.error
        return None if task.cancelled() else ended_in(task)

    def _beyond(self, error: BaseException) -> FrameType | None:
        """The frame that was given an error last, if it has left the task or thread."""
        path = [] if self.shared else [*passed(error)]
        if not path or path[0] in self._own or not any(frame in self._own for frame in path) or _is_runner(path[0]):
            return None
        return path[0]


def unseen(task: Task[Any]) -> BaseException | None:
    """The error in which a task ended, if nobody was given it."""
    if (error := ended_in(task)) is None:
        return None
    first, code = next(passed(error), None), code_of(task)
    return error if first is None or code is None or first.f_code is code or _is_runner(first) else None


def _is_runner(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _RUNNERS

"""Caught: whether an agent's code was given the error of an effect, and went on.

An error in the function's own task or thread is one that it was given. One in a task or thread beside it may have
stayed there: then the job would end without a word of what may have happened. Python says where an error was raised
last: its traceback begins with the frame that caught it, or with the first one of the task or thread that it ended. A
frame keeps its last instruction, which tells whether it returned. And a coroutine refers to the error that it handles,
until it has done so.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, Task, all_tasks, get_running_loop
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from inspect import currentframe
from itertools import islice, takewhile
from types import FrameType
from typing import Any

from .stacks import (
    AWAITS,
    calling,
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
from .threads import Place, is_alongside, place

# Errors of which it is not known whether they were caught, before that is looked at: at twice as many the next time.
_MANY = 8
# How often it is looked in the loop's next turns whether an error is still handled; after so many seconds then, at
# first and at most; and how often in all.
_TURNS, _SOON, _LATER, _LOOKS = 20, 0.001, 1.0, 60
# Whose code is given an error that ends a callback, a thread, or a task.
_RUNNERS = frozenset({"asyncio", "concurrent", "threading", "multiprocessing", "anyio", "uvloop"})
_log = logging.getLogger("batonpass.worker")


@dataclass(slots=True, eq=False)
class _Raised:
    """An error that passed through here, in a task or thread beside the agent's own. `own` are frames of that one,
    which the error leaves when other code is given it. `shared`: another effect failed with the same object, so that
    its traceback tells nothing of either. `went_on`: its task has handled it, and may be cancelled later."""

    where: Place
    error: BaseException | None
    own: tuple[FrameType, ...]
    shared: bool = False
    went_on: bool = False

    def look(self, tasks: Iterable[Task[Any]]) -> bool:
        """Look whether its task, or the one that was given it, has handled it, and waits for something else. Returns
        whether there is nothing more to see."""
        task, error = self.where, self.error
        if isinstance(task, int) or task.done():
            if isinstance(task, Task):
                error = None if task.cancelled() else ended_in(task)
            if error is None or (first := self._beyond(error)) is None:
                return error is None
            if last_instruction(first).startswith("RETURN_"):
                return True
            owner = next((each for each in tasks if waits(each) and first in frames(each)), None)
            if owner is None:
                return True
            task = owner
        if waits(task) and not any(error in causes(each) for each in handled(task)):
            self.went_on, self.error, self.own = True, None, ()
        return self.went_on

    def was_left(self) -> bool:
        """Whether it surely was left behind: by code that has returned since."""
        error, task = self.error, self.where
        if isinstance(task, Task):
            if not task.done() or task.cancelled():
                return False
            if (error := ended_in(task)) is None:
                return True
        first = self._beyond(error)
        return first is not None and last_instruction(first).startswith("RETURN_")

    def was_given(self, kept: _Kept) -> bool:
        """Whether other code was given it, as far as can be said at the end."""
        error, task = self.error, self.where
        if self.went_on or self.was_left():
            return True
        if isinstance(task, Task):
            error = ended_in(task) if task.done() and not task.cancelled() else None
        if error is None or (first := self._beyond(error)) is None:
            return False
        if first in kept.running:
            return first in calling(currentframe())
        return last_instruction(first) not in AWAITS and not kept.has(error, self.own)

    def _beyond(self, error: BaseException | None) -> FrameType | None:
        """The frame that was given an error last, if it has left the task or thread."""
        path = [*passed(error)] if error is not None and not self.shared else []
        if not path or path[0] in self.own or not any(frame in self.own for frame in path) or _is_runner(path[0]):
            return None
        return path[0]


class _Kept:
    """What tasks were given, and have told nobody of: the errors, by id; the frames of those that ended in one; and the
    functions of those that were cancelled. `running` are the frames in which threads are."""

    def __init__(self, tasks: Iterable[Task[Any]]) -> None:
        self.running = running()
        self._errors, self._frames = dict[int, BaseException](), set[FrameType]()
        self._cancelled = set[object]()
        for task in tasks:
            if not task.done():
                self._add(handled(task))
            elif task.cancelled():
                self._cancelled.add(code_of(task))
            elif (error := _unseen(task)) is not None:
                self._add(causes(error))
                self._frames.update(islice(passed(error), 1))

    def has(self, error: BaseException, own: Collection[FrameType]) -> bool:
        """Whether one of these was given an error that has left its `own` frames."""
        path = [*takewhile(lambda frame: frame not in own, passed(error))]
        codes = {frame.f_code for frame in path}
        return id(error) in self._errors or not self._frames.isdisjoint(path) or bool(self._cancelled & codes)

    def _add(self, errors: Iterable[BaseException]) -> None:
        self._errors.update((id(error), error) for error in errors)


class Told:
    """The errors of an attempt's effects, by key. `known` are keys of those of which its code was told before."""

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = set(known)
        self._raised: dict[str, _Raised] = {}
        self._tasks: set[Task[Any]] = set()
        self._seen = 0.0  # when, by the loop's clock

    def forget(self, key: str) -> None:
        """An effect is called again."""
        self._known.discard(key)
        self._raised.pop(key, None)

    def note(self, key: str, error: Exception, home: Place | None) -> None:
        """An effect's error passes through here. `home` is where the agent's function runs."""
        try:
            self._note(key, error, home)
        except Exception:  # so that the agent gets its own error. This one counts as unknown then
            _log.debug("whether the error of effect %r is caught can't be told", key, exc_info=True)

    def _note(self, key: str, error: Exception, home: Place | None) -> None:
        where = place()
        alike = [each for each in self._raised.values() if each.error is error]
        for each in alike:
            each.shared = True
        if where == home:
            self._known.add(key)
            return
        own = calling(currentframe()) if isinstance(where, int) else islice(frames(where), 1)
        self._raised[key] = raised = _Raised(where, error, tuple(own), bool(alike))
        if (many := len(self._raised)) >= _MANY and not many & (many - 1):
            self._leave()
        loops = [each.get_loop() for each in (where, home) if isinstance(each, Task)]
        for loop in loops[:1]:
            self._see(loop)
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(self._look, raised, 0)

    def _look(self, raised: _Raised, times: int) -> None:
        """Look whether an error was handled, now and later."""
        try:
            if times >= _LOOKS or raised not in self._raised.values() or raised.look(self._tasks):
                return
            loop = get_running_loop()
            if loop.time() - self._seen > _SOON:  # some may wait for it that were made since
                self._drop()
                self._see(loop)
        except Exception:  # of a coroutine that is no usual one, say: it counts as unknown then
            _log.debug("whether an error of an effect is caught can't be told", exc_info=True)
            return
        pause = min(_SOON * 1.5 ** (times - _TURNS), _LATER) if times >= _TURNS else 0
        loop.call_later(pause, self._look, raised, times + 1)

    def _drop(self) -> None:
        """Keep no tasks that tell nothing any more, and what they returned."""
        self._tasks = {task for task in self._tasks if not task.done() or task.cancelled() or _unseen(task) is not None}

    def _see(self, loop: AbstractEventLoop) -> None:
        """Take in which tasks there are."""
        self._seen = loop.time()
        with suppress(RuntimeError):  # they are another thread's, which makes too many
            self._tasks.update(each for each in all_tasks(loop) if is_alongside(each))

    def known(self, home: Place | None) -> frozenset[str]:
        """The keys of those of whose error the agent's code was told, as far as can be said here and now."""
        try:
            return frozenset(self._known | self._given(home))
        except Exception:  # of a task's coroutine that is no usual one, say
            _log.debug("whether errors of effects were caught can't be told", exc_info=True)
            return frozenset(self._known)

    def _given(self, home: Place | None) -> set[str]:
        here = place()
        kept = _Kept([task for task in self._tasks if task is not home and task is not here])
        raised = list(self._raised.items())
        by_this = {key for key, each in raised if isinstance(here, Task) and each.where is here}
        return by_this | {key for key, each in raised if each.was_given(kept)}

    def _leave(self) -> None:
        """Keep neither errors nor frames of those that were left behind, nor what tasks returned."""
        for key in [key for key, raised in list(self._raised.items()) if raised.was_left()]:
            self._known.add(key)
            self._raised.pop(key, None)
        self._drop()


def _unseen(task: Task[Any]) -> BaseException | None:
    """The error in which a task ended, if nobody was given it."""
    if (error := ended_in(task)) is None:
        return None
    first, code = next(passed(error), None), code_of(task)
    return error if first is None or code is None or first.f_code is code or _is_runner(first) else None


def _is_runner(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _RUNNERS

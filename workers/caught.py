"""Caught: whether an agent's code was given the error of an effect, and went on.

An error in the function's own task or thread is one that it was given. One in a task or thread beside it may have
stayed there: then the job would end without a word of what may have happened. Python says where an error was raised
last: its traceback begins with the frame that caught it, or with the first one of the task or thread that it ended. A
frame keeps its last instruction, which tells whether it returned. And a coroutine refers to the error that it handles,
until it has done so.
"""

from __future__ import annotations

import logging
from asyncio import Task, all_tasks
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from inspect import currentframe
from itertools import islice
from types import FrameType
from typing import Any

from .stacks import calling, causes, ended_in, frames, handled, last_instruction, passed, waits
from .threads import Place, is_alongside, place

# Errors of which it is not known whether they were caught, before that is looked at: at twice as many the next time.
_MANY = 8
# How often a task that handles an error is looked at in its loop's next turns. Then after so many seconds, at first and
# at most.
_TURNS, _SOON, _LATER = 20, 0.001, 1.0
# Whose code is given an error that ends a callback, a thread, or a task.
_RUNNERS = frozenset({"asyncio", "concurrent", "threading", "anyio", "uvloop"})
_log = logging.getLogger("batonpass.worker")


@dataclass(slots=True)
class _Raised:
    """An error that passed through here, in a task or thread beside the agent's own. `own` are frames of that one,
    which the error leaves when other code is given it. `shared`: another effect failed with the same object, so that
    its traceback tells nothing of either. `went_on`: its task has handled it, and may be cancelled later."""

    where: Place
    error: BaseException | None
    own: tuple[FrameType, ...]
    shared: bool = False
    went_on: bool = False

    def look(self, times: int = 0) -> None:
        """Look whether its task has gone on, now and later. `times`: how often that was done."""
        task = self.where
        if not isinstance(task, Task) or not waits(task):
            return
        if any(each is self.error for each in handled(task)):
            pause = min(_SOON * 1.5 ** (times - _TURNS), _LATER) if times >= _TURNS else 0
            task.get_loop().call_later(pause, self.look, times + 1)
        else:
            self.went_on, self.error, self.own = True, None, ()

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
        if isinstance(task, Task):
            if not task.done() or task.cancelled():
                return self.went_on
            error = ended_in(task)
        if self.was_left():
            return True
        if error is None or (first := self._beyond(error)) is None:
            return False
        if first.f_back is not None:  # it runs
            return first in calling(currentframe())
        return not _is_end(first) and id(error) not in kept.errors and kept.frames.isdisjoint(passed(error))

    def _beyond(self, error: BaseException | None) -> FrameType | None:
        """The frame that was given an error last, if it has left the task or thread."""
        path = [*passed(error)] if error is not None and not self.shared else []
        if not path or path[0] in self.own or not any(frame in self.own for frame in path) or _is_runner(path[0]):
            return None
        return path[0]


class _Kept:
    """What tasks were given, and have told nobody of: the errors, by id, and the frames of those that ended in one."""

    def __init__(self, tasks: Iterable[Task[Any]]) -> None:
        self.errors, self.frames = dict[int, BaseException](), set[FrameType]()
        for task in tasks:
            if not task.done():
                self._add(handled(task))
            elif (error := _unseen(task)) is not None:
                self._add(causes(error))
                self.frames.update(islice(passed(error), 1))

    def _add(self, errors: Iterable[BaseException]) -> None:
        self.errors.update((id(error), error) for error in errors)


class Told:
    """The errors of an attempt's effects, by key. `known` are keys of those of which its code was told before."""

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = set(known)
        self._raised: dict[str, _Raised] = {}
        self._tasks: set[Task[Any]] = set()

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
        with suppress(RuntimeError):  # of another thread's loop: too busy, or closed
            if isinstance(where, Task):
                loops[0].call_soon(raised.look)
            self._tasks.update(each for each in (all_tasks(loops[0]) if loops else ()) if is_alongside(each))

    def known(self, home: Place | None) -> frozenset[str]:
        """The keys of those of whose error the agent's code was told, as far as can be said here and now."""
        here = place()
        kept = _Kept([task for task in self._tasks if task is not home and task is not here])
        given = {
            key
            for key, raised in list(self._raised.items())
            if (isinstance(here, Task) and raised.where is here) or raised.was_given(kept)
        }
        return frozenset(self._known | given)

    def _leave(self) -> None:
        """Keep neither errors nor frames of those that were left behind, nor what tasks returned."""
        for key in [key for key, raised in list(self._raised.items()) if raised.was_left()]:
            self._known.add(key)
            self._raised.pop(key, None)
        self._tasks = {task for task in self._tasks if not task.done() or _unseen(task) is not None}


def _unseen(task: Task[Any]) -> BaseException | None:
    """The error in which a task ended, if nobody was given it."""
    if (error := ended_in(task)) is None:
        return None
    first, code = next(passed(error), None), getattr(task.get_coro(), "cr_code", None)
    return error if first is None or code is None or first.f_code is code or _is_runner(first) else None


def _is_runner(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _RUNNERS


def _is_end(frame: FrameType) -> bool:
    """Whether an error ended a coroutine that no other one waited for: what waits for one is given its error."""
    return last_instruction(frame) in ("SEND", "CLEANUP_THROW")

"""Caught: whether an agent's code was given the error of an effect, and went on.

An error in the function's own task or thread is one that it was given. One in a task or thread beside it may have
stayed there: then the job would end without a word of what may have happened.
"""

from __future__ import annotations

import logging
import time
from asyncio import AbstractEventLoop, Task, TimerHandle, all_tasks, get_running_loop
from collections.abc import Collection
from contextlib import suppress
from inspect import currentframe
from itertools import islice
from types import FrameType
from typing import Any

from .raised import Held, Raised, unseen
from .stacks import calling, frames
from .threads import Place, is_alongside, place

# Errors of which it is not known whether they were caught, before that is looked at: at twice as many the next time.
_MANY = 8
# How often it is looked in the loop's next turns whether errors are still handled; after so many seconds then, at first
# and at most; how often in all; and which part of the time that may take, if there are many tasks.
_TURNS, _SOON, _LATER, _LOOKS, _PART = 20, 0.001, 1.0, 60, 0.1
_log = logging.getLogger("batonpass.worker")


class _Watch:
    """The errors of which one event loop's tasks are looked at."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = loop
        self.errors: list[Raised] = []
        self.times = 0
        self.timer: TimerHandle | None = None  # until the next look
        self.rests = 0.0  # until when, by the loop's clock


class Told:
    """The errors of an attempt's effects, by key. `known` are keys of those of which its code was told before."""

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = set(known)
        self._raised: dict[str, Raised] = {}
        self._tasks: set[Task[Any]] = set()
        self._watches: dict[AbstractEventLoop, _Watch] = {}

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
        self._raised[key] = raised = Raised(where, error, tuple(own))
        raised.shared = bool(alike)
        if (many := len(self._raised)) >= _MANY and not many & (many - 1):
            self._leave()
        loops = [each.get_loop() for each in (where, home) if isinstance(each, Task)]
        for loop in loops[:1]:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(self._watch, raised)

    def _watch(self, raised: Raised) -> None:
        """Look whether an error was handled, now and later."""
        loop = get_running_loop()
        watch = self._watches.setdefault(loop, _Watch(loop))
        watch.errors.append(raised)
        watch.times = 0
        if watch.timer is None or watch.rests < loop.time():
            self._look(watch)

    def _look(self, watch: _Watch) -> None:
        began = time.thread_time()
        if watch.timer is not None:
            watch.timer.cancel()
        self._see(watch.loop)
        held = Held(self._tasks)
        watch.errors = [each for each in watch.errors if not _is_over(each, held)]
        if not watch.errors or watch.times >= _LOOKS:
            del self._watches[watch.loop]
            return
        pause = min(_SOON * 1.5 ** (watch.times - _TURNS), _LATER) if watch.times >= _TURNS else 0
        watch.times += 1
        took = time.thread_time() - began
        rest = took / _PART if took > _SOON else 0
        watch.rests = watch.loop.time() + rest
        watch.timer = watch.loop.call_later(max(pause, rest), self._look, watch)

    def _see(self, loop: AbstractEventLoop) -> None:
        """Take in which tasks there are, and keep none that tell nothing any more, with what they returned."""
        with suppress(RuntimeError):  # they are another thread's, which makes too many
            self._tasks.update(each for each in all_tasks(loop) if is_alongside(each))
        self._tasks = {task for task in self._tasks if not task.done() or unseen(task) is not None}

    def known(self, home: Place | None) -> frozenset[str]:
        """The keys of those of whose error the agent's code was told, as far as can be said here and now."""
        try:
            return frozenset(self._known | self._given(home))
        except Exception:  # of a task's coroutine that is no usual one, say
            _log.debug("whether errors of effects were caught can't be told", exc_info=True)
            return frozenset(self._known)

    def _given(self, home: Place | None) -> set[str]:
        if not self._raised:
            return set()
        here = place()
        held = Held([task for task in self._tasks if task is not home and task is not here])
        code: set[FrameType] = {*calling(currentframe()), *(frames(home) if isinstance(home, Task) else ())}
        raised = list(self._raised.items())
        return {
            key for key, each in raised if (isinstance(here, Task) and each.where is here) or each.was_given(held, code)
        }

    def _leave(self) -> None:
        """Keep neither errors nor frames of those that were left behind."""
        for key in [key for key, raised in list(self._raised.items()) if raised.was_left()]:
            self._known.add(key)
            self._raised.pop(key, None)


def _is_over(raised: Raised, held: Held) -> bool:
    """Whether there is nothing more to see of an error. (If its task's coroutine is no usual one, it counts as
    unknown.)"""
    try:
        return raised.look(held)
    except Exception:
        _log.debug("whether an error of an effect is caught can't be told", exc_info=True)
        return True

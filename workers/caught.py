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

from .raised import Held, Raised, Seen, unseen
from .stacks import calling, frames
from .threads import Place, is_alongside, place

# Errors of which it is not known whether they were caught, before that is looked at: at twice as many the next time.
_MANY = 8
# In how many of the loop's next turns it is looked whether an error is still handled; after so many seconds then, at
# first and at most; how often in all; and which part of the time that may take, if there are more than a few tasks.
_TURNS, _SOON, _LATER, _LOOKS, _PART, _FEW = 20, 0.001, 1.0, 40, 0.1, 100
_log = logging.getLogger("batonpass.worker")


class _Watch:
    """What is looked at in one event loop: its tasks, and the errors that some may still handle."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = loop
        self.tasks: set[Task[Any]] = set()
        self.seen = Seen()
        self.errors: set[Raised] = set()
        self.times = 0
        self.timer: TimerHandle | None = None  # until all tasks are looked at again
        self.rests = 0.0  # until when they are not, by the loop's clock

    def see(self) -> Held:
        """Take in which tasks there are, and keep none that tell nothing any more, with what they returned."""
        with suppress(RuntimeError):  # they are another thread's, which makes too many
            self.tasks |= {each for each in all_tasks(self.loop) if is_alongside(each)}
        self.tasks = {task for task in self.tasks if not task.done() or unseen(task) is not None}
        held = Held(self.tasks)
        self.seen = held.seen
        return held


class Told:
    """The errors of an attempt's effects, by key. `known` are keys of those of which its code was told before."""

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = set(known)
        self._raised: dict[str, Raised] = {}
        self._watches: dict[AbstractEventLoop, _Watch] = {}
        self._over = False

    def forget(self, key: str) -> None:
        """An effect is called again."""
        self._known.discard(key)
        if (raised := self._raised.pop(key, None)) is not None:
            for watch in list(self._watches.values()):
                watch.errors.discard(raised)

    def end(self, known: Collection[str] = ()) -> None:
        """The attempt has ended: nothing more is looked at, and only the keys of those that are known are kept."""
        self._over = True
        self._known = set(known)
        self._raised.clear()
        self._watches.clear()

    def note(self, key: str, error: Exception, home: Place | None) -> None:
        """An effect's error passes through here. `home` is where the agent's function runs."""
        try:
            self._note(key, error, home)
        except Exception:  # so that the agent gets its own error. This one counts as unknown then
            _log.debug("whether the error of effect %r is caught can't be told", key, exc_info=True)

    def _note(self, key: str, error: Exception, home: Place | None) -> None:
        if self._over:  # its code runs on in a thread
            return
        where = place()
        alike = [each for each in list(self._raised.values()) if each.error is error]  # a copy: threads add theirs
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
        watch.errors.add(raised)
        watch.times = 0
        self._look_again(watch)
        self._glance(watch, raised, 0)

    def _glance(self, watch: _Watch, raised: Raised, times: int) -> None:
        """Look at one error, among the tasks that were seen before: that takes no time."""
        if self._over or raised not in watch.errors:
            return
        over = _is_over(raised, watch.seen)
        if over and not raised.is_out_of_sight:
            watch.errors.discard(raised)
            return
        if over:  # it was given to a task that was not seen, perhaps
            self._look_again(watch)
        if times < _TURNS:
            watch.loop.call_soon(self._glance, watch, raised, times + 1)

    def _look_again(self, watch: _Watch) -> None:
        """Look at all tasks, now or as soon as may be."""
        if watch.rests <= watch.loop.time():
            self._look(watch)
        elif watch.timer is None:
            watch.timer = watch.loop.call_at(watch.rests, self._look, watch)

    def _look(self, watch: _Watch) -> None:
        if watch.timer is not None:
            watch.timer.cancel()
            watch.timer = None
        if self._over:
            return
        began = time.thread_time()
        held = watch.see()
        watch.errors = {each for each in list(watch.errors) if not _is_over(each, held)}
        took = time.thread_time() - began
        rest = took / _PART if len(watch.tasks) > _FEW else 0
        watch.rests = watch.loop.time() + rest
        if watch.errors and watch.times < _LOOKS:
            pause = max(rest, min(_SOON * 1.5**watch.times, _LATER))
            watch.timer = watch.loop.call_later(pause, self._look, watch)
        watch.times += 1

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
        tasks = [task for watch in list(self._watches.values()) for task in list(watch.tasks)]
        held = Held([task for task in tasks if task is not home and task is not here])
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


def _is_over(raised: Raised, held: Held | Seen) -> bool:
    """Whether there is nothing more to see of an error. (If its task's coroutine is no usual one, it counts as
    unknown.)"""
    try:
        return raised.look(held)
    except Exception:
        _log.debug("whether an error of an effect is caught can't be told", exc_info=True)
        return True

"""Caught: whether an agent's code was given the error of an effect, and went on.

An error in the function's own task or thread is one that it was given. One in a task or thread beside it may have
stayed there: then the job would end without a word of what may have happened. Python says where an error was raised
last: its traceback begins with the frame that caught it, or with the first one of the task or thread that it ended. And
a coroutine refers to the error that it handles, until it has done so.
"""

from __future__ import annotations

from asyncio import CancelledError, Task, all_tasks, get_running_loop
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from gc import get_referents
from inspect import currentframe
from itertools import islice
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType, TracebackType
from typing import Any, TypeAlias

from .threads import Place, is_alongside, place

_RUNS = (CoroutineType, AsyncGeneratorType, GeneratorType)
_AWAITS = ("cr_await", "ag_await", "gi_yieldfrom")
_FRAMES = ("cr_frame", "ag_frame", "gi_frame")
Endings: TypeAlias = "dict[Task[Any], CancelledError]"


@dataclass(slots=True)
class Raised:
    """An effect's error.

    `own` are frames of its task or thread, which it leaves when other code is given it. `beside` are the other tasks
    that there were: one may wait for this one, be given the error, and end in it, too. `shared`: another effect of
    this attempt failed with the same object, so that its traceback tells nothing of either. `handled`: its task went
    on, and may be cancelled later. `endings` are of tasks that were cancelled: a task tells of it only once.
    """

    where: Place | None
    error: BaseException | None = None
    own: tuple[FrameType, ...] = ()
    beside: tuple[Task[Any], ...] = ()
    shared: bool = False
    handled: bool = False
    endings: Endings = field(default_factory=dict[Task[Any], CancelledError])

    @classmethod
    def here(cls, home: Place | None, error: Exception, others: Iterable[Raised]) -> Raised:
        """One that passes through here. `home` is where the agent's function runs. `others` are of this attempt."""
        where = place()
        alike = [other for other in others if other.error is error]
        for other in alike:
            other.shared = True
        if where == home:
            return cls(where)
        own = _calling(currentframe()) if isinstance(where, int) else islice(_frames(where), 1)
        raised = cls(where, error, tuple(own), _beside(where, home), bool(alike))
        raised.endings = next((other.endings for other in others if other.error), raised.endings)
        if isinstance(where, Task):
            where.get_loop().call_soon(raised._look)
        return raised

    def is_known(self, home: Place | None) -> bool:
        """Whether the agent's code was given it, as far as can be said here and now."""
        return self.where == home or (isinstance(self.where, Task) and self.where is place()) or self.is_settled()

    def is_settled(self) -> bool:
        """Whether the agent's code was given it, so that nothing can change that."""
        error = self.error
        if isinstance(self.where, Task):
            if not self.where.done() or self.where.cancelled():
                return self.handled or (not self.where.done() and self._look()) or self._is_cut_off_later(self.where)
            if (error := self.where.exception()) is None:
                return True
        if self.shared or error is None or (frame := _caught_in(error)) is None or frame in self.own:
            return False
        return not any(_keeps(each, error, self.endings) for each in self.beside)

    def _look(self) -> bool:
        """Look whether its task has gone on."""
        task, error = self.where, self.error
        if isinstance(task, Task) and error is not None and _waits(task):
            self.handled = self.handled or not _handles(task, error)
        return self.handled

    def _is_cut_off_later(self, task: Task[Any]) -> bool:
        """Whether its task was cancelled when it had handled it. Who waited for that may have taken what tells."""
        ended_in = _cancelled(task, self.endings)
        if ended_in is None or self.error is None or self.error in _causes(ended_in):
            return False
        return any(frame in self.own for frame in _passed(ended_in.__traceback__))


def _beside(where: Place, home: Place | None) -> tuple[Task[Any], ...]:
    """The other tasks that there are."""
    loops = [each.get_loop() for each in (where, home) if isinstance(each, Task)]
    others = all_tasks(loops[0]) - {where, home} if loops else set[Task[Any]]()
    return tuple(each for each in others if is_alongside(each))


def _keeps(task: Task[Any], error: BaseException, endings: Endings) -> bool:
    """Whether a task was given an error, and has told nobody so far."""
    if not task.done():
        return not _waits(task) or _handles(task, error)
    ended_in = _cancelled(task, endings) if task.cancelled() else task.exception()
    if ended_in is None or error not in _causes(ended_in):
        return False
    last = _caught_in(ended_in)
    return task.cancelled() or (last is not None and last.f_code is getattr(task.get_coro(), "cr_code", None))


def _waits(task: Task[Any]) -> bool:
    """Whether a task surely stands still, and is not done."""
    try:
        ours = get_running_loop() is task.get_loop()
    except RuntimeError:  # none runs here
        ours = False
    return task is not place() and not task.done() and (ours or not task.get_loop().is_running())


def _cancelled(task: Task[Any], endings: Endings) -> CancelledError | None:
    if task.cancelled() and task not in endings:
        try:
            task.exception()
        except CancelledError as error:
            endings[task] = error
    return endings.get(task)


def _caught_in(error: BaseException) -> FrameType | None:
    return error.__traceback__.tb_frame if error.__traceback__ else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _passed(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _calling(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _handles(task: Task[Any], error: BaseException) -> bool:
    return any(each is error for coroutine in _stack(task) for each in get_referents(coroutine))


def _frames(task: Task[Any]) -> Iterator[FrameType]:
    for each in _stack(task):
        frames = (getattr(each, name, None) for name in _FRAMES)
        yield from (frame for frame in frames if frame is not None)


def _stack(task: Task[Any]) -> Iterator[object]:
    """The coroutines and generators in which a task is, the outermost first."""
    waits: object = task.get_coro()
    while waits is not None:
        yield waits
        awaits = (getattr(waits, name) for name in _AWAITS if hasattr(waits, name))
        waits = next(awaits, None) if isinstance(waits, _RUNS) else _wrapped(waits)


def _wrapped(waits: object) -> object:
    """The coroutine or generator in an awaitable of Python's own that hides it."""
    referents: list[object] = get_referents(waits)
    return next((each for each in referents if issubclass(type(each), _RUNS)), None)

"""@checkpoint: methods that save the object's state after a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast, overload

from ...contracts.errors import BadSetup
from .attached import Attachment, attachment
from .checkpointable import Checkpointable
from .keeper import AsyncKeeper, save_to

P = ParamSpec("P")
R = TypeVar("R")


@overload
def checkpoint(fn: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def checkpoint(*, every: int = 1) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def checkpoint(fn: Any = None, /, *, every: int = 1) -> Any:
    """Save the object's state after every `every`-th successful call of the method: the 5th, 10th, 15th ...

    The method belongs to a `Checkpointable` that is attached to a keeper (`attach` or `resume`). The step's name is the
    method's name. Calls are counted per object, from when it was attached. Methods may be `async`, on either kind of
    keeper, and may run in several threads or tasks at once. Saves then run one at a time, but you must lock what the
    methods themselves change.

    If a save fails, the method raises although its work is done. The next call tries to save again.
    """
    if fn is not None:
        return _decorated(fn, every)
    return partial(_decorated, every=every)


def _decorated(fn: Any, every: int) -> Any:
    name = getattr(fn, "__qualname__", repr(fn))
    if type(every) is not int or every < 1:
        raise BadSetup(f"@checkpoint(every={every!r}) of {name}: every= is 1 or more")
    if isinstance(fn, staticmethod | classmethod | property):
        raise BadSetup(f"@checkpoint is for methods of objects, {name} is a {type(cast('Any', fn)).__name__}")
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise BadSetup(f"@checkpoint can't tell when the generator {name} has ended: decorate what it calls")
    return _awaited(fn, every) if inspect.iscoroutinefunction(fn) else _called(fn, every)


def _called(fn: Callable[..., R], every: int) -> Callable[..., R]:
    @wraps(fn)
    def method(self: Checkpointable, /, *args: Any, **kwargs: Any) -> R:
        at = _attachment(self, fn)
        keeper = at.keeper
        if isinstance(keeper, AsyncKeeper):
            raise BadSetup(f"{fn.__qualname__} is not async, but its object is attached to an AsyncKeeper: use Keeper")
        result = fn(self, *args, **kwargs)
        with at.lock:
            turn = at.turn(fn.__qualname__)
            if turn.count(every):
                keeper.save(self, at.key, step=fn.__name__)
                turn.due = False
        return result

    return method


def _awaited(fn: Any, every: int) -> Any:
    @wraps(fn)
    async def method(self: Checkpointable, /, *args: Any, **kwargs: Any) -> Any:
        at = _attachment(self, fn)
        result = await fn(self, *args, **kwargs)
        async with at.alock:
            turn = at.turn(fn.__qualname__)
            if turn.count(every):
                await save_to(at.keeper, self, at.key, fn.__name__)
                turn.due = False
        return result

    return method


def _attachment(obj: object, fn: Any) -> Attachment:
    if not isinstance(obj, Checkpointable):
        raise BadSetup(
            f"{fn.__qualname__} is decorated with @checkpoint, but {type(obj).__name__} is not a Checkpointable"
        )
    found = attachment(obj)
    if found is None:
        raise BadSetup(
            f"{fn.__qualname__} saves with @checkpoint, but its object is not attached to a keeper: call "
            "keeper.resume(obj, key) or keeper.attach(obj, key) first"
        )
    return found

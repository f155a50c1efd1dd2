"""Calls: what the coordinator's methods do, written once for sync and async.

A call is a generator that yields commands and is sent their answers. `drive` runs it on a store, `adrive` does so in
async code.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

from ..commands import Command
from ..store import Store

T = TypeVar("T")
Call = Generator[Command[Any], Any, T]


def drive(store: Store, call: Call[T]) -> T:
    """Run a call to its result."""
    return follow(call, store.call)


def adrive(store: Store, call: Call[T]) -> Coroutine[Any, Any, T]:
    """Run a call to its result, in async code."""
    return afollow(call, store.acall)


def follow(asking: Generator[Any, Any, T], do: Callable[[Any], Any]) -> T:
    """Run a generator to its result: do what it asks for, send it what that returns, and throw in what that raises."""
    try:
        asked = next(asking)
        while True:
            try:
                answer = do(asked)
            except BaseException as error:
                asked = asking.throw(error)
            else:
                asked = asking.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


async def afollow(asking: Generator[Any, Any, T], do: Callable[[Any], Awaitable[Any]]) -> T:
    """`follow` in async code."""
    try:
        asked = next(asking)
        while True:
            try:
                answer = await do(asked)
            except BaseException as error:
                asked = asking.throw(error)
            else:
                asked = asking.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result

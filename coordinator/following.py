"""Following: runs generators that ask for something and are sent the answer, so that sync and async code share them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")


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

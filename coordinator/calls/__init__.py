"""Calls: what the coordinator's methods do, written once for sync and async.

A call is a generator that yields commands and is sent their answers; `drive` runs it on a store, `adrive` in async
code.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from ..commands import Command
from ..store import Store

T = TypeVar("T")
Call = Generator[Command[Any], Any, T]


def drive(store: Store, call: Call[T]) -> T:
    """Run a call to its result."""
    try:
        command = next(call)
        while True:
            try:
                answer = store.call(command)
            except Exception as error:
                command = call.throw(error)
            else:
                command = call.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


async def adrive(store: Store, call: Call[T]) -> T:
    """Run a call to its result, in async code."""
    try:
        command = next(call)
        while True:
            try:
                answer = await store.acall(command)
            except Exception as error:
                command = call.throw(error)
            else:
                command = call.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result

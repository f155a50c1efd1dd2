"""Calls: what the coordinator's methods do, written once for sync and async.

A call is a generator that yields commands and is sent their answers. `drive` runs it on a store, `adrive` does so in
async code.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

from ..commands import Command
from ..following import afollow, follow
from ..store import Store

T = TypeVar("T")
Call = Generator[Command[Any], Any, T]


def drive(store: Store, call: Call[T]) -> T:
    """Run a call to its result."""
    return follow(call, store.call)


def adrive(store: Store, call: Call[T]) -> Coroutine[Any, Any, T]:
    """Run a call to its result, in async code."""
    return afollow(call, store.acall)

"""A block for tests of either kind: `async with` in async code, `with` in sync code."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Generic, TypeVar

A = TypeVar("A")
S = TypeVar("S")


class Either(Generic[A, S]):
    """What a block gives: with `async with` the one for async code, with `with` the one for sync code."""

    def __init__(self, for_async: AbstractAsyncContextManager[A], for_sync: AbstractContextManager[S]) -> None:
        self._async = for_async
        self._sync = for_sync

    async def __aenter__(self) -> A:
        return await self._async.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._async.__aexit__(kind, error, trace)

    def __enter__(self) -> S:
        return self._sync.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._sync.__exit__(kind, error, trace)

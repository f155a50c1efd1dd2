"""A memory, asked from sync code or from async code."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from batonpass.adapters.langgraph import BatonpassStore


class Memory:
    """A store from one side: the async methods have an "a" in front."""

    def __init__(self, store: BatonpassStore, side: str) -> None:
        self.store = store
        self._runner = asyncio.Runner() if side == "async" else None

    def __getattr__(self, name: str) -> Any:
        runner = self._runner
        if runner is None:
            return getattr(self.store, name)
        asked = getattr(self.store, f"a{name}")
        return lambda *args, **more: runner.run(asked(*args, **more))

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()  # by __getattr__: the side's own
        if self._runner:
            self._runner.close()


def told(items: Any) -> list[tuple[tuple[str, ...], str, Any]]:
    """Items without times and scores."""
    return [(item.namespace, item.key, item.value) for item in items]

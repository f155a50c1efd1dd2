"""Opening: lets you use a saver or a store directly, or with `with` and `async with`."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TypeVar

from ...coordinator.calls import Call, adrive, drive
from .handles import Handles

T = TypeVar("T")


class Opening:
    """Opens on first use, and closes what was opened."""

    __slots__ = ()

    @property
    def _handles(self) -> Handles:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._handles.store()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self._handles.astore()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def close(self) -> None:
        """Close what sync code opened. It can be used again."""
        self._handles.close()

    async def aclose(self) -> None:
        """Close what this event loop and sync code opened."""
        await self._handles.aclose()

    def _drive(self, call: Call[T]) -> T:
        return drive(self._handles.store(), call)

    async def _adrive(self, call: Call[T]) -> T:
        return await adrive(await self._handles.astore(), call)

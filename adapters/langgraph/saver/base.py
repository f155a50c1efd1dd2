"""SaverBase: a saver's calls on its store, from sync and from async code, and what it does with whole threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from ....contracts.errors import BadSetup
from ....coordinator.commands import Fence
from ..configs import thread_of
from ..handles import Handles, Opening
from ..serde.wrapper import Wrapper
from .checkpoints import Checkpoints
from .owning import fence_of
from .threads import Threads


class SaverBase(Opening, BaseCheckpointSaver[str]):
    """The base of a saver and its clones. All of them use the same `shared`."""

    def __init__(self, shared: Checkpoints, wrapper: Wrapper) -> None:
        super().__init__(serde=wrapper.serde)
        self._shared = shared
        self._wrapper = wrapper

    @property
    def _handles(self) -> Handles:
        return self._shared.handles

    # Whole threads

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything that is kept of a thread."""
        self._drive(self._threads.delete(thread_of(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread` for async code."""
        await self._adrive(self._threads.delete(thread_of(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what runs put, except what other runs' delta channels are made of.

        If a deleted run had answered interrupts of another run, these are asked again, and so are those of the same
        superstep that a third run had answered. If it had continued after another run's breakpoint, error or kill, the
        nodes of that superstep run again (after an error, those that had failed).
        """
        for run_id in several(run_ids, "run_ids"):
            self._drive(self._threads.delete_run(self._current_wrapper, str(run_id)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs` for async code."""
        for run_id in several(run_ids, "run_ids"):
            await self._adrive(self._threads.delete_run(self._current_wrapper, str(run_id)))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread's history to another thread, which must not have one."""
        self._drive(self._threads.copy(thread_of(source_thread_id), thread_of(target_thread_id)))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread` for async code."""
        await self._adrive(self._threads.copy(thread_of(source_thread_id), thread_of(target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Of each thread, keep only the latest checkpoint of each namespace, the checkpoints that have a name, and what
        the delta channels of these are made of. With the strategy "delete", keep nothing."""
        for thread in [thread_of(each) for each in several(thread_ids, "thread_ids")]:
            self._drive(self._threads.prune(thread, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune` for async code."""
        for thread in [thread_of(each) for each in several(thread_ids, "thread_ids")]:
            await self._adrive(self._threads.prune(thread, strategy))

    @property
    def _threads(self) -> Threads:
        return Threads(self._shared)

    @property
    def _current_wrapper(self) -> Wrapper:
        """The wrapper for the serializer that is set. (LangGraph sets another one on a clone.)"""
        if self.serde is not self._wrapper.serde:
            self._wrapper = Wrapper(serde=self.serde)
        return self._wrapper

    def _fence(self, thread: str, names: Mapping[str, Any]) -> Fence | None:
        return fence_of(self._shared, thread, names)


def several(given: object, what: str) -> list[object]:
    """A caller's list of ids. `BadSetup` for a single id, because its letters would be taken for ids."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BadSetup(f"{what}={given!r}, but it must be a list: for a single id give [{given!r}]")
    return list(cast("Iterable[object]", given))

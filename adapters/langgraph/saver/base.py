"""Driver: a saver's calls on its store, from sync and from async code, and what it does with whole threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from ....contracts.errors import BadSetup
from ....coordinator.calls.inputs import text
from ....coordinator.commands import Fence
from ..handles import Handles, Opening
from ..serde.carrier import Carrier
from .checkpoints import Checkpointing
from .owning import fence_of
from .threads import Threads

_FORM = 'a config like {"configurable": {"thread_id": "any name"}}'


class Driver(Opening, BaseCheckpointSaver[str]):
    """The base of a saver and its clones. All of them use the same `shared`."""

    def __init__(self, shared: Checkpointing, carrier: Carrier) -> None:
        super().__init__(serde=carrier.serde)
        self._shared = shared
        self._carrier = carrier

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
            self._drive(self._threads.delete_run(self._carrying, str(run_id)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs` for async code."""
        for run_id in several(run_ids, "run_ids"):
            await self._adrive(self._threads.delete_run(self._carrying, str(run_id)))

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
    def _carrying(self) -> Carrier:
        """The carrier for the serializer that is set. (LangGraph sets another one on a clone.)"""
        if self.serde is not self._carrier.serde:
            self._carrier = Carrier(serde=self.serde)
        return self._carrier

    def _fence(self, thread: str, names: Mapping[str, Any]) -> Fence | None:
        return fence_of(self._shared, thread, names)


def names_of(config: object) -> Mapping[str, Any]:
    """The names of thread, namespace and checkpoint in a config. `BadSetup` if it is not a config."""
    # Nearly all configs are dicts, and to ask an abstract class takes longer than all the rest.
    is_config = type(config) is dict or isinstance(config, Mapping)
    names: object = cast("Mapping[str, Any]", config).get("configurable", {}) if is_config else None
    if type(names) is not dict and not isinstance(names, Mapping):
        raise BadSetup(f"what was given as a config does not name a thread: give {_FORM}")
    return cast("Mapping[str, Any]", names)


def thread_of(thread_id: object) -> str:
    """A thread's name. `BadSetup` if there is none."""
    name = "" if thread_id is None else str(thread_id)
    if not name:
        raise BadSetup(f"a checkpointer needs a thread: give the graph {_FORM}")
    return text(name, "thread_id")


def several(given: object, what: str) -> list[object]:
    """A caller's list of ids. `BadSetup` for a single id, because its letters would be taken for ids."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BadSetup(f"{what}={given!r}, but it must be a list: for a single id give [{given!r}]")
    return list(cast("Iterable[object]", given))

"""JobSaver: the checkpointer of a graph that runs under a job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from ....contracts.errors import Fenced
from ....coordinator.session import Session
from ....coordinator.shielded import shielded
from ..configs import config_of
from ..internals import CHECKPOINT_MAP, RESUMING
from ..serde.values import Values
from .progress import Progress
from .writes import Flight, place_of

# How often the loop must turn until the put that follows a superstep's last write has begun.
_TURNS = 2
# How long a thread waits for an earlier write, in seconds. If async code runs a graph with `invoke`, that blocks the
# loop in which the write would be done, and then it is better to continue than to hang.
_PATIENCE = 2.0


class JobSaver(BaseCheckpointSaver[int]):
    """Writes a hop's checkpoints and pending writes through its session, and reads them from memory.

    `on_failure` is called, in any thread, when a write failed: the graph must stop then, although LangGraph would only
    notice at the next superstep. `failure` is the first error. After `close` nothing more is written.
    """

    def __init__(self, session: Session, progress: Progress, values: Values) -> None:
        super().__init__(serde=values.serde)
        self.progress = progress
        self.failure: Exception | None = None
        self.on_failure: Callable[[], object] = lambda: None
        self._session = session
        self._values = values
        self._closed = False

    def close(self) -> None:
        """End the run: a thread that still works on it can't write."""
        self._closed = True

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> JobSaver:
        """LangGraph calls this with more types that a graph declares. They may be restored, too."""
        self._values.allow(extra_allowlist)
        return self

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        with self._writing():
            self._carry(self.progress.put(config, checkpoint, metadata))
        return config_of(*place_of(config)[0], checkpoint["id"])

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        with self._writing():
            await self._acarry(self.progress.put(config, checkpoint, metadata))
        return config_of(*place_of(config)[0], checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        with self._writing():
            noted = self.progress.note(config, writes, task_id, task_path)
            if noted is None:
                return
            _wait(self.progress.ahead(noted))
            flight = self.progress.send(noted)
            if flight is not None:
                self._carry(flight)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Record what a task wrote, unless its superstep's checkpoint follows at once, which contains it."""
        with self._writing():
            noted = self.progress.note(config, writes, task_id, task_path)
            if noted is None:
                return
            await _await(self.progress.ahead(noted))
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            flight = self.progress.send(noted)
            if flight is not None:
                await self._acarry(flight)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = self.progress.read(config)
        if found is not None:
            _enter(config, found)
        return found

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        bound = (before or {}).get("configurable", {}).get("checkpoint_id")
        wanted = (filter or {}).items()
        found = [
            each
            for each in self.progress.read_all(config)
            if (bound is None or each.checkpoint["id"] < bound) and wanted <= each.metadata.items()
        ]
        yield from found[:limit]

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for each in self.list(config, filter=filter, before=before, limit=limit):
            yield each

    def _carry(self, flight: Flight) -> None:
        with self._flying(flight):
            _wait(flight.behind)
            if flight.snapshot is not None:
                self._session.save(flight.snapshot)
            elif flight.records:
                self._session.record(flight.records)

    async def _acarry(self, flight: Flight) -> None:
        with self._flying(flight):
            await _await(flight.behind)
            if flight.snapshot is not None:
                await self._session.asave(flight.snapshot)
            elif flight.records:
                await self._session.arecord(flight.records)

    @contextmanager
    def _flying(self, flight: Flight) -> Generator[None]:
        try:
            yield
        except BaseException as error:
            self.progress.fail(flight, error)
            raise
        self.progress.commit(flight)

    @contextmanager
    def _writing(self) -> Generator[None]:
        if self._closed:
            raise self.failure or Fenced("this run of the graph has ended: its writes don't count any more")
        try:
            yield
        except Exception as error:
            if self.failure is None:
                self.failure = error
                self.on_failure()
            raise


def _wait(earlier: Sequence[Future[None]]) -> None:
    for each in wait(earlier, timeout=_PATIENCE).done:
        each.result()


async def _await(earlier: Sequence[Future[None]]) -> None:
    for each in earlier:
        await shielded(asyncio.wrap_future(each))


def _enter(config: RunnableConfig, found: CheckpointTuple) -> None:
    """If this is a new visit to a part that keeps its state, say so in the config with which its loop asks for its
    checkpoint.

    When a graph is resumed, LangGraph resumes each part that runs first. A part that was visited in an earlier
    superstep has nothing to resume: none of its nodes would run, and its old result would be taken for the new one.
    """
    names = config.get("configurable", {})
    if names.get(RESUMING) and found.metadata.get("parents") != names.get(CHECKPOINT_MAP):
        names[RESUMING] = False

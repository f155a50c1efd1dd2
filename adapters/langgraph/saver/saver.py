"""BatonpassSaver: the checkpointer for LangGraph programs, without a job."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from copy import copy
from random import random
from typing import Any, Literal, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ....contracts.duration import Duration
from ....contracts.errors import BadSetup
from ....coordinator.calls import Call, adrive, drive
from ....coordinator.calls.inputs import bounded, milliseconds, text
from ....coordinator.coded.codec import Codec
from ....coordinator.coded.environment import store_at
from ....coordinator.parts.recent import Spot
from ....coordinator.store import Store
from ..configs import config_of, names_of, thread_of
from ..record.pending_writes import pack_writes
from ..serde.allowlist import types_of
from ..serde.wrapper import Wrapper
from .base import SaverBase
from .batching import Batch, Batching
from .checkpoints import BRANCHES, Checkpoints, begun_from
from .listing import Listing
from .owning import Owning, note_owner

T = TypeVar("T")
# How many turns of the loop a superstep's write waits for the put that follows it. Then both are one commit. (In
# threads, it is `Batching.moment`.)
_TURNS = 3
# How many turns it takes until a run's last puts have begun, if it was cancelled, or its stream is no longer read.
_LAST_TURNS = 6
# Seconds after which writes and reads stop waiting for puts that are ahead of them.
_PATIENCE = 5.0


class _Flight:
    """A put on its way, with the writes that it takes along (`batches`), and those that were stored on their own before
    (`alone`). With `soon`, the put does not wait for the disk. The writes that it takes along do."""

    __slots__ = ("_batching", "_ending", "_spot", "alone", "batches", "soon", "store")

    def __init__(self, batching: Batching, names: Mapping[str, Any], spot: Spot) -> None:
        parent = _parent(names)
        self.batches, self.alone = batching.take((*spot[:2], parent)) if parent else ([], [])
        self.soon = bool(self.batches) and _is_soon(names)
        self.store: Store | None = None
        self._batching = batching
        self._spot = spot
        self._ending = batching.begin(spot)

    def __enter__(self) -> _Flight:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        behind = self.store.behind() if self.soon and self.store else None
        self._batching.end(self._spot, self._ending, self.batches, error, behind)


class BatonpassSaver(SaverBase):
    """A LangGraph checkpointer on Redis, SQLite or memory: `compile(checkpointer=BatonpassSaver.from_url(url))`.

    Sync and async, from any number of threads, event loops and processes at once. There is nothing to set up or close:
    connections open on first use. A thread grows only by what is new in it.

    - What can't be restored as it was is refused when it is put (`Unserializable`). Only LangGraph's and LangChain's
      own types, types registered with `batonpass.state_type`, and those in `allow` (classes, state schemas or graphs)
      are restored. Tuples and sets keep their type, unless they hold what only LangGraph's serializer can carry: then
      tuples become lists. As with LangGraph's own savers, subclasses of built-in types (defaultdict, OrderedDict,
      Counter) come back as these, an exception as its text, and half of a surrogate pair as "?". An object inside a
      message, such as a tool's artifact, comes back as its fields if its class is not registered. A model in `allow`
      is made anew from its dump: its private attributes and excluded fields have their defaults again. (Registered
      types keep these, too.) What else that would change, such as a field with an alias, is refused.
    - `serde` is used for what our codec can't carry, and decides itself what it restores.
    - `ttl` is how long checkpoints are kept, in seconds or as a timedelta (None: no limit). Workers delete expired
      ones, and so do savers with a ttl when they put. Those of graphs with delta channels are kept (with a warning),
      because newer ones are made of them. What a thread had before its graph got delta channels still expires: run
      such a thread once with durability "sync" or "async" before that. A subgraph that keeps its state from turn to
      turn (`compile(checkpointer=True)`) has checkpoints of its own: it forgets if it does not run for so long, even
      though its thread goes on.
    - `on_conflict="refuse"` raises `Conflict` in a run if another run has advanced its thread since it began. The work
      of its nodes in that superstep is lost (with durability "exit", of the whole run). "allow" keeps both, as other
      savers do: the later one wins, and the other's turn is no longer visible. To make runs wait for each other
      instead, use `own`.
    """

    def __init__(
        self,
        store: Store,
        *,
        serde: SerializerProtocol | None = None,
        allow: Collection[Any] = (),
        ttl: Duration | None = None,
        on_conflict: Literal["refuse", "allow"] = "refuse",
    ) -> None:
        if on_conflict not in ("refuse", "allow"):
            raise BadSetup(f"on_conflict={on_conflict!r}, but it must be 'refuse' or 'allow'")
        lives = 0 if ttl is None else milliseconds(ttl, "ttl", least=0.001)
        shared = Checkpoints(store, ttl=lives, refuses=on_conflict == "refuse")
        super().__init__(shared, Wrapper(types_of(allow), serde=serde))

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        namespace: str | None = None,
        codec: Codec | None = None,
        serde: SerializerProtocol | None = None,
        allow: Collection[Any] = (),
        ttl: Duration | None = None,
        on_conflict: Literal["refuse", "allow"] = "refuse",
    ) -> BatonpassSaver:
        """A saver on the store with this URL. `namespace` and `codec` are those of `batonpass.connect`.

        Use it directly, or with `with` or `async with`, which close what was opened.
        """
        return cls(store_at(url, namespace, codec), serde=serde, allow=allow, ttl=ttl, on_conflict=on_conflict)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BatonpassSaver:
        """A saver that may also restore these types. It shares everything else with this one."""
        wrapper = self._current_wrapper
        if not wrapper.is_strict:
            made = super().with_allowlist(extra_allowlist)
            assert isinstance(made, BatonpassSaver)
            return made
        if wrapper.allowed.issuperset(extra_allowlist):
            return self
        clone = copy(self)
        clone._wrapper = Wrapper(wrapper.allowed | set(extra_allowlist))
        clone.serde = clone._wrapper.serde
        return clone

    def own(self, thread_id: str, *, wait: Duration | None = None, lease: Duration = 15.0) -> Owning:
        """Own a thread: nobody else can put to it within `async with saver.own(thread_id):` (or `with`).

        Puts inside the block, also from tasks and threads with this context, carry the lease. Others get `ThreadBusy`,
        or wait in `own`: without limit, or for `wait` and then `ThreadBusy`. The lease is renewed until the block ends.
        If its owner dies, another can take over after `lease`. Puts by the first are then `Fenced`, and so is the end
        of its block. Both are seconds, or a timedelta.
        """
        return Owning(self._shared, thread_of(thread_id), wait, milliseconds(lease, "lease", least=0.1))

    # Writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Commit a checkpoint, together with the writes that led to it if those are in flight."""
        names = names_of(config)
        spot = _spot(names, checkpoint["id"])
        if _follows_writes(names, checkpoint, metadata):
            self._shared.batching.expect((*spot[:2], _parent(names)))
        with _Flight(self._shared.batching, names, spot) as flight:
            flight.store = self._handles.store()
            kept = dict(get_checkpoint_metadata(config, metadata))
            drive(flight.store, self._put(names, spot, checkpoint, kept, new_versions, flight))
        return config_of(*spot)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`put` for async code."""
        names = names_of(config)
        spot = _spot(names, checkpoint["id"])
        with _Flight(self._shared.batching, names, spot) as flight:
            flight.store = await self._handles.astore()
            kept = dict(get_checkpoint_metadata(config, metadata))
            await adrive(flight.store, self._put(names, spot, checkpoint, kept, new_versions, flight))
        return config_of(*spot)

    def _put(
        self,
        names: Mapping[str, Any],
        spot: Spot,
        checkpoint: Checkpoint,
        metadata: Mapping[str, Any],
        new_versions: ChannelVersions,
        flight: _Flight,
    ) -> Call[None]:
        bounded(spot[0], "thread_id")
        return self._shared.put(
            self._current_wrapper,
            spot,
            checkpoint,
            metadata,
            _parent(names),
            self._fence(spot[0], names),
            (flight.batches, flight.alone),
            branches=_branches(names, spot[0]),
            new=new_versions,
            soon=flight.soon,
        )

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote on a checkpoint, together with the put that follows it if that comes at once."""
        batch = self._batch(config, writes, task_id, task_path)
        batching = self._shared.batching
        try:
            patience = time.monotonic() + _PATIENCE
            # If all of the run's threads waited here, none would be left for the put.
            flies = batching.count(batch.spot) < (config.get("max_concurrency") or math.inf)
            while flies and not batch.taken and time.monotonic() < patience:
                flies = batching.flight(batch.spot) is not None
                if batch.stored.wait(batching.moment):
                    break
                flies = flies or batching.flight(batch.spot) is not None
        finally:
            alone = batching.withdraw(batch)
        if not alone:
            batch.stored.wait()
            batch.stored.check()
            if batch.behind is not None:
                batch.behind.settle()
            return
        with batching.leaving(batch):
            self._drive(self._shared.put_writes(batch, self._fence(batch.spot[0], names_of(config))))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """`put_writes` for async code."""
        batch = self._batch(config, writes, task_id, task_path)
        batching = self._shared.batching
        try:
            await self._calm(batch.spot, _TURNS, batch)
        finally:
            alone = batching.withdraw(batch)
        if not alone:
            await batch.stored.await_()
            batch.stored.check()
            if batch.behind is not None:
                await batch.behind.asettle()
            return
        with batching.leaving(batch):
            await self._adrive(self._shared.put_writes(batch, self._fence(batch.spot[0], names_of(config))))

    async def _calm(self, spot: Spot, calm: int, batch: Batch | None = None) -> None:
        """Wait until no put to a thread's namespace is on its way, and none has begun for `calm` turns of the loop. Or
        until one has taken `batch` along. Without a batch, also wait for those that are stored on their own."""
        patience = time.monotonic() + _PATIENCE
        turns = 0
        while turns < calm and not (batch and batch.taken):
            flight = self._shared.batching.flight(spot, writes=batch is None)
            if flight is not None and (left := patience - time.monotonic()) > 0:
                await flight.await_(left)  # not longer: its loop may stand still
                turns = 0
            else:
                await asyncio.sleep(0)
                turns += 1

    def _batch(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: str, path: str) -> Batch:
        _, spot = _named(config)
        if not spot[2]:
            raise BadSetup("put_writes needs a checkpoint_id in the config: writes belong to a checkpoint")
        return self._shared.batching.add(spot, pack_writes(writes, task, path, self._current_wrapper))

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint named by the config, or the latest if it has no checkpoint_id. None if there is none."""
        names, spot = _named(config)
        note_owner(self._shared, spot[0], names)
        return begun_from(names, self._drive(self._shared.get(self._current_wrapper, *spot)))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple` for async code.

        A run that was cancelled, or whose stream is no longer read, ends before its puts and writes do. The latest
        checkpoint is what they leave.
        """
        names, spot = _named(config)
        note_owner(self._shared, spot[0], names)
        if not spot[2]:
            await self._calm(spot, _LAST_TURNS)
        return begun_from(names, await self._adrive(self._shared.get(self._current_wrapper, *spot)))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: Mapping[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints of a thread, newest first, or of all threads if `config` is None.

        Damaged ones are left out and logged. Reading them by id raises.
        """
        listing = Listing(self._shared, self._current_wrapper, _wanted(config), filter or {}, _bound(before), limit)
        while (found := self._drive(listing.more())) is not None:
            yield from found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: Mapping[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list` for async code."""
        listing = Listing(self._shared, self._current_wrapper, _wanted(config), filter or {}, _bound(before), limit)
        while (found := await self._adrive(listing.more())) is not None:
            for each in found:
                yield each

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What was written to delta channels since their values were last kept, oldest first, and those values."""
        return self._drive(self._threads.history(self._current_wrapper, _named(config)[1], channels))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """`get_delta_channel_history` for async code."""
        return await self._adrive(self._threads.history(self._current_wrapper, _named(config)[1], channels))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The version after another. The random part tells versions on two branches apart."""
        if current is None:
            last = 0
        else:
            last = int(current) if isinstance(current, int | float) else int(current.split(".")[0])
        return f"{last + 1:032}.{random():016}"


def _named(config: RunnableConfig) -> tuple[Mapping[str, Any], Spot]:
    """A config's names, and the checkpoint that they name (without an id: the latest)."""
    names = names_of(config)
    return names, _spot(names, _parent(names))


def _spot(names: Mapping[str, Any], key: str) -> Spot:
    return thread_of(names.get("thread_id")), text(names.get("checkpoint_ns") or "", "checkpoint_ns"), text(key, "id")


def _parent(names: Mapping[str, Any]) -> str:
    return str(names.get("checkpoint_id") or "")


def _branches(names: Mapping[str, Any], thread: str) -> bool:
    """Whether a put may branch the thread: its run was told where to begin, or it is not from a run, but from a tool
    that puts checkpoints without a parent."""
    return names.get(BRANCHES) == thread or not (_parent(names) or any(name.startswith("__pregel_") for name in names))


def _follows_writes(names: Mapping[str, Any], checkpoint: Checkpoint, metadata: CheckpointMetadata) -> bool:
    """Whether a put ends a superstep whose tasks wrote something and stored that (with `put_writes`)."""
    return (
        metadata.get("source") == "loop"
        and bool(checkpoint.get("updated_channels"))
        and names.get("__pregel_durability") != "exit"
        and "__pregel_runtime" in names
    )


def _is_soon(names: Mapping[str, Any]) -> bool:
    """Whether a run continues before its puts are done. Then a put need not wait for the disk: the run ends only after
    the writes that the put took along, and those wait until the disk has them and the put."""
    durability = names.get("__pregel_durability")
    return durability == "async" or (durability is None and "__pregel_runtime" in names)


def _wanted(config: RunnableConfig | None) -> tuple[str | None, str | None, str]:
    """The thread, namespace and checkpoint to list. None means any."""
    names = names_of({} if config is None else config)
    thread = thread_of(names.get("thread_id")) if config else None
    return thread, names.get("checkpoint_ns"), str(names.get("checkpoint_id") or "")


def _bound(before: RunnableConfig | None) -> str:
    return "" if before is None else _parent(names_of(before))

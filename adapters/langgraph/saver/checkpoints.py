"""Checkpoints: what a saver's methods do, written once for sync and async, as calls (coordinator/calls/)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from weakref import WeakSet

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.constants import START

from ....contracts.errors import Conflict, NotFound, Unserializable
from ....contracts.names import digest
from ....coordinator.calls import Call, places
from ....coordinator.calls.freeing import Freeing
from ....coordinator.calls.places import Found, Putting
from ....coordinator.commands import Fence, PutWrites
from ....coordinator.parts.nodes import Branch, children_of
from ....coordinator.parts.recent import Known, Recent, Spot
from ....coordinator.parts.stored import NATIVE
from ....coordinator.rows import Place, Write
from ....coordinator.snapshots import Draft
from ....coordinator.store import Store
from ..configs import config_of
from ..handles import Handles
from ..internals import is_branch, is_visible
from ..record.bookkeeping import COUNTERS
from ..record.checkpoint import Held, Record, checkpoint_of, held_of, kept_value
from ..record.compact import is_unique
from ..record.pending_writes import PackedWrite, read_pending
from ..record.reading import Reading
from ..serde.wrapper import Wrapper
from .batching import Batch, Batching
from .lending import around, as_input, with_input
from .outlines import Outlines
from .owning import past_owners

# Set to the thread in the config that `get_tuple` returns if it was asked for a certain checkpoint: a run that begins
# there may branch it. LangGraph passes it to every put of that run, and keeps names with two underscores out of the
# metadata.
BRANCHES = "__batonpass_branches"

# In place of a checkpoint's id: the last checkpoint with the whole value of a delta channel. No id is just a NUL.
DELTAS = "\0"
# The same, with the values of its delta channels, to be copied.
SEEDS = "\0\0"
# LangGraph's step number of an empty checkpoint: what delta channels got in a thread's first run is written there (with
# durability "exit").
_BEFORE_ALL = -2

_ALL: WeakSet[Checkpoints] = WeakSet()


class Checkpoints:
    """A saver's store and what it remembers of it. Shared by the saver's clones."""

    def __init__(self, store: Store, *, ttl: int, refuses: bool) -> None:
        self.handles = Handles(store)
        self.codec = store.codec
        self._ttl = ttl
        self._refuses = refuses
        self._has_warned = False
        self._awkward: set[str] = set()
        self._freeing = Freeing()
        self.renew()
        _ALL.add(self)

    def _for_ever(self) -> int:
        """The ttl of a checkpoint of which the delta channels of later ones may be made: none."""
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                "this graph has delta channels, whose values are made of earlier checkpoints: its checkpoints are kept "
                "in spite of the saver's ttl=, or newer ones would lose values. `batonpass prune` deletes what is not "
                "needed",
                stacklevel=2,
            )
        return 0

    def renew(self) -> None:
        """Forget what was remembered. For the child of a fork, whose parent continues with what there was."""
        self.recent = Recent()
        self.batching = Batching()
        self.outlines = Outlines()

    def put(
        self,
        wrapper: Wrapper,
        spot: Spot,
        checkpoint: Checkpoint,
        metadata: Mapping[str, Any],
        parent: str,
        fence: Fence | None,
        taken: tuple[Sequence[Batch], Sequence[PackedWrite]],
        branches: bool,
        new: Collection[str],
        soon: bool = False,
    ) -> Call[None]:
        """Commit a checkpoint, with the writes that led to it. `new` are the channels that have new versions."""
        thread, scope, key = spot
        run = metadata.get("run_id")
        checkpoint = yield from self._with_unknown(wrapper, spot, checkpoint, parent, new)
        known = self._before(spot, parent)
        held: Held | None = known.held if known else None
        putting = Putting(
            thread,
            Place(scope, key, run_digest(str(run)) if run else ""),
            parent,
            tip=parent if self._may_conflict(scope, metadata, branches) else None,
            fence=fence,
            ttl=self._ttl,
            codec=self.codec,
            soon=soon,
            writes=self._writes_of_put(taken, held.given if held and held.key == parent else b""),
        )
        record = Record(scope, checkpoint, metadata, parent, held, new)
        if self._ttl and (record.keeps_deltas or metadata.get(COUNTERS) or metadata.get("step") == _BEFORE_ALL):
            putting.ttl = self._for_ever()
        made, held = yield from self._put(putting, record, wrapper, self._base(spot, record, wrapper, known))
        if START in checkpoint["channel_values"]:
            held.given = made.new.native
        made_known = Known(made.nodes.id, lambda: made.nodes, made.nodes.size, held)
        self.recent.put((thread, scope, ""), made_known)
        if record.keeps_deltas:
            self.recent.put((thread, scope, DELTAS), made_known)
        if self._ttl:
            yield from self._freeing.wrote()

    def _before(self, spot: Spot, parent: str) -> Known | None:
        thread, scope, _ = spot
        return (self.recent.get((thread, scope, parent)) if parent else None) or self.recent.get((thread, scope, ""))

    def _base(self, spot: Spot, record: Record, wrapper: Wrapper, before: Known | None) -> Known | None:
        """The checkpoint that a record shares with. `before` is the one before it."""
        deltas = self.recent.get((*spot[:2], DELTAS)) if record.keeps_deltas else None
        if deltas is None:
            known = before or around(self.recent, spot)
            if known is not None and record.has_input:
                return as_input(known)
            return with_input(before, record.channels) if before and before.held.given else known
        # The value of a delta channel shares most with the last one that was kept, several checkpoints ago.
        if before is not None and before.id != deltas.id:
            record.take_same(wrapper, before.make(), before.held)
        return deltas

    def _with_unknown(
        self, wrapper: Wrapper, spot: Spot, checkpoint: Checkpoint, parent: str, new: Collection[str]
    ) -> Call[Checkpoint]:
        """A checkpoint, with the values that the one before it has in channels that this graph does not know. Another
        release of the graph may know them, and may run at the same time, or later."""
        values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
        known = self._before(spot, parent)
        remembered: Held | None = known.held if known and known.held.key == parent else None
        unknown = [channel for channel in versions if channel not in values and channel not in new]
        unknown = [each for each in unknown if _may_hold(remembered, each) and is_unique(versions[each])]
        if not parent or not unknown:
            return checkpoint
        if remembered is None:
            yield from self.get(wrapper, *spot[:2], parent)  # remembers it
            known = self._before(spot, parent)
        if known is None or known.held.key != parent:  # it is gone
            return checkpoint
        held, kept = known.held, children_of(known.make().state)
        same = [channel for channel in unknown if held.versions.get(channel) == versions[channel]]
        found = {channel: held.branches[channel] for channel in same if channel in held.branches}
        found |= {
            channel: kept_value(wrapper, held, kept, channel)
            for channel in same
            if channel in kept and channel not in held.deltas
        }
        return {**checkpoint, "channel_values": {**values, **found}} if found else checkpoint

    def _put(self, putting: Putting, record: Record, wrapper: Wrapper, known: Known | None) -> Call[tuple[Draft, Held]]:
        """Commit it. Which values our codec can't pack is only found out if it fails, and remembered for later puts."""
        try:
            return (yield from self._commit(putting, record, wrapper, known))
        except Unserializable:
            awkward = record.awkward(wrapper)
            if awkward <= self._awkward:
                raise
            self._awkward = self._awkward | awkward
            return (yield from self._commit(putting, record, wrapper, known))

    def _commit(
        self, putting: Putting, record: Record, wrapper: Wrapper, known: Known | None
    ) -> Call[tuple[Draft, Held]]:
        base = known.make() if known else None
        snapshot, held = record.snapshot(wrapper, self._awkward, base, known.held if known else None)
        try:
            made = yield from past_owners(putting.thread, lambda: places.put(putting, snapshot, base))
        except Conflict as error:
            if type(error) is not Conflict or putting.tip is None:
                raise
            found = yield from places.page(putting.thread, putting.place.scope, None, 1, whole=False)
            if not found or found[0].place.key != putting.place.key:
                yield from _check_there(putting)
                raise
            # The same checkpoint is put again, and it is the latest.
            putting.tip = putting.place.key
            made = yield from places.put(putting, snapshot, base)
        return made, held

    def _may_conflict(self, scope: str, metadata: Mapping[str, Any], branches: bool) -> bool:
        return self._refuses and not scope and not branches and metadata.get("source") not in ("update", "fork")

    def _writes_of_put(
        self, taken: tuple[Sequence[Batch], Sequence[PackedWrite]], given: bytes
    ) -> Callable[[Draft], Sequence[Write]]:
        """A put's writes: those that waited for it, and those that were stored before and can now refer to its
        contents."""
        batches, alone = taken

        def writes(made: Draft) -> Sequence[Write]:
            appends = made.new.appends if self.codec is None else ()  # coded bytes can't be looked through
            values = made.nodes.state.children if isinstance(made.nodes.state, Branch) else {}

            def reference(packed: PackedWrite) -> Write | None:
                return packed.reference(appends, given, values.get(packed.channel))

            named = [reference(packed) or packed.write() for batch in batches for packed in batch.writes]
            again = [replace(write, again=True) for packed in alone if (write := reference(packed))]
            return [*again, *named]

        return writes

    def put_writes(self, batch: Batch, fence: Fence | None) -> Call[None]:
        """Store what a task wrote, without a put."""
        return past_owners(batch.spot[0], lambda: self._put_writes(batch, fence))

    def _put_writes(self, batch: Batch, fence: Fence | None) -> Call[None]:
        thread, scope, key = batch.spot
        yield PutWrites(thread, scope, key, [packed.write() for packed in batch.writes], fence)

    def get(self, wrapper: Wrapper, thread: str, scope: str, key: str) -> Call[CheckpointTuple | None]:
        """The checkpoint of a place. Without a key, the latest. None if there is none."""
        found = yield from places.find(thread, scope, key)
        if found is None:
            return None
        read = read_tuple(wrapper, thread, found, branches=bool(key))
        latest = self.recent.get((thread, scope, ""))
        if latest is None or latest.id != found.opened.row.id:
            self.remember((thread, scope, key), found, read.checkpoint)
        return read

    def remember(self, spot: Spot, found: Found, checkpoint: Checkpoint) -> None:
        """Remember a checkpoint that was read, so that later puts share with it."""
        row, opened = found.opened.row, replace(found.opened, roots=[])
        size = len(row.state) + len(row.native) + sum(map(len, row.bodies))
        self.recent.put(spot, Known(row.id, lambda: opened.base, size, held_of(checkpoint, found.opened.roots[NATIVE])))


def begun_from(names: Mapping[str, Any], found: CheckpointTuple | None) -> CheckpointTuple | None:
    """A checkpoint for a run that was called with these names. They may be left of `get_state(config).config`, whose
    run may branch: this one, which begins from the latest, may not. (LangGraph takes our names over those.)"""
    if found is not None and names.get(BRANCHES) and not names.get("checkpoint_id"):
        found.config.setdefault("configurable", {})[BRANCHES] = False
    return found


def read_tuple(
    wrapper: Wrapper, thread: str, found: Found, *, branches: bool = False, reading: Reading | None = None
) -> CheckpointTuple:
    """A place that was read, as LangGraph's tuple. With `branches`, a run that begins there may branch."""
    place = found.place
    stored = reading.stored(found.opened) if reading else found.opened.checkpoint
    checkpoint, metadata, parent = checkpoint_of(place.key, stored, wrapper)
    config = config_of(thread, place.scope, place.key, **({BRANCHES: thread} if branches else {}))
    where = f"checkpoint {place.key} of thread {thread!r}"
    return CheckpointTuple(
        config=config,
        checkpoint=checkpoint,
        metadata=cast("CheckpointMetadata", metadata),
        parent_config=config_of(thread, place.scope, parent) if parent else None,
        pending_writes=read_pending(found.writes, found.opened.row, wrapper, where),
    )


def _may_hold(held: Held | None, channel: str) -> bool:
    """Whether a checkpoint may hold a value of a channel that another graph knows: the user's, or one that says where
    that graph continues. None: it is not known which of the latter it holds."""
    return is_visible(channel) or (is_branch(channel) if held is None else channel in held.branches)


def _check_there(putting: Putting) -> Call[None]:
    """`NotFound` if the checkpoint where a run began is gone. (A `Conflict` would blame another run.)"""
    if putting.tip and (yield from places.find(putting.thread, putting.place.scope, putting.tip)) is None:
        raise NotFound(
            f"checkpoint {putting.tip} of thread {putting.thread!r}, which this run continues from, is not there: it "
            "was deleted, has expired, or never existed. Nothing was written: leave checkpoint_id out of the config to "
            "continue from the latest, or name another"
        )


def run_digest(run_id: str) -> str:
    """What the places of a run's checkpoints say about the run."""
    return digest("run", run_id)


def _renew() -> None:
    for each in list(_ALL):
        each.renew()


os.register_at_fork(after_in_child=_renew)

"""Threads: a saver's operations on whole threads and their histories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any

from langgraph.checkpoint.base import DeltaChannelHistory, PendingWrite

from ....contracts.errors import BadSetup, NotFound
from ....contracts.job import ENDED
from ....coordinator.calls import Call, copies, places, retention
from ....coordinator.calls.places import Found
from ....coordinator.commands import DeleteJob, JobsOn, OfRun, PutWrites, Walk
from ....coordinator.parts.bases import Bases
from ....coordinator.parts.recent import Spot
from ....coordinator.parts.stored import NATIVE
from ....coordinator.rows import PlaceRow
from ..record.pending_writes import read_pending
from ..serde.copying import NoCopy, ValueTemplate
from ..serde.wrapper import Wrapper
from .checkpoints import DELTAS, SEEDS, Checkpoints, read_tuple, run_digest
from .lineage import Lineage
from .owning import OWNER, fence_of, past_owners
from .reopening import reopened, reopens

# How many checkpoints of a run are looked up at once.
_MOST = 500
# How many jobs of a thread are looked at at once.
_MOST_JOBS = 50


class Threads:
    """Deletes, copies and prunes threads, and walks along their history."""

    def __init__(self, shared: Checkpoints) -> None:
        self._shared = shared

    @property
    def _lineage(self) -> Lineage:
        return Lineage(self._shared.outlines)

    def delete(self, thread: str) -> Call[None]:
        """Delete what savers have put on a thread, and by which jobs they owned it. What else is on it stays: other
        jobs with their checkpoints, and what was saved by hand."""
        self._shared.recent.forget(thread)
        bases = Bases(self._shared.codec)
        yield from past_owners(thread, lambda: retention.delete(bases, thread, placed=True))
        owners, last, at = list[str](), "", 0
        while rows := (yield JobsOn(thread, _MOST_JOBS, last, at)):
            last, at = rows[-1].id, rows[-1].created
            owners += [row.id for row in rows if row.agent == OWNER and row.state in ENDED]
        for job_id in owners:
            with suppress(NotFound):  # it was deleted meanwhile
                yield DeleteJob(job_id)

    def delete_run(self, wrapper: Wrapper, run_id: str) -> Call[None]:
        """Delete what a run put, except what the delta channels of other checkpoints are made of. Also delete what it
        wrote on other runs' checkpoints to continue from them."""
        left: set[str] = set()
        while True:
            found: list[tuple[str, str]] = yield OfRun(run_digest(run_id), _MOST)
            fresh = [(thread, each) for thread, each in found if each not in left]
            if not fresh:
                return
            for thread in dict.fromkeys(thread for thread, _ in fresh):
                wanted = {each for name, each in fresh if name == thread}
                rows = yield from places.every(thread, whole=False)
                needed = yield from self._lineage.needed(
                    thread, rows, [row for row in rows if row.checkpoint.id not in wanted]
                )
                self._shared.recent.forget(thread)
                left |= wanted
                goes = wanted - needed
                for row, went_on in reopens(rows, goes):
                    yield from self._reopen(wrapper, thread, row, went_on=went_on)
                yield from places.drop(thread, sorted(goes))

    def _reopen(self, wrapper: Wrapper, thread: str, row: PlaceRow, *, went_on: bool) -> Call[None]:
        scope, key, _ = row.place
        found = yield from places.find(thread, scope, key)
        where = f"checkpoint {key} of thread {thread!r}"
        changed = reopened(found, wrapper, where, went_on=went_on) if found else []
        if changed:
            yield PutWrites(thread, scope, key, changed, fence_of(self._shared, thread))

    def prune(self, thread: str, strategy: str) -> Call[None]:
        """Keep the latest checkpoint of each namespace, those that have a name, and what their delta channels are made
        of. Or keep nothing, as the strategy says."""
        if strategy in ("delete", "delete_all"):
            yield from self.delete(thread)
            return
        if strategy != "keep_latest":
            raise BadSetup(f"prune strategy {strategy!r}, but it must be 'keep_latest' or 'delete'")
        rows = yield from places.every(thread, whole=False)
        latest: dict[str, PlaceRow] = {}
        for row in rows:
            latest.setdefault(row.place.scope, row)
        stays = [row for row in rows if row.checkpoint.name or latest[row.place.scope] is row]
        needed = yield from self._lineage.needed(thread, rows, stays)
        kept = needed | {row.checkpoint.id for row in stays}
        self._shared.recent.forget(thread)
        yield from places.drop(thread, [row.checkpoint.id for row in rows if row.checkpoint.id not in kept])

    def copy(self, source: str, target: str) -> Call[None]:
        """Copy the source's history to the target, with what was written at its places."""
        if source == target:
            raise BadSetup(f"thread {source!r} can't be copied to itself: name another thread")
        yield from copies.copy(Bases(self._shared.codec), source, target)

    def history(self, wrapper: Wrapper, spot: Spot, channels: Sequence[str]) -> Call[Mapping[str, DeltaChannelHistory]]:
        """Each channel's writes along the parents of a checkpoint, back to the nearest value that was kept."""
        thread, scope, key = spot
        if not channels:
            return {}
        if not key:
            latest = yield from places.page(thread, scope, None, 1, whole=False)
            key = latest[0].place.key if latest else ""
        collected: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        seen: set[str] = set()
        # Where it ended the last time: where the values were kept as a whole, and most often still are.
        end = self._shared.recent.get((thread, scope, SEEDS))
        first = True
        while key and key not in seen and len(seeds) < len(collected):
            walk: list[PlaceRow] = yield Walk(thread, scope, key, until=end.id if end else "")
            rows = [row for row in walk if row.place.scope == scope and row.place.key not in seen]
            if not rows:
                break
            seen |= {row.place.key for row in rows}
            walked, first = rows[1:] if first else rows, False
            yield from self._collect(wrapper, thread, walked, collected, seeds)
            key = (yield from self._lineage.outline(thread, rows[-1])).parent
        return {
            channel: DeltaChannelHistory(writes=writes[::-1], seed=seeds[channel])
            if channel in seeds
            else DeltaChannelHistory(writes=writes[::-1])
            for channel, writes in collected.items()
        }

    def _collect(
        self,
        wrapper: Wrapper,
        thread: str,
        rows: Sequence[PlaceRow],
        collected: Mapping[str, list[PendingWrite]],
        seeds: dict[str, Any],
    ) -> Call[None]:
        for row, writes in zip(rows, (yield from places.written(thread, rows)), strict=True):
            left = collected.keys() - seeds.keys()
            if not left:
                return
            where = f"checkpoint {row.place.key} of thread {thread!r}"
            for write in reversed(read_pending(writes, row.checkpoint, wrapper, where)):
                if write[1] in left:
                    collected[write[1]].append(write)
            kept = left & (yield from self._lineage.outline(thread, row)).kept
            if kept:
                seeds.update((yield from self._seeds(wrapper, thread, row, kept)))

    def _seeds(self, wrapper: Wrapper, thread: str, row: PlaceRow, channels: Set[str]) -> Call[Mapping[str, Any]]:
        recent, scope = self._shared.recent, row.place.scope
        known = recent.get((thread, scope, SEEDS))
        if known is not None and known.id == row.checkpoint.id and channels <= known.held.keys():
            return {channel: known.held[channel].again() for channel in channels}
        found: Found | None = yield from places.find(thread, scope, row.place.key)
        if found is None:
            return {}
        checkpoint = read_tuple(wrapper, thread, found).checkpoint
        seeds = {channel: checkpoint["channel_values"][channel] for channel in channels}
        base = recent.get((thread, scope, DELTAS))
        if base is None or base.id != found.opened.row.id:
            self._shared.remember((thread, scope, DELTAS), found, checkpoint)
            base = recent.get((thread, scope, DELTAS))
        # Not if LangGraph's serializer carries some of it, because a saver's clones may restore other types.
        native = found.opened.roots[NATIVE]
        if base is not None and native is not None and not native.get("dressed"):
            with suppress(NoCopy):
                held = {channel: ValueTemplate(seed) for channel, seed in seeds.items()}
                recent.put((thread, scope, SEEDS), replace(base, held=held))
        return seeds

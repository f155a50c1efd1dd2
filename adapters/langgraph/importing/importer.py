"""Importer: copies a LangGraph database's threads, checkpoint by checkpoint, and compares each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from langgraph.checkpoint.base import CheckpointTuple

from ....contracts.alike import alike
from ....contracts.errors import BatonpassError, Corrupted, Fenced, Unavailable
from ....coordinator.calls import Call, drive, places
from ....coordinator.store import Store
from ..record.compact import write_name
from ..record.pending_writes import PackedWrite, pack_writes
from ..saver.batching import Batch
from ..saver.checkpoints import Checkpoints
from ..serde.values import TypeName
from ..serde.wrapper import Wrapper
from .sources import Source, Stored, Written
from .strict import StrictSerializer


class Done(NamedTuple):
    """The outcome for one checkpoint. `was_there` means that it had been imported before. `problem` is why it is
    missing or different, or ""."""

    thread: str
    scope: str
    key: str
    was_there: bool = False
    problem: str = ""


class Importer:
    """Imports threads into an open store.

    What was imported is not written again, so an import continues where it stopped. The writes of a checkpoint's tasks
    are put before the checkpoint, so a checkpoint that is there is complete. What happened to a thread here since it
    was imported stays.
    """

    def __init__(self, source: Source, store: Store, allowed: Sequence[TypeName] = (), *, verify: bool = True) -> None:
        self._source = source
        self._store = store
        self._shared = Checkpoints(store, ttl=0, refuses=False)
        self._wrapper = Wrapper(allowed)
        self._pack = StrictSerializer(allowed).dumps_typed
        self._verify = verify

    def thread(self, thread: str) -> Iterator[Done]:
        """Import a thread. Yields the outcome for each of its checkpoints."""
        there = self._source.checkpoints(thread)
        here = {row.place[:2] for row in drive(self._store, places.every(thread, whole=False))}
        went_on = bool(here - {(at.scope, at.key) for at in there})
        latest: dict[str, str] = {}
        written: dict[tuple[str, str], list[PackedWrite]] = {}
        for at in there:
            is_here = (at.scope, at.key) in here
            try:
                if is_here:
                    self._look_again(thread, at, went_on)
                else:
                    if at.parent and latest.get(at.scope) != at.parent:  # so that it shares what its parent has
                        drive(self._store, self._shared.get(self._wrapper, thread, at.scope, at.parent))
                    writes = self._put(thread, at, written.pop((at.scope, at.parent), []))
                    if writes:
                        written[at.scope, at.key] = writes
                    latest[at.scope] = at.key
            except (Unavailable, Fenced):
                raise
            except BatonpassError as error:
                yield Done(thread, at.scope, at.key, is_here, str(error))
            else:
                yield Done(thread, at.scope, at.key, is_here)

    def _put(self, thread: str, at: Stored, before: Sequence[PackedWrite]) -> list[PackedWrite]:
        found = self._source.get(thread, at)
        writes = self._put_writes(thread, at, self._source.writes(thread, at))
        drive(self._store, self._checkpoint(thread, at, found, before))
        if self._verify:
            self._check(thread, at, found, went_on=False)
        return writes

    def _checkpoint(self, thread: str, at: Stored, found: CheckpointTuple, before: Sequence[PackedWrite]) -> Call[None]:
        metadata = cast("dict[str, Any]", found.metadata)
        spot = (thread, at.scope, at.key)
        # What was written on its parent need not be kept twice: if this checkpoint has it, the write refers to that.
        writes: tuple[list[Batch], Sequence[PackedWrite]] = ([], before)
        checkpoint, parent = found.checkpoint, at.parent
        new = {*checkpoint["channel_values"], *checkpoint["channel_versions"]}  # as it is, whatever the versions say
        return self._shared.put(self._wrapper, spot, checkpoint, metadata, parent, None, writes, branches=True, new=new)

    def _put_writes(self, thread: str, at: Stored, rows: Sequence[Written]) -> list[PackedWrite]:
        writes = [
            replace(write, name=write_name(row.number, row.task))
            for row in rows
            for write in pack_writes([(row.channel, row.value)], row.task, row.path, self._wrapper)
        ]
        if writes:
            drive(self._store, self._shared.put_writes(Batch((thread, at.scope, at.key), writes), None))
        return writes

    def _look_again(self, thread: str, at: Stored, went_on: bool) -> None:
        """A checkpoint that was imported before: import what was written on it since."""
        if not went_on:
            self._put_writes(thread, at, self._source.writes(thread, at))
        if self._verify:
            self._check(thread, at, self._source.get(thread, at), went_on=went_on)

    def _check(self, thread: str, at: Stored, theirs: CheckpointTuple, *, went_on: bool) -> None:
        """`Corrupted` if a checkpoint differs from its source. Looks twice, because somebody may be writing there."""
        wrong = self._differing(thread, at, theirs, went_on)
        if wrong and not went_on:
            self._put_writes(thread, at, self._source.writes(thread, at))
            wrong = self._differing(thread, at, self._source.get(thread, at), went_on)
        if wrong:
            raise Corrupted(
                f"its {', '.join(wrong)} here differ from the source's. If the thread changed there since it was "
                "imported, delete it here (batonpass delete) and import it again"
            )

    def _differing(self, thread: str, at: Stored, theirs: CheckpointTuple, went_on: bool) -> list[str]:
        """What differs from the source. If the thread has continued here, it may have more writes here."""
        ours = drive(self._store, self._shared.get(self._wrapper, thread, at.scope, at.key))
        if ours is None:
            raise Corrupted("it was put, but is not there")
        wrong = [
            name
            for name, one, other in (
                ("values", _parts(theirs), _parts(ours)),
                ("metadata", _sorted(cast("Any", theirs.metadata)), _sorted(cast("Any", ours.metadata))),
                ("parent", theirs.parent_config, ours.parent_config),
            )
            if not self._same(one, other)
        ]
        if not self._all_written(theirs.pending_writes or [], ours.pending_writes or [], went_on):
            wrong.append("writes")
        return wrong

    def _all_written(self, theirs: Sequence[Any], ours: Sequence[Any], went_on: bool) -> bool:
        if not went_on:
            return self._same([*theirs], [*ours])
        left = [*ours]
        for write in theirs:
            same = next((each for each in left if self._same(write, each)), None)
            if same is None:
                return False
            left.remove(same)
        return True

    def _same(self, one: Any, other: Any) -> bool:
        return self._pack(one) == self._pack(other) or alike(one, other)


def _parts(found: CheckpointTuple) -> dict[str, Any]:
    """A checkpoint's fields, sorted, because the order of fields, channels and nodes means nothing. What is None is
    left out, because older checkpoints don't say which channels they changed."""
    fields: dict[str, Any] = {name: value for name, value in sorted(found.checkpoint.items()) if value is not None}
    fields["versions_seen"] = {node: _sorted(seen) for node, seen in _sorted(fields["versions_seen"]).items()}
    return {**fields, **{name: _sorted(fields[name]) for name in ("channel_values", "channel_versions")}}


def _sorted(values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(values.items()))

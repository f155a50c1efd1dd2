"""Pending writes: what the tasks of a superstep wrote, as stored at the place of the checkpoint on which they ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, PendingWrite, writes_sort_key
from langgraph.constants import START

from ....contracts.codec import pack, try_pack, unpack
from ....contracts.errors import Corrupted
from ....coordinator.parts.body import Body, body_of
from ....coordinator.parts.nodes import Branch, Node, Part, parts
from ....coordinator.parts.same import shared_with
from ....coordinator.parts.spans import Append, found_in, write_spans
from ....coordinator.place_writes import PIECES, close_write, open_write, pieces_of
from ....coordinator.rows import CheckpointRow, Write
from ....coordinator.seals import content_hash
from ....coordinator.snapshots import open_row
from ..serde.copying import copy_containers
from ..serde.wrapper import Wrapper
from .bookkeeping import packed_name
from .compact import large_path, read_name, small_path, write_name

# A shorter value is stored as it is: a reference would not be much shorter.
_LEAST = 160
_NOTHING = pack(None)
_NO_BODY = body_of(None, _NOTHING)


@dataclass(slots=True)
class PackedWrite:
    """One write, packed. `name` is its task and its index there. Of several outputs with one name the first stays. Of
    an error, interrupt or resume (index < 0), the last."""

    name: str
    path: str
    channel: str
    wrapped: bool
    body: Body

    @property
    def packed(self) -> bytes:
        """The value, packed."""
        return self.body.packed

    @property
    def again(self) -> bool:
        """Whether it replaces an earlier one of its name."""
        return self.name.startswith("-")

    def write(self) -> Write:
        """The write with its value."""
        if self.packed is _NOTHING:
            return Write(self.name, _leading_on(self.path, self.channel), again=self.again)
        return self._closed([self.packed])

    def reference(self, appends: Sequence[Append], given: bytes, value: Node | None) -> Write | None:
        """The write, with a reference to a checkpoint that has the bytes of its value. None if there is none. `given`
        is the native part of the checkpoint on which its task ran, if that has a run's input. `value` is what the
        channel has after it: what was written, or more."""
        if len(self.packed) < _LEAST:
            return None
        at = given.find(packed_name(self.channel) + self.packed)
        if at >= 0:
            last = at + len(packed_name(self.channel)) + len(self.packed)
            return self._closed([[last - len(self.packed), last, content_hash(self.packed)], _NOTHING])
        if isinstance(value, Branch) or (isinstance(value, Part) and value.framed):
            return self._in_pieces(value)
        wanted = self.packed[self.body.start :]
        spans = found_in(appends, wanted) or (value.find(wanted) if isinstance(value, Part) else None)
        if len(wanted) < _LEAST or not spans:
            return None
        return self._closed([self.body.kind, self.body.count, content_hash(wanted)], write_spans(spans))

    def _in_pieces(self, value: Branch | Part) -> Write | None:
        node = shared_with(self.packed, value, _LEAST)
        found = [part for _, part in parts(node)]
        held = content_hash(b"".join([part.body[: part.length - part.tail] for part in found]))
        spans = [span for part in found for span in part.spans]
        return self._closed([PIECES, pieces_of(node), held], write_spans(spans)) if spans else None

    def _closed(self, value: list[Any], spans: str = "") -> Write:
        about = [small_path(self.path), self.channel, self.wrapped, *value]
        return Write(self.name, close_write(about), spans, again=self.again)


@lru_cache(maxsize=1024)
def _leading_on(path: str, channel: str) -> bytes:
    """The data of a write that only leads to the next node. Each task makes one."""
    return close_write([small_path(path), channel, False, _NOTHING])


def pack_writes(written: Sequence[tuple[str, Any]], task: str, path: str, wrapper: Wrapper) -> list[PackedWrite]:
    """What a task wrote, packed. `Unserializable` names a value that could not come back."""
    packed_writes: dict[str, PackedWrite] = {}
    for number, (channel, value) in enumerate(written):
        index = WRITES_IDX_MAP.get(channel, number)
        packed_write = _pack_write(write_name(index, task), path, channel, copy_containers(value), wrapper)
        packed_writes[packed_write.name] = packed_write
    return list(packed_writes.values())


def _pack_write(name: str, path: str, channel: str, value: Any, wrapper: Wrapper) -> PackedWrite:
    if value is None:  # as in the writes that only lead to the next node
        return PackedWrite(name, path, channel, False, _NO_BODY)
    where = f"what a node wrote to {channel!r}"
    wrapped: Any = value
    packed = try_pack(value)
    if packed is None:
        wrapped = wrapper.wrap(value, where)
        packed = pack(wrapped, path=where)
    return PackedWrite(name, path, channel, wrapped is not value, body_of(wrapped, packed))


def read_pending(writes: Sequence[Write], on: CheckpointRow, wrapper: Wrapper, where: str) -> list[PendingWrite]:
    """Writes that were read, in the order in which LangGraph applies them. `on` is the checkpoint of their place."""
    found: list[tuple[tuple[str, str, int], PendingWrite]] = []
    for write in writes:
        index, task = read_name(write.name)
        path, channel, value = read_write(write, on, wrapper, where)
        found.append((writes_sort_key(path, task, index), (task, channel, value)))
    return [write for _, write in sorted(found, key=lambda each: each[0])]


def read_write(write: Write, on: CheckpointRow, wrapper: Wrapper, where: str) -> tuple[str, str, Any]:
    """The path of its task, its channel and its value. `on` is the checkpoint of its place."""
    (path, channel, wrapped, *given), value = open_write(write, where)
    if given:
        value = _given(channel, given[0], on, where)
    return large_path(path), channel, wrapper.unwrap(value) if wrapped else value


def _given(channel: str, place: Sequence[Any], on: CheckpointRow, where: str) -> Any:
    """A channel's value in a run's input, from the checkpoint that has the input."""
    first, last, digest = place
    packed = on.native[first:last]
    if content_hash(packed) == digest:
        return unpack(packed)
    # Another checkpoint was put under the same id since. What counts is the input in that one.
    try:
        return open_row(on).checkpoint.native["hidden"][START][channel]
    except (KeyError, TypeError):
        raise Corrupted(f"what was written at {where} is not there; older checkpoints may be readable") from None

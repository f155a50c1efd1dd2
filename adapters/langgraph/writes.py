"""Writes: what the tasks of a superstep wrote, as stored at the place of the checkpoint on which they ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, PendingWrite, writes_sort_key
from xxhash import xxh3_64_digest

from ...contracts.codec import pack, unpack
from ...contracts.errors import Corrupted, Unserializable
from ...coordinator.parts.body import LIST, OTHER, body_of, value_of
from ...coordinator.parts.spans import Append, Span, write_spans
from ...coordinator.rows import Write
from ...coordinator.seals import content_hash
from .carrier import Carrier
from .compact import read_name, write_name

# A shorter value is stored as it is: a reference would not be much shorter.
_LEAST = 160
_CHECK = 8


@dataclass(slots=True)
class Note:
    """One write, packed. `name` is its task and its index there: of an output the first stands, of an error, interrupt
    or resume (index < 0) the last."""

    name: str
    path: str
    channel: str
    dressed: bool
    packed: bytes
    count: int
    items: int

    @property
    def again(self) -> bool:
        """Whether it replaces an earlier one of its name."""
        return self.name.startswith("-")

    def write(self) -> Write:
        """The write with its value."""
        return Write(self.name, _checked([self.path, self.channel, self.dressed, self.packed]), again=self.again)

    def reference(self, appends: Sequence[Append]) -> Write | None:
        """The write with its value where a checkpoint keeps the same bytes; None if none does."""
        wanted = self.packed[self.items :]
        if len(wanted) < _LEAST:
            return None
        for append in appends:
            at = append.data.find(wanted)
            if at >= 0:
                span = Span(append.log, append.at + at, append.at + at + len(wanted))
                kind = LIST if self.items else OTHER
                about = [self.path, self.channel, self.dressed, kind, self.count, content_hash(wanted)]
                return Write(self.name, _checked(about), write_spans([span]), again=self.again)
        return None


def notes_of(written: Sequence[tuple[str, Any]], task: str, path: str, carrier: Carrier) -> list[Note]:
    """What a task wrote, packed; `Unserializable` names a value that could not come back."""
    notes: dict[str, Note] = {}
    for number, (channel, value) in enumerate(written):
        index = WRITES_IDX_MAP.get(channel, number)
        note = _note(write_name(index, task), path, channel, value, carrier)
        notes[note.name] = note
    return list(notes.values())


def _note(name: str, path: str, channel: str, value: Any, carrier: Carrier) -> Note:
    where = f"what a node wrote to {channel!r}"
    dressed: Any = value
    try:
        packed = pack(value, path=where)
    except Unserializable:
        dressed = carrier.dress(value, where)
        packed = pack(dressed, path=where)
    body = body_of(dressed, packed)
    is_list = body.kind == LIST
    return Note(name, path, channel, dressed is not value, packed, body.count if is_list else 1, body.start * is_list)


def pending(writes: Sequence[Write], carrier: Carrier, where: str) -> list[PendingWrite]:
    """Writes that were read, in the order in which LangGraph applies them."""
    found: list[tuple[tuple[str, str, int], PendingWrite]] = []
    for write in writes:
        index, task = read_name(write.name)
        path, channel, value = _read(write, carrier, where)
        found.append((writes_sort_key(path, task, index), (task, channel, value)))
    return [write for _, write in sorted(found, key=lambda each: each[0])]


def _read(write: Write, carrier: Carrier, where: str) -> tuple[str, str, Any]:
    path, channel, dressed, *rest = _about(write, where)
    value = unpack(rest[0]) if len(rest) == 1 else value_of(rest[0], rest[1], _body(write, rest[2], where))
    return path, channel, carrier.undress(value) if dressed else value


def inlined(write: Write) -> Write:
    """A write that was read, with its value instead of a name for where that is kept."""
    if not write.spans:
        return write
    path, channel, dressed, kind, count, digest = _about(write, write.name)
    packed = pack(value_of(kind, count, _body(write, digest, write.name)))
    return Write(write.name, _checked([path, channel, dressed, packed]))


def _about(write: Write, where: str) -> list[Any]:
    data = write.data[_CHECK:]
    if xxh3_64_digest(data) != write.data[:_CHECK]:
        raise _damaged(where)
    about: list[Any] = unpack(data)
    return about


def _body(write: Write, digest: bytes, where: str) -> bytes:
    body = b"".join(write.bodies)
    if content_hash(body) != digest:
        raise _damaged(where)
    return body


def _damaged(where: str) -> Corrupted:
    return Corrupted(f"what was written at {where} is not what was saved; older checkpoints may be readable")


def _checked(about: list[Any]) -> bytes:
    packed = pack(about)
    return xxh3_64_digest(packed) + packed

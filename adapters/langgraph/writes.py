"""Writes: what the tasks of a superstep wrote, as stored at the place of the checkpoint on which they ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, PendingWrite, writes_sort_key

from ...contracts.codec import pack
from ...contracts.errors import Unserializable
from ...coordinator.parts.body import LIST, OTHER, body_of
from ...coordinator.parts.spans import Append, Span, write_spans
from ...coordinator.rows import Write
from ...coordinator.seals import content_hash
from ...coordinator.written import close_write, open_write
from .carrier import Carrier
from .compact import read_name, write_name

# A shorter value is stored as it is: a reference would not be much shorter.
_LEAST = 160


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
        return Write(self.name, close_write([self.path, self.channel, self.dressed, self.packed]), again=self.again)

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
                return Write(self.name, close_write(about), write_spans([span]), again=self.again)
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
    (path, channel, dressed), value = open_write(write, where)
    return path, channel, carrier.undress(value) if dressed else value

"""The wire format of places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...contracts.errors import BadSetup
from ...contracts.names import digest
from .. import commands as c
from ..rows import Place, PlaceRow, Write, escaped, place_from
from .wire_checkpoints import checkpoint_args, checkpoint_row, fence_args
from .wire_values import Arg, read_text

# building


def spot_of(scope: str, key: str) -> str:
    """A place as the scripts know it, a spot: see lua/lib/places.lua."""
    return f"{escaped(scope)}\0{escaped(key)}\0"


def _writes(writes: Sequence[Write]) -> Iterable[Arg]:
    for write in writes:
        yield write.name
        yield "-" if write.gone else int(write.again)
        yield f"{write.spans or '-'} ".encode() + write.data


def put_args(m: c.Put) -> list[Arg]:
    """As put.lua takes it."""
    new, place = m.checkpoint, m.checkpoint.place
    if place is None:
        raise BadSetup(f"checkpoint {new.id} has no place where it could be put")
    where: list[Arg] = [digest(new.thread), new.thread, spot_of(place.scope, m.parent)]
    tip = "" if m.tip is None else spot_of(place.scope, m.tip)
    return [*fence_args(m.fence), *where, tip, new.agent, b"", *checkpoint_args(new), *_writes(m.writes)]


def put_writes_args(m: c.PutWrites) -> list[Arg]:
    """As put_writes.lua takes it."""
    return [*fence_args(m.fence), digest(m.thread), m.thread, spot_of(m.scope, m.key), *_writes(m.writes)]


def find_args(m: c.Find) -> list[Arg]:
    """As find.lua takes it."""
    return [digest(m.thread), m.thread, escaped(m.scope), escaped(m.key), b""]


def places_args(m: c.Places) -> list[Arg]:
    """As places.lua takes it."""
    scope = "" if m.scope is None else f"={escaped(m.scope)}"
    before = spot_of(m.before[1], m.before[0]) if m.before else ""
    return [digest(m.thread), m.thread, scope, before, m.limit, int(m.whole), b""]


def walk_args(m: c.Walk) -> list[Arg]:
    """As walk.lua takes it."""
    return [digest(m.thread), m.thread, spot_of(m.scope, m.key), m.limit, m.until]


# reading


def place_row(parts: list[Any]) -> PlaceRow:
    """A place with its checkpoint and what was written there."""
    spot, stored, written = parts
    row = checkpoint_row(stored)
    place = place_from(read_text(spot))
    found = row.commit.partition(f" {read_text(spot)}")
    return PlaceRow(Place(place.scope, place.key, found[2]), row, [_write(*each) for each in written])


def _write(name: bytes, value: bytes, *bodies: bytes) -> Write:
    spans, _, data = value.partition(b" ")
    return Write(read_text(name), data, "" if spans == b"-" else read_text(spans), bodies=bodies)


def find_answer(_: object, reply: list[Any]) -> PlaceRow | None:
    """The place, or None."""
    return place_row(reply[0]) if reply[0] else None


def place_rows(_: object, reply: list[Any]) -> list[PlaceRow]:
    """Several places."""
    return [place_row(parts) for parts in reply]


def of_run_answer(_: object, reply: list[Any]) -> list[tuple[str, str]]:
    """Thread and id of each checkpoint."""
    return sorted((read_text(thread), read_text(id_)) for thread, id_ in reply)

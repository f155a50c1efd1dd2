"""Built-in types: what msgpack lacks of Python's values, as extension codes, and back.

Each encoder gets the value and a function that packs inner values; each decoder the bytes and one that reads them.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, TypeAlias, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import msgpack
from pydantic_core import TzInfo

from .errors import BadSetup

# Codes are stored: never renumber. 20 is a value of a registered type (state_types.py); others below 32 are ours.
_TUPLE, _SET, _FROZENSET, _INT, _DATETIME, _DATE, _TIME, _DELTA, _DECIMAL, _UUID, _PATH = range(11)
NAMED = 20

# How deep tuples, sets and values of registered types may be nested. On load each level takes some 50 KB of the C
# stack, and an interpreter without stack crashes.
DEEPEST = 32
TOO_DEEP = f"tuples, sets and objects lie inside of each other more than {DEEPEST} deep"

Pack: TypeAlias = Callable[[Any], bytes]
Read: TypeAlias = Callable[[bytes], Any]

_MICROSECOND = dt.timedelta(microseconds=1)
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*\Z")
# How many comparisons of keys with equal hashes are accepted, and how many more for each key. No real set comes near
# that, but a hostile one can keep a CPU busy for hours.
_COMPARISONS, _COMPARISONS_EACH = 1_000_000, 16
FEW = 1000


def class_of(value: object) -> type[Any]:
    """`type`, with a result that checkers take as it is."""
    return type(value)


class NotPlain(Exception):
    """The value could not be restored. The text says why, `advice` says what to do."""

    def __init__(self, reason: str, *, advice: str = "Convert it to plain values first") -> None:
        super().__init__(reason)
        self.advice = advice


def check_hashes(keys: Collection[Any]) -> None:
    """Refuse keys if so many have the same hash that a set or dict of them takes quadratic time."""
    if len(keys) > FEW:
        work = sum(same * same for same in Counter(map(hash, keys)).values())
        if work > _COMPARISONS + _COMPARISONS_EACH * len(keys):
            raise NotPlain("too many of its keys have one and the same hash")


def distinct_dict(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dict of stored pairs whose keys may be anything."""
    check_hashes([key for key, _ in pairs])
    return dict(pairs)


def _pack_set(value: set[Any] | frozenset[Any], pack: Pack) -> bytes:
    """In an order that does not depend on the process: the same payload must have the same bytes."""
    check_hashes(value)
    head: bytes = msgpack.Packer().pack_array_header(len(value))
    return head + b"".join(sorted(map(pack, value)))


def _elements(data: bytes, read: Read) -> Sequence[Any]:
    elements: list[Any] = read(data)
    check_hashes(elements)
    return elements


def _zone(zone: dt.tzinfo | None) -> Any:
    """A zone as stored: None, a name, an offset in microseconds, [offset, name], or [offset] of pydantic's own."""
    if zone is None:
        return None
    if type(zone) is ZoneInfo:
        return _zone_name(zone)
    if type(zone) is dt.timezone:
        name: tuple[str, ...] = cast("Any", zone).__getinitargs__()[1:]
        offset = zone.utcoffset(None) // _MICROSECOND
        return [offset, *name] if name else offset
    if type(zone) is TzInfo:
        return [cast("dt.timedelta", zone.utcoffset(None)) // _MICROSECOND]
    raise NotPlain(f"a time zone of type {type(zone).__qualname__} has no name to restore it by: use zoneinfo")


@lru_cache(maxsize=64)
def _zone_name(zone: ZoneInfo) -> str:
    try:
        zone.__reduce__()  # fails for a zone that was read from a file, whose name may mean another zone elsewhere
        return _named_zone(zone.key).key
    except Exception:
        raise NotPlain(f"the time zone {zone.key!r} can't be found by its name: make it with ZoneInfo(name)") from None


def _restore_zone(stored: Any) -> dt.tzinfo | None:
    if isinstance(stored, str):
        return _named_zone(stored)
    if stored is None or isinstance(stored, int):
        return None if stored is None else dt.timezone(dt.timedelta(microseconds=stored))
    offset, *name = stored
    return dt.timezone(dt.timedelta(microseconds=offset), *name) if name else TzInfo(offset / 1e6)


@lru_cache(maxsize=64)
def _named_zone(name: str) -> ZoneInfo:
    if not _ZONE_NAME.match(name):
        raise ValueError(f"{name[:60]!r} is no time zone's name")
    try:
        return ZoneInfo(name)
    except Exception:
        raise BadSetup(f"this machine does not know the time zone {name!r}: pip install -U tzdata") from None


def _pack_time(value: dt.datetime | dt.time, pack: Pack) -> bytes:
    return pack([value.replace(tzinfo=None).isoformat(), _zone(value.tzinfo), value.fold])


def _read_time(kind: Any, data: bytes, read: Read) -> Any:
    text, zone, fold = read(data)
    return kind.fromisoformat(text).replace(tzinfo=_restore_zone(zone), fold=fold)


def _encode_path(value: PurePath, pack: Pack) -> tuple[int, bytes]:
    return _PATH, pack([isinstance(value, PureWindowsPath), str(value), type(value).__name__.startswith("Pure")])


def _read_path(data: bytes, read: Read) -> PurePath:
    """A path. One of another system becomes a pure path, because it names no file here."""
    windows, text, pure = read(data)
    if pure or bool(windows) != (os.name == "nt"):
        return PureWindowsPath(text) if windows else PurePosixPath(text)
    return Path(text)


ENCODERS: dict[type[Any], Callable[[Any, Pack], tuple[int, bytes]]] = {
    tuple: lambda v, pack: (_TUPLE, pack(list(v))),
    set: lambda v, pack: (_SET, _pack_set(v, pack)),
    frozenset: lambda v, pack: (_FROZENSET, _pack_set(v, pack)),
    int: lambda v, _: (_INT, v.to_bytes((v.bit_length() + 8) // 8, "big", signed=True)),
    dt.datetime: lambda v, pack: (_DATETIME, _pack_time(v, pack)),
    dt.date: lambda v, _: (_DATE, v.isoformat().encode()),
    dt.time: lambda v, pack: (_TIME, _pack_time(v, pack)),
    dt.timedelta: lambda v, pack: (_DELTA, pack([v.days, v.seconds, v.microseconds])),
    Decimal: lambda v, _: (_DECIMAL, str(v).encode()),
    UUID: lambda v, _: (_UUID, v.bytes),
    **dict.fromkeys((PurePosixPath, PureWindowsPath, PosixPath, WindowsPath), _encode_path),
}

DECODERS: dict[int, Callable[[bytes, Read], Any]] = {
    _TUPLE: lambda d, read: tuple(read(d)),
    _SET: lambda d, read: set(_elements(d, read)),
    _FROZENSET: lambda d, read: frozenset(_elements(d, read)),
    _INT: lambda d, _: int.from_bytes(d, "big", signed=True),
    _DATETIME: lambda d, read: _read_time(dt.datetime, d, read),
    _DATE: lambda d, _: dt.date.fromisoformat(d.decode()),
    _TIME: lambda d, read: _read_time(dt.time, d, read),
    _DELTA: lambda d, read: dt.timedelta(*read(d)),
    _DECIMAL: lambda d, _: Decimal(d.decode()),
    _UUID: lambda d, _: UUID(bytes=d),
    _PATH: _read_path,
}

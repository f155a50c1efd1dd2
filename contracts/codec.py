"""How plain values become bytes and come back equal, of the same type, with no code run.

msgpack carries None, bool, int, float, str, bytes, list and dict; extension codes carry what it lacks.
Anything else is refused at save, with the path to the value: what can't be restored can't be saved.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextvars import ContextVar
from decimal import Decimal
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import msgpack

from .errors import Corrupted, Unserializable

# Codes are stored: never renumber. 0-19 are ours; 20 and up are left for registered types.
_TUPLE, _SET, _FROZENSET, _INT, _DATETIME, _DATE, _TIME, _DELTA, _DECIMAL, _UUID, _PATH = range(11)
# How deep values of our types may lie inside of each other: on load each level takes some 50 KB of the C stack, and
# an interpreter that runs out of it crashes.
_DEEPEST = 32
_DEPTH: ContextVar[int] = ContextVar("batonpass_codec_depth", default=0)


def pack(value: Any, *, path: str = "state") -> bytes:
    """Encode plain values; `Unserializable` names the path (which starts with `path`) of one that is not plain."""
    try:
        return _packb(value)
    except (_NotPlain, ValueError, OverflowError, RecursionError) as error:
        raise _explain(value, path, error) from None


def unpack(data: bytes) -> Any:
    """Decode what `pack` made; `Corrupted` if the bytes are something else."""
    try:
        return msgpack.unpackb(data, ext_hook=_decode, strict_map_key=False, raw=False)
    except Exception as error:  # msgpack raises a different class for each way in which bytes can be wrong
        raise Corrupted(f"stored value can't be decoded: {str(error) or type(error).__name__}") from None


class _NotPlain(Exception):
    pass


def _packb(value: Any) -> bytes:
    packed: bytes = msgpack.Packer(default=_encode, strict_types=True, use_bin_type=True).pack(value)
    return packed


def _encode(value: object) -> Any:
    kind = type(value)
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        raise _NotPlain(f"type {kind.__module__}.{kind.__qualname__} is not a plain type")
    code, data = _one_deeper(encoder, value)
    return msgpack.ExtType(code, data)


def _one_deeper(convert: Callable[[Any], Any], value: Any) -> Any:
    depth = _DEPTH.get()
    if depth == _DEEPEST:
        raise ValueError(f"tuples and sets lie inside of each other more than {_DEEPEST} deep")
    token = _DEPTH.set(depth + 1)
    try:
        return convert(value)
    finally:
        _DEPTH.reset(token)


def _encode_int(value: int) -> tuple[int, bytes]:
    return _INT, value.to_bytes((value.bit_length() + 8) // 8, "big", signed=True)


def _zone(zone: dt.tzinfo | None) -> Any:
    """A zone as stored: None, a name, or an offset in microseconds. Only zones that can be named come back equal."""
    if zone is None:
        return None
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    if type(zone) is dt.timezone:
        return zone.utcoffset(None) // dt.timedelta(microseconds=1)
    raise _NotPlain(f"a time zone of type {type(zone).__qualname__} has no name to restore it by: use zoneinfo")


def _restore_zone(stored: Any) -> dt.tzinfo | None:
    if stored is None:
        return None
    return ZoneInfo(stored) if isinstance(stored, str) else dt.timezone(dt.timedelta(microseconds=stored))


def _encode_path(value: PurePath) -> tuple[int, bytes]:
    return _PATH, _packb([isinstance(value, PureWindowsPath), str(value), type(value).__name__.startswith("Pure")])


def _restore_path(stored: list[Any]) -> PurePath:
    windows, text, pure = stored
    if pure:
        return PureWindowsPath(text) if windows else PurePosixPath(text)
    return Path(text)


def _pack_set(value: set[Any] | frozenset[Any]) -> bytes:
    """In an order that does not depend on the process: the same payload must have the same bytes."""
    head: bytes = msgpack.Packer().pack_array_header(len(value))
    return head + b"".join(sorted(map(_packb, value)))


_ENCODERS: dict[type[Any], Callable[[Any], tuple[int, bytes]]] = {
    tuple: lambda v: (_TUPLE, _packb(list(v))),
    set: lambda v: (_SET, _pack_set(v)),
    frozenset: lambda v: (_FROZENSET, _pack_set(v)),
    int: _encode_int,
    dt.datetime: lambda v: (_DATETIME, _packb([v.replace(tzinfo=None).isoformat(), _zone(v.tzinfo), v.fold])),
    dt.date: lambda v: (_DATE, v.isoformat().encode()),
    dt.time: lambda v: (_TIME, _packb([v.replace(tzinfo=None).isoformat(), _zone(v.tzinfo), v.fold])),
    dt.timedelta: lambda v: (_DELTA, _packb([v.days, v.seconds, v.microseconds])),
    Decimal: lambda v: (_DECIMAL, str(v).encode()),
    UUID: lambda v: (_UUID, v.bytes),
    **dict.fromkeys((PurePosixPath, PureWindowsPath, PosixPath, WindowsPath), _encode_path),
}


def _decode(code: int, data: bytes) -> Any:
    decoder = _DECODERS.get(code)
    if decoder is None:
        raise ValueError(f"unknown type code {code}")
    return _one_deeper(decoder, data)


def _decode_datetime(data: bytes) -> dt.datetime:
    text, zone, fold = unpack(data)
    return dt.datetime.fromisoformat(text).replace(tzinfo=_restore_zone(zone), fold=fold)


def _decode_time(data: bytes) -> dt.time:
    text, zone, fold = unpack(data)
    return dt.time.fromisoformat(text).replace(tzinfo=_restore_zone(zone), fold=fold)


_DECODERS: dict[int, Callable[[bytes], Any]] = {
    _TUPLE: lambda d: tuple(unpack(d)),
    _SET: lambda d: set(unpack(d)),
    _FROZENSET: lambda d: frozenset(unpack(d)),
    _INT: lambda d: int.from_bytes(d, "big", signed=True),
    _DATETIME: _decode_datetime,
    _DATE: lambda d: dt.date.fromisoformat(d.decode()),
    _TIME: _decode_time,
    _DELTA: lambda d: dt.timedelta(*unpack(d)),
    _DECIMAL: lambda d: Decimal(d.decode()),
    _UUID: lambda d: UUID(bytes=d),
    _PATH: lambda d: _restore_path(unpack(d)),
}


def _explain(value: Any, path: str, error: Exception) -> Unserializable:
    """Find the first value that can't be packed. Only runs after a failure, so it may be slow."""
    try:
        found = _find(value, path, set())
    except RecursionError:
        found = None
    where, reason = found or (path, str(error).rstrip("."))
    return Unserializable(f"{where} can't be saved: {reason}. Convert it to plain values first", path=where)


def _find(value: Any, path: str, above: set[int]) -> tuple[str, str] | None:
    if id(value) in above:
        return path, "it contains itself"
    inner: list[tuple[str, Any]] = []
    kind = type(cast("object", value))
    if kind is dict:
        inner = [(f"{path} key {key!r}", key) for key in value]
        inner += [(f"{path}[{key!r}]", item) for key, item in value.items()]
    elif kind in (list, tuple, set, frozenset):
        inner = [(f"{path}[{i}]", item) for i, item in enumerate(value)]
    for where, item in inner:
        found = _find(item, where, above | {id(value)})
        if found:
            return found
    if inner:
        return None
    try:
        _packb(value)
    except (_NotPlain, ValueError, OverflowError) as error:
        return path, str(error)
    return None

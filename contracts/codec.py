"""How values become bytes and come back equal, of the same type, with no code run.

msgpack carries None, bool, int, float, str, bytes, list and dict; extension codes carry the other built-in types
(builtin_types.py) and registered ones (state_types.py). Anything else is refused at save, with the path to the value:
what can't be restored can't be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgpack

from .builtin_types import DECODERS, ENCODERS, FEW, NAMED, NotPlain, check_hashes, distinct_dict
from .errors import BatonpassError, Corrupted
from .state_types import StateType, UnknownValue, head, split_head, type_named, type_of
from .unpackable import explain

# How deep tuples, sets and values of registered types may lie inside of each other: on load each level takes some 50 KB
# of the C stack, and an interpreter that runs out of it crashes.
_DEEPEST = 32
_TOO_DEEP = f"tuples, sets and objects lie inside of each other more than {_DEEPEST} deep"
# A packer that has packed more than this is not kept for the next value, and its memory is given back.
_KEEP = 4 << 20
# Inner values larger than this are measured before they are read: each level may claim memory for what is not there.
_LARGE = 1024
_FAILURES = (NotPlain, ValueError, TypeError, OverflowError, RecursionError)


def pack(value: Any, *, path: str = "state") -> bytes:
    """Encode a value; `Unserializable` names the path (which starts with `path`) of what could not come back."""
    writer = _IDLE.pop() if _IDLE else _Writer(0)
    try:
        data = writer.pack(value)
    except _FAILURES as error:
        raise explain(value, path, error, _Writer(0).pack) from None
    if len(data) <= _KEEP:
        _IDLE.append(writer)
    return data


def unpack(data: bytes) -> Any:
    """Decode what `pack` made; `Corrupted` if the bytes are something else.

    A value of a type that this process does not know comes back as `UnknownValue`. `BadSetup` if a type is known, but
    its class does not take what is stored.
    """
    try:
        try:
            value = msgpack.unpackb(data, ext_hook=_read_extension, strict_map_key=True, raw=False)
            return _without_strangers(value) if 0xFF in data else value
        except ValueError:  # most dicts have texts as keys, which msgpack checks at no cost
            return _BY_ANYTHING.read(data)
    except BatonpassError:
        raise
    except Exception as error:  # msgpack raises a different class for each way in which bytes can be wrong
        raise Corrupted(f"stored value can't be decoded: {str(error) or type(error).__name__}") from None


class _Writer:
    """Packs what lies `depth` levels deep in values of extension types. Made once and used again: making a packer takes
    longer than packing a small value."""

    __slots__ = ("_depth", "_inner", "_packer")

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._inner: _Writer | None = None
        self._packer = cast(
            "Any", msgpack.Packer(default=self._encode, strict_types=True, buf_size=1024 if depth else 256 * 1024)
        )

    def pack(self, value: Any) -> bytes:
        data: bytes = self._packer.pack(value)
        # What msgpack packs without asking (it takes a bytearray for bytes, its own ExtType for ours) begins with one of
        # these, which few texts hold. Spelled out: the fastest way that there is, on the path of every save.
        if (
            (0xC4 in data or 0xC5 in data or 0xC6 in data)
            or (0xC7 in data or 0xC8 in data or 0xC9 in data)
            or (0xD4 in data or 0xD5 in data or 0xD6 in data or 0xD7 in data or 0xD8 in data)
        ):
            _without_strangers(value)
        return data

    def _encode(self, value: object) -> msgpack.ExtType:
        if self._inner is None:
            if self._depth == _DEEPEST:
                raise NotPlain(_TOO_DEEP)
            self._inner = _Writer(self._depth + 1)
        encoder = ENCODERS.get(type(value))
        if encoder is not None:
            return msgpack.ExtType(*encoder(value, self._inner.pack))
        if type(value) is UnknownValue:
            return msgpack.ExtType(NAMED, head(value.type_name) + value.packed)
        return msgpack.ExtType(NAMED, _encode_named(value, type_of(type(value)), self._inner.pack))


_IDLE: list[_Writer] = []


def _encode_named(value: object, known: StateType, pack: Callable[[Any], bytes]) -> bytes:
    failed: Exception | None = None
    for form in known.shape.forms(value):
        try:
            return known.head + pack(form())
        except _FAILURES as error:
            failed = failed or error
    assert failed is not None
    raise failed


_STRANGERS: frozenset[type[Any]] = frozenset({bytearray, memoryview, msgpack.ExtType, msgpack.Timestamp})
_LEAVES: frozenset[type[Any]] = frozenset({str, int, float, bool, bytes, type(None)})


def _without_strangers(value: Any) -> Any:
    """The value, unless msgpack packs something in it as what it is not, or reads what we never write."""
    kind = cast("type[Any]", type(value))
    if kind is dict:
        if len(value) > FEW:
            check_hashes(value)
        for key, item in value.items():
            if type(item) not in _LEAVES:
                _without_strangers(item)
            if type(key) not in _LEAVES:
                _without_strangers(key)
    elif kind is list:
        for item in value:
            if type(item) not in _LEAVES:
                _without_strangers(item)
    elif kind in _STRANGERS:
        raise NotPlain(f"a {kind.__qualname__} does not come back as one: use bytes")
    return value


class _Reader:
    """Reads what lies `depth` levels deep in values of extension types. `any_keys`: dicts may have any keys."""

    __slots__ = ("_any_keys", "_depth", "_read_inner")

    def __init__(self, depth: int, *, any_keys: bool) -> None:
        self._depth = depth
        self._any_keys = any_keys
        self._read_inner = _Reader(depth + 1, any_keys=any_keys).read if depth < _DEEPEST else _refuse

    def read(self, data: bytes) -> Any:
        if self._depth and len(data) > _LARGE:
            _measure(data)
        if not self._any_keys:
            value = msgpack.unpackb(data, ext_hook=self.extension, strict_map_key=True, raw=False)
        else:
            try:
                value = msgpack.unpackb(data, **self._options(data))
            except msgpack.StackError:
                value = self._read_deepest(data)
        return _without_strangers(value) if 0xFF in data else value

    def extension(self, code: int, data: bytes) -> Any:
        decoder = DECODERS.get(code)
        if decoder is not None:
            return decoder(data, self._read_inner)
        if code != NAMED:
            raise ValueError(f"unknown type code {code}")
        name, packed = split_head(data)
        known = type_named(name)
        return known.load(self._read_inner(packed)) if known else UnknownValue(name, packed)

    def _options(self, data: bytes) -> dict[str, Any]:
        # Keys of msgpack's own types can't be made to have one hash; those of ours are looked at.
        ours = any(code in data for code in _EXTENSIONS)
        hook = distinct_dict if ours else None
        return {"ext_hook": self.extension, "strict_map_key": False, "object_pairs_hook": hook, "raw": False}

    def _read_deepest(self, data: bytes) -> Any:
        """A list or dict one level deeper than msgpack reads, which it packs: read from its second level on."""
        unpacker = cast("Any", msgpack.Unpacker(max_buffer_size=len(data), **self._options(data)))
        unpacker.feed(data)
        try:
            if data[0] & 0xF0 == 0x80 or data[0] in (0xDE, 0xDF):
                pairs = range(unpacker.read_map_header())
                return distinct_dict([(unpacker.unpack(), unpacker.unpack()) for _ in pairs])
            return [unpacker.unpack() for _ in range(unpacker.read_array_header())]
        except msgpack.StackError:
            raise ValueError("lists and dicts lie inside of each other too deep") from None


def _refuse(data: bytes) -> Any:
    raise ValueError(_TOO_DEEP)


_BY_TEXT, _BY_ANYTHING = _Reader(0, any_keys=False), _Reader(0, any_keys=True)
_read_extension = _BY_TEXT.extension
_EXTENSIONS = (0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8)


def _measure(data: bytes) -> None:
    """Raise if the bytes do not hold what their headers claim, before memory is set aside for it."""
    unpacker = cast("Any", msgpack.Unpacker(max_buffer_size=len(data)))
    unpacker.feed(data)
    unpacker.skip()

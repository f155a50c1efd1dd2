"""Unpacking: bytes as values. Whatever the bytes are, reading them takes time and memory in proportion to them."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import msgpack

from .builtin_types import DECODERS, DEEPEST, NAMED, TOO_DEEP, distinct_dict
from .errors import BatonpassError, Corrupted
from .state_types import UnknownValue, split_head, type_named
from .strangers import without_strangers

# Inner values larger than this are measured before they are read: each level may claim memory for what is not there.
_LARGE = 1024
_EXTENSIONS = (0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8)


class Unfit(NamedTuple):
    """A stored value that its class does not take, and why."""

    value: UnknownValue
    reason: BatonpassError


class Reader:
    """Reads what lies `depth` levels deep in values of extension types. `any_keys`: dicts may have any keys, not only
    texts and bytes. `unfit`: what classes do not take is put there and comes as it is stored, instead of an error."""

    __slots__ = ("_any_keys", "_depth", "_read_inner", "_unfit")

    def __init__(self, depth: int, *, any_keys: bool, unfit: list[Unfit] | None = None) -> None:
        self._depth = depth
        self._any_keys = any_keys
        self._unfit = unfit
        self._read_inner = Reader(depth + 1, any_keys=any_keys, unfit=unfit).read if depth < DEEPEST else _refuse

    def read(self, data: bytes) -> Any:
        """The value; any exception if the bytes are none."""
        if self._depth and len(data) > _LARGE:
            _measure(data)
        if self._any_keys:
            value = msgpack.unpackb(data, **self._options(data))
        else:
            value = msgpack.unpackb(data, ext_hook=self.extension, strict_map_key=True, raw=False)
        return without_strangers(value) if 0xFF in data else value  # the code of msgpack's own Timestamp

    def read_all(self, data: bytes) -> Any:
        """`read`, but a list or dict may be one level deeper than msgpack reads: that is what it packs."""
        try:
            return self.read(data)
        except msgpack.StackError:
            pass
        unpacker = cast("Any", msgpack.Unpacker(max_buffer_size=len(data), **self._options(data)))
        unpacker.feed(data)
        if data[0] & 0xF0 == 0x80 or data[0] in (0xDE, 0xDF):
            pairs = range(unpacker.read_map_header())
            return distinct_dict([(unpacker.unpack(), unpacker.unpack()) for _ in pairs])
        return [unpacker.unpack() for _ in range(unpacker.read_array_header())]

    def extension(self, code: int, data: bytes) -> Any:
        """A value of one of our types."""
        decoder = DECODERS.get(code)
        if decoder is not None:
            return decoder(data, self._read_inner)
        if code != NAMED:
            raise ValueError(f"unknown type code {code}")
        name, packed = split_head(data)
        known = type_named(name)
        if known is None:
            return UnknownValue(name, packed)
        if self._unfit is None:
            return known.load(self._read_inner(packed))
        before = len(self._unfit)
        try:
            inner = self._read_inner(packed)
            # A class with functions of its own would make something else of it, which the next save would store.
            if len(self._unfit) == before or not known.is_custom:
                return known.load(inner)
            error = self._unfit[before].reason
        except Corrupted:
            raise
        except BatonpassError as refused:
            error = refused
        self._unfit[before:] = [Unfit(UnknownValue(name, packed), error)]
        return self._unfit[before].value

    def _options(self, data: bytes) -> dict[str, Any]:
        # Keys of msgpack's own types can't be made to have one hash; those of ours are looked at.
        hook = distinct_dict if any(code in data for code in _EXTENSIONS) else None
        return {"ext_hook": self.extension, "strict_map_key": False, "object_pairs_hook": hook, "raw": False}


def _refuse(data: bytes) -> Any:
    raise ValueError(TOO_DEEP)


def _measure(data: bytes) -> None:
    """Raise if the bytes do not hold what their headers claim, before memory is set aside for it."""
    unpacker = cast("Any", msgpack.Unpacker(max_buffer_size=len(data)))
    unpacker.feed(data)
    unpacker.skip()


BY_TEXT, BY_ANYTHING = Reader(0, any_keys=False), Reader(0, any_keys=True)

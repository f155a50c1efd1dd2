"""Packing: values become bytes, with those of extension types packed inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack

from .builtin_types import DEEPEST, ENCODERS, NAMED, TOO_DEEP, NotPlain
from .state_types import StateType, UnknownValue, head, type_of
from .strangers import without_strangers

_Packer: Any = msgpack.Packer  # typed in part only
FAILURES = (NotPlain, ValueError, TypeError, OverflowError, RecursionError)


class Writer:
    """Packs what is `depth` levels deep in values of extension types. Made once and used again, because making a packer
    takes longer than packing a small value."""

    __slots__ = ("_depth", "_inner", "_packer")

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._inner: Writer | None = None
        buffer = 1024 if depth else 256 * 1024
        self._packer = _Packer(default=self._encode, strict_types=True, buf_size=buffer)

    def pack(self, value: Any) -> bytes:
        """The packed value."""
        data = self.pack_unseen(value)
        # Types that msgpack itself packs (it takes a bytearray for bytes, and its own ExtType for ours) begin with one
        # of these bytes, which short texts don't have. Spelled out, because every save goes through here.
        if (
            (0xC4 in data or 0xC5 in data or 0xC6 in data)
            or (0xC7 in data or 0xC8 in data or 0xC9 in data)
            or (0xD4 in data or 0xD5 in data or 0xD6 in data or 0xD7 in data or 0xD8 in data)
        ):
            without_strangers(value)
        return data

    def pack_unseen(self, value: Any) -> bytes:
        """The same, also of a value that would come back as another."""
        data: bytes = self._packer.pack(value)
        return data

    def _pack_inner(self, value: Any) -> bytes:
        # In a list, because msgpack packs one level more than it reads, and only the outermost value can make up for
        # it.
        return self.pack([value])[1:]

    def _encode(self, value: object) -> msgpack.ExtType:
        if self._inner is None:
            if self._depth == DEEPEST:
                raise NotPlain(TOO_DEEP)
            self._inner = Writer(self._depth + 1)
        pack = self._inner._pack_inner
        encoder = ENCODERS.get(type(value))
        if encoder is not None:
            return msgpack.ExtType(*encoder(value, pack))
        if type(value) is UnknownValue:
            return msgpack.ExtType(NAMED, head(value.type_name) + value.packed)
        return msgpack.ExtType(NAMED, _encode_named(value, type_of(type(value)), pack))


def _encode_named(value: object, known: StateType, pack: Callable[[Any], bytes]) -> bytes:
    failed: Exception | None = None
    for form in known.shape.forms(value):
        try:
            return known.head + pack(form())
        except FAILURES as error:
            failed = failed or error
    assert failed is not None
    raise failed

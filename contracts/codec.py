"""How values become bytes and come back equal, of the same type, with no code run.

msgpack carries None, bool, int, float, str, bytes, list and dict; extension codes carry the other built-in types
(builtin_types.py) and registered ones (state_types.py). Anything else is refused at save, with the path to the value:
what can't be restored can't be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack

from .errors import BatonpassError, Corrupted
from .packing import FAILURES, Writer
from .strangers import without_strangers
from .unpackable import explain
from .unpacking import BY_ANYTHING, BY_TEXT, Reader, Unfit

# A writer that has packed more than this is not kept for the next value, and its memory is given back.
_KEEP = 4 << 20
_IDLE: list[Writer] = []
_PLAIN: Any = msgpack.Packer()  # typed in part only
_read_extension = BY_TEXT.extension


class Packed(bytes):
    """What `pack` has made of a value, in the value's place."""

    __slots__ = ()


def pack(value: Any, *, path: str = "state") -> bytes:
    """Encode a value; `Unserializable` names the path (which starts with `path`) of what could not come back."""
    try:
        return _packed(value)
    except FAILURES as error:
        raise explain(value, path, error, Writer(0).pack) from None


def pack_plain(value: Any, *, path: str = "state") -> bytes:
    """`pack` for lists and dicts of only texts, numbers and bytes, which need no look at each value."""
    try:
        packed: bytes = _PLAIN.pack(value)
    except (ValueError, TypeError, OverflowError):
        return pack(value, path=path)  # raises our own error
    return packed


def try_pack(value: Any) -> bytes | None:
    """The encoded value. None if it could not come back, without the reason that `pack` takes long to find."""
    try:
        return _packed(value)
    except FAILURES:
        return None


def fingerprint(value: Any) -> int | None:
    """A hash of the encoded value, for this process. Equal values have different ones if they are of other types (1 and
    True), or dicts in another order. None if the value can't be encoded."""
    try:
        return hash(_packed(value, Writer.pack_unseen))
    except FAILURES:
        return None


def _packed(value: Any, pack: Callable[[Writer, Any], bytes] = Writer.pack) -> bytes:
    writer = _IDLE.pop() if _IDLE else Writer(0)
    data = pack(writer, value)
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
            return without_strangers(value) if 0xFF in data else value
        except ValueError:  # most dicts have texts as keys, which msgpack checks at no cost
            return BY_ANYTHING.read_all(data)
    except BatonpassError:
        raise
    except Exception as error:
        raise _undecoded(error) from None


def unpack_rest(data: bytes, unfit: list[Unfit]) -> Any:
    """`unpack`, but what a class does not take comes as an `UnknownValue`, and is added to `unfit`."""
    try:
        return unpack(data)
    except Corrupted:
        raise
    except BatonpassError:
        pass
    try:
        return Reader(0, any_keys=True, unfit=unfit).read_all(data)
    except BatonpassError:
        raise
    except Exception as error:
        raise _undecoded(error) from None


def _undecoded(error: Exception) -> Corrupted:
    # msgpack raises a different class for each way in which bytes can be wrong.
    return Corrupted(f"stored value can't be decoded: {str(error) or type(error).__name__}")

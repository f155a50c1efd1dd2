"""Frames: a log's bytes in portions that were coded separately. A frame is a length (4 bytes) and the coded bytes."""

from __future__ import annotations

from ...contracts.errors import Corrupted
from ..parts.framed import Frame, Framed
from ..parts.spans import Span
from .codec import CODED, PLAIN, Codec, KeyName, key_of


def frame(codec: Codec, log: str, at: int, data: bytes) -> bytes:
    """Bytes to be appended to a log, as a frame."""
    coded = codec.wrap(data, f"{log}:{at}")
    return len(coded).to_bytes(4, "big") + coded


def unframe(codec: Codec, span: Span, stored: bytes) -> Framed:
    """What the frames of a span contain. `Corrupted` if they are not what was appended there."""
    pieces, frames = list[bytes](), list[Frame]()
    at = 0
    while at < len(stored):
        end = at + 4 + int.from_bytes(stored[at : at + 4], "big")
        if end > len(stored):
            raise Corrupted(f"{span.log}:{span.first + at} is cut short")
        pieces.append(codec.unwrap(stored[at + 4 : end], f"{span.log}:{span.first + at}"))
        frames.append(Frame(len(pieces[-1]), end - at))
        at = end
    found = Framed(b"".join(pieces))
    found.frames = tuple(frames)
    return found


def keys_in(stored: bytes) -> set[KeyName | None]:
    """The keys with which these bytes of a log were stored, in frames or plain."""
    keys: set[KeyName | None] = set()
    at = 0
    while at < len(stored):
        end = at + 4 + int.from_bytes(stored[at : at + 4], "big")
        if end > len(stored) or stored[at + 4 : at + 5] != CODED:
            return {PLAIN}
        keys.add(key_of(stored[at + 4 : end]))
        at = end
    return keys

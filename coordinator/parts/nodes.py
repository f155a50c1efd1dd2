"""Nodes: the parts of a state, as stored, and as the next state is compared with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import field
from threading import Lock
from typing import Any, TypeAlias

from xxhash import xxh3_128

from ...contracts.codec import pack, unpack_rest
from ...contracts.lean import dataclass
from .body import value_of
from .framed import Frame
from .spans import Span, cut

Path: TypeAlias = tuple[Any, ...]


class _Growing:
    """Held while a buffer grows. Replaced after a fork, because another thread of the parent may have held it."""

    lock = Lock()

    @classmethod
    def renew(cls) -> None:
        cls.lock = Lock()


os.register_at_fork(after_in_child=_Growing.renew)


@dataclass(slots=True)
class Inline:
    """A value that is in the checkpoint itself, packed."""

    packed: bytes

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self.packed)


@dataclass(slots=True)
class Part:
    """A value that is in logs. Its body is the first `length` bytes of `buffer`, which later parts may extend.

    `hash` has been fed the body. `open_end`: as far as is known, its logs end with it, except those that are `closed`.
    Its last `tail` bytes are in no log, but in the checkpoint itself. `frames`: those in which its logs hold the rest,
    if a codec made such.
    """

    kind: str
    count: int
    spans: list[Span]
    buffer: bytes | bytearray
    length: int
    hash: xxh3_128
    open_end: bool = True
    tail: int = 0
    closed: frozenset[str] = frozenset()
    frames: tuple[Frame, ...] | None = None

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return self.length

    @property
    def framed(self) -> bool:
        """Whether its logs hold it in frames."""
        return self.frames is not None

    def ends(self) -> dict[str, int]:
        """Where the logs end that end with it."""
        found: dict[str, int] = {}
        for span in self.spans if self.open_end else ():
            if span.log not in self.closed:
                found[span.log] = max(span.last, found.get(span.log, 0))
        return found

    @property
    def end(self) -> bytes:
        """The bytes that are in the checkpoint itself."""
        with memoryview(self.buffer) as whole, whole[self.length - self.tail : self.length] as mine:
            return bytes(mine)

    @property
    def body(self) -> bytes:
        """The value's bytes."""
        if isinstance(self.buffer, bytes):
            return self.buffer
        with memoryview(self.buffer) as whole, whole[: self.length] as mine:
            return bytes(mine)

    def begins(self, packed: bytes, start: int) -> bool:
        """Whether this body is what the given bytes begin with, from `start` on."""
        with memoryview(self.buffer) as whole, whole[: self.length] as mine:
            return packed.startswith(mine, start)

    def find(self, wanted: bytes) -> list[Span]:
        """Where logs hold these bytes, as a piece of the body. Empty if none do."""
        if self.framed:
            return []
        at = self.buffer.find(wanted, 0, self.length - self.tail)
        return list(cut(self.spans, at, at + len(wanted))) if at >= 0 else []

    def grown(
        self,
        data: bytes,
        count: int,
        spans: list[Span],
        closed: frozenset[str],
        frames: tuple[Frame, ...] | None,
        tail: int = 0,
    ) -> Part:
        """A longer part, of which the last `tail` bytes are in no log. They share the buffer, so that each byte is in
        memory once, however many parts there are."""
        hashed = self.hash.copy()
        hashed.update(data)
        with _Growing.lock:
            buffer = self.buffer
            if not isinstance(buffer, bytearray) or len(buffer) != self.length:
                buffer = bytearray(buffer[: self.length])
            try:
                buffer += data
            except BufferError:  # another thread is reading it
                buffer = bytearray(buffer[: self.length]) + data
        length = self.length + len(data)
        return Part(self.kind, count, spans, buffer, length, hashed, not tail, tail, closed, frames)


@dataclass(slots=True)
class Branch:
    """A dict whose values are nodes of their own."""

    children: dict[Any, Node] = field(default_factory=dict["Any", "Node"])

    @property
    def size(self) -> int:
        """The length of what it holds in bytes, without its keys."""
        return sum(child.size for child in self.children.values())


Node: TypeAlias = Inline | Part | Branch


@dataclass(slots=True)
class Base:
    """What is known of a stored checkpoint, for the next one to share: the nodes of its state and native part, its
    state's version, and whose it is."""

    id: str
    state: Node
    native: Node | None
    version: int = 1
    agent: str = ""

    @property
    def size(self) -> int:
        """About how much memory it holds, in bytes."""
        return sum(node.size for node in (self.state, self.native) if node)


def skeleton(node: Node) -> bytes:
    """The packed value, with nil in place of each part, or the end of its body that is in no log."""
    if isinstance(node, Inline):
        return node.packed
    if isinstance(node, Part):
        return pack(node.end) if node.tail else b"\xc0"
    pieces = [_map_header(len(node.children))]
    for key, child in node.children.items():
        pieces += (pack(key), skeleton(child))
    return b"".join(pieces)


def parts(node: Node | None, path: Path = ()) -> Iterator[tuple[Path, Part]]:
    """All parts below a node, with their keys from the top."""
    if isinstance(node, Part):
        yield path, node
    elif isinstance(node, Branch):
        for key, child in node.children.items():
            yield from parts(child, (*path, key))


def value(node: Node | None) -> Any:
    """The node's value, as new objects. What their classes do not take is in it as it is stored."""
    if node is None:
        return None
    if isinstance(node, Inline):
        return _read(node.packed)
    if isinstance(node, Part):
        return value_of(node.kind, node.count, node.body, _read)
    return {key: value(child) for key, child in node.children.items()}


def children_of(node: Node | None) -> dict[Any, Node]:
    """The nodes in a dict's node. Empty for other nodes."""
    if isinstance(node, Branch):
        return node.children
    if isinstance(node, Inline) and (node.packed[0] & 0xF0 == 0x80 or node.packed[0] in (0xDE, 0xDF)):
        return {key: Inline(pack(item)) for key, item in _read(node.packed).items()}
    return {}


def _read(packed: bytes) -> Any:
    return unpack_rest(packed, [])


def _map_header(count: int) -> bytes:
    if count < 16:
        return bytes([0x80 | count])
    return b"\xde" + count.to_bytes(2, "big") if count < 65_536 else b"\xdf" + count.to_bytes(4, "big")

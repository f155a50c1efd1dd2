"""Nodes: a state as it is stored, and as the next state is compared with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias

from xxhash import xxh3_128

from ...contracts.codec import pack, unpack
from .body import value_of
from .spans import Span

Path: TypeAlias = tuple[Any, ...]


class _Growing:
    """Held while a buffer grows. A fork's child gets a new one: another thread of the parent may have held it."""

    lock = Lock()

    @classmethod
    def renew(cls) -> None:
        cls.lock = Lock()


os.register_at_fork(after_in_child=_Growing.renew)


@dataclass(slots=True)
class Inline:
    """A value that lies in the checkpoint itself, packed."""

    packed: bytes


@dataclass(slots=True)
class Part:
    """A value that lies in logs. Its body is the first `length` bytes of `buffer`, which later parts may extend.

    `hash` has been fed the body. `open_end`: as far as is known, nothing was appended to the last log after it.
    `framed`: its logs hold it in coded portions. Its last `tail` bytes lie in no log, but in the checkpoint itself.
    """

    kind: str
    count: int
    spans: list[Span]
    buffer: bytes | bytearray
    length: int
    hash: xxh3_128
    open_end: bool = True
    framed: bool = False
    tail: int = 0

    @property
    def end(self) -> bytes:
        """What lies in the checkpoint itself."""
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
        """Whether the bytes from `start` on begin with this body."""
        with memoryview(self.buffer) as whole, whole[: self.length] as mine:
            return packed.startswith(mine, start)

    def grown(self, data: bytes, count: int, spans: list[Span], tail: int = 0) -> Part:
        """A part with more bytes behind, of which the last `tail` lie in no log. Shares the buffer: each byte is kept
        once, however many parts there are."""
        hashed = self.hash.copy()
        hashed.update(data)
        with _Growing.lock:
            buffer = self.buffer
            if not isinstance(buffer, bytearray) or len(buffer) != self.length:
                buffer = bytearray(buffer[: self.length])
            try:
                buffer += data
            except BufferError:  # another thread is just reading it
                buffer = bytearray(buffer[: self.length]) + data
        length = self.length + len(data)
        return Part(self.kind, count, spans, buffer, length, hashed, not tail, self.framed, tail)


@dataclass(slots=True)
class Branch:
    """A dict whose values are nodes of their own."""

    children: dict[Any, Node] = field(default_factory=dict["Any", "Node"])


Node: TypeAlias = Inline | Part | Branch


@dataclass(slots=True)
class Base:
    """What is known of a stored checkpoint, for the next one to share: its state's node and its native part's, and of
    which version the state is."""

    id: str
    state: Node
    native: Node | None
    version: int = 1

    @property
    def size(self) -> int:
        """About how much memory it holds on to, in bytes."""
        return sum(_size(node) for node in (self.state, self.native) if node)


def skeleton(node: Node) -> bytes:
    """The packed value with nil in place of each part, or what of its body lies in no log."""
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
    """The node's value, made anew."""
    if node is None:
        return None
    if isinstance(node, Inline):
        return unpack(node.packed)
    if isinstance(node, Part):
        return value_of(node.kind, node.count, node.body)
    return {key: value(child) for key, child in node.children.items()}


def children_of(node: Node | None) -> dict[Any, Node]:
    """What a dict's node is made of; empty for what is no dict."""
    if isinstance(node, Branch):
        return node.children
    if isinstance(node, Inline) and (node.packed[0] & 0xF0 == 0x80 or node.packed[0] in (0xDE, 0xDF)):
        return {key: Inline(pack(item)) for key, item in unpack(node.packed).items()}
    return {}


def _map_header(count: int) -> bytes:
    if count < 16:
        return bytes([0x80 | count])
    return b"\xde" + count.to_bytes(2, "big") if count < 65_536 else b"\xdf" + count.to_bytes(4, "big")


def _size(node: Node) -> int:
    if isinstance(node, Branch):
        return sum(_size(child) for child in node.children.values())
    return node.length if isinstance(node, Part) else len(node.packed)

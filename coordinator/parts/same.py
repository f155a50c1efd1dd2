"""Same: a packed value as nodes, some of which a known value has in the same place."""

from __future__ import annotations

from itertools import pairwise

from ...contracts.codec import unpack
from .body import DICT, OTHER, ends_in, header
from .nodes import Branch, Inline, Node, Part


def shared_with(packed: bytes, known: Node | None, least: int) -> Node:
    """A packed value: a node of the known one if that is the same, or a dict of which some values are, as where one
    of many files was written. Only a value of the `least` size is compared."""
    if len(packed) < least or known is None:
        return Inline(packed)
    if isinstance(known, Part):
        return known if _is(packed, known) else Inline(packed)
    kind, start = header(packed)
    if not isinstance(known, Branch) or kind != DICT:
        return Inline(packed)
    rest = memoryview(packed)[start:]
    cuts = [start, *(start + end for end in ends_in(rest, len(rest)))]
    items = [packed[first:last] for first, last in pairwise(cuts)]
    keys = map(unpack, items[::2])
    return Branch({
        key: shared_with(item, known.children.get(key), least) for key, item in zip(keys, items[1::2], strict=True)
    })  # fmt: skip


def _is(packed: bytes, part: Part) -> bool:
    kind, start = header(packed)
    if part.kind == OTHER:
        start = 0
    return part.kind in (kind, OTHER) and part.length == len(packed) - start and part.begins(packed, start)

"""Splitting: a state becomes nodes, each compared with what the base has in the same place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard, cast

from ...contracts.codec import Packed, pack, unpack
from ...contracts.errors import BadSetup
from .body import LIST, OTHER, TEXT, Body, appended, body_of, header
from .nodes import Branch, Inline, Node, Part, children_of, value
from .share import longer, shared, unchanged, whole
from .writer import Writer

# A smaller state is stored whole, because comparing takes longer than sending. A smaller value is, too, because a part
# takes space in the header.
_PAGE = 8192
_LEAST = 512
# A value of this size gets a log even before anything can share it.
_LARGE = 16_384
# A dict of more keys is compared as a list of pairs, not key by key.
_WIDE = 64
# Each level packs all that is below it, and takes some of Python's stack.
_DEEPEST = 48
# Types of keys that are still equal after they were stored and read. A part's path is made of such keys.
_FOUND_AGAIN = frozenset({str, int, bytes, bool, type(None)})


def split(item: Any, base: Node | None, writer: Writer, path: str) -> Node:
    """A whole state as nodes. `path` names it in errors."""
    packed = b""
    if isinstance(item, Packed):
        if len(item) <= _PAGE and not isinstance(base, Part | Branch):
            return Inline(item)
        item = unpack(item)
    if not _splits(item, base):
        packed = pack(item, path=path)
        if len(packed) <= _PAGE and not isinstance(base, Part | Branch):
            return Inline(packed)
    if _narrow(item):
        return _branch(item, base, writer, path, 1)
    return _leaf(item, packed or pack(item, path=path), base, writer)


def _narrow(item: Any) -> TypeGuard[dict[Any, Any]]:
    """Whether a value is compared key by key."""
    return item.__class__ is dict and len(item) <= _WIDE


def _splits(item: Any, base: Node | None) -> TypeGuard[dict[Any, Any]]:
    return isinstance(base, Branch) and _narrow(item)


def _branch(item: dict[Any, Any], base: Node | None, writer: Writer, path: str, depth: int) -> Branch:
    known = children_of(base)
    return Branch({key: _child(key, child, known.get(key), writer, path, depth) for key, child in item.items()})


def _child(key: Any, item: Any, base: Node | None, writer: Writer, path: str, depth: int) -> Node:
    below = f"{path}[{key!r}]"
    if key.__class__ not in _FOUND_AGAIN:
        return Inline(pack(item, path=below))
    return _node(item, base, writer, below, depth)


def _node(item: Any, base: Node | None, writer: Writer, path: str, depth: int) -> Node:
    if depth < _DEEPEST and _splits(item, base):
        return _branch(item, base, writer, path, depth + 1)
    packed = pack(item, path=path)
    if depth < _DEEPEST and len(packed) > _PAGE and _narrow(item):
        return _branch(item, base, writer, path, depth + 1)
    return _leaf(item, packed, base, writer)


def _leaf(item: Any, packed: bytes, base: Node | None, writer: Writer) -> Node:
    if len(packed) < _LEAST:
        return Inline(packed)
    body = body_of(item, packed)
    if isinstance(base, Part) and base.kind == body.kind:
        part = shared(body, base, writer)
        if part is not None:
            return part
    elif isinstance(base, Inline) and len(base.packed) >= _LEAST and _extends(body, base.packed):
        return whole(body, writer)
    return whole(body, writer) if len(body) >= _LARGE else Inline(packed)


def _extends(body: Body, before: bytes) -> bool:
    kind, start = header(before)
    if body.kind == OTHER:
        return body.packed == before
    return body.kind == kind and body.packed.startswith(before[start:], body.start)


def amend(base: Node, changes: Mapping[str, Any], append: Mapping[str, Any], writer: Writer) -> Node:
    """The base's state with some values changed and some appended to. Takes time for what is new, not for the rest,
    unless the state has many keys."""
    children: dict[Any, Node] = dict(children_of(base))
    if not children or len(children) > _WIDE:
        state: Any = value(base)
        if cast("object", state).__class__ is not dict:
            kind = type(state).__name__
            raise BadSetup(f"changes= and append= need a dict to change, but the state is a {kind}")
        if state:  # of many keys: to make a node of each would take several times as long as to save it all
            return split(_merged(state, changes, append), base, writer, "state")
    for key, child in [*children.items()]:
        if key not in changes and key not in append:
            children[key] = unchanged(child, writer)
    for key, item in changes.items():
        children[key] = _child(key, item, children.get(key), writer, "state", 1)
    for key, items in append.items():
        children[key] = _continued(items, children.get(key), writer, f"state[{key!r}]")
    amended = Branch(children)
    return amended if len(children) <= _WIDE else split(value(amended), base, writer, "state")


def _merged(state: dict[Any, Any], changes: Mapping[str, Any], append: Mapping[str, Any]) -> dict[Any, Any]:
    merged = {**state, **changes}
    for key, items in append.items():
        merged[key] = _joined(merged[key], items, f"state[{key!r}]") if key in merged else items
    return merged


def _continued(items: Any, base: Node | None, writer: Writer, path: str) -> Node:
    if base is None:
        return _node(items, None, writer, path, 1)
    kind: type[Any] = items.__class__
    if isinstance(base, Part) and _FLAT.get(kind) == base.kind and base.framed is writer.framed:
        count, data = appended(base.kind, items, path)
        return longer(base, data, base.count + count, writer)
    return _node(_joined(value(base), items, path), base, writer, path, 1)


def _joined(before: Any, items: Any, path: str) -> Any:
    kind: type[Any] = items.__class__
    if (kind not in _FLAT and kind is not dict) or type(before) is not kind:
        known = type(before).__name__
        raise BadSetup(
            f"append= can't continue {path}, a {known}, with a {kind.__name__}: only list, dict and str can grow"
        )
    return {**before, **items} if kind is dict else before + items


_FLAT: dict[type[Any], str] = {list: LIST, str: TEXT}

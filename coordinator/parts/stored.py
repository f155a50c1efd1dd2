"""A checkpoint's parts as stored: named in its header, and verified when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from xxhash import xxh3_128

from ...contracts.codec import pack, unpack
from ...contracts.lean import dataclass
from .body import value_of
from .framed import frames_of
from .nodes import Branch, Inline, Node, Part, Path, parts
from .spans import Span

STATE, NATIVE = 0, 1
ROOTS = ("state", "native")


@dataclass(slots=True)
class StoredPart:
    """A part that was read. `part` is None if its bytes are not those that were saved, `found` what is there instead:
    these, or what says why nobody could read them here."""

    root: int
    path: Path
    part: Part | None
    found: Sequence[bytes] = ()

    @property
    def name(self) -> str:
        """The path as users write it."""
        return ROOTS[self.root] + "".join(f"[{key!r}]" for key in self.path)


def describe(state: Node, native: Node | None) -> tuple[list[Any], list[Span]]:
    """What the header says of the parts, and all their spans, in the same order."""
    entries: list[Any] = []
    spans: list[Span] = []
    for root, node in ((STATE, state), (NATIVE, native)):
        for path, part in parts(node):
            entry = [root, list(path), part.kind, part.count, len(part.spans), part.hash.digest()]
            entries.append([*entry, 1] if part.framed else entry)
            spans += part.spans
    return entries, spans


def closed_in(state: Node, native: Node | None) -> list[list[int]]:
    """The parts that have closed logs, by their numbers, each with the numbers of spans in these."""
    found: list[list[int]] = []
    for number, part in enumerate(part for node in (state, native) for _, part in parts(node)):
        firsts = {span.log: at for at, span in reversed([*enumerate(part.spans)]) if span.log in part.closed}
        found += [[number, *sorted(firsts.values())]] if firsts else []
    return found


def read_parts(
    entries: Sequence[Any],
    spans: Sequence[Span],
    bodies: Sequence[bytes],
    roots: list[Any],
    closed: Sequence[Sequence[int]] = (),
) -> Iterator[StoredPart]:
    """The parts that a header names, from what their spans hold and from the ends of their bodies in `roots` (the
    checkpoint itself), which are removed there. `closed` is what `closed_in` says of them."""
    first = 0
    shut = {number: places for number, *places in closed}
    for number, (root, path, kind, count, pieces, digest, *framed) in enumerate(entries):
        last = first + pieces
        end = _taken(roots, root, path)
        found = [*bodies[first:last], end] if end else bodies[first:last]
        body = found[0] if len(found) == 1 else b"".join(found)
        part = Part(
            kind,
            count,
            list(spans[first:last]),
            body,
            len(body),
            xxh3_128(body),
            open_end=not end,
            tail=len(end),
            closed=frozenset([spans[first + at].log for at in shut.get(number, ())]),
            frames=frames_of(found) if framed else None,
        )
        intact = part.hash.digest() == digest
        yield StoredPart(root, tuple(path), part if intact else None, () if intact else found)
        first = last


class Claim(NamedTuple):
    """What a header says of a part: where its bytes are, what is behind them in the checkpoint itself, and the digest
    of both."""

    spans: Sequence[Span]
    end: bytes
    digest: bytes


def claims(entries: Sequence[Any], spans: Sequence[Span], roots: list[Any]) -> Iterator[Claim]:
    """As `read_parts`, without what the spans hold."""
    first = 0
    for root, path, _, _, pieces, digest, *_ in entries:
        yield Claim(spans[first : first + pieces], _taken(roots, root, path), digest)
        first += pieces


def _taken(roots: list[Any], root: int, path: Sequence[Any]) -> bytes:
    """Takes what is held in a part's place, and leaves nil."""
    holder: Any = roots
    for key in (root, *path)[:-1]:
        holder = holder[key]
        if holder is None:  # damaged
            return b""
    last = path[-1] if path else root
    held, holder[last] = holder[last], None
    return held or b""


def put_in(roots: list[Any], stored: StoredPart, read: Callable[[bytes], Any] = unpack) -> None:
    """Puts a part's value in its place in `roots`, which are state and native part."""
    assert stored.part is not None
    whole = value_of(stored.part.kind, stored.part.count, stored.part.body, read)
    if not stored.path:
        roots[stored.root] = whole
        return
    if roots[stored.root] is None:  # damaged, though this part is not
        roots[stored.root] = {}
    place = roots[stored.root]
    for key in stored.path[:-1]:
        place = place.setdefault(key, {})
    place[stored.path[-1]] = whole


def take_out(roots: list[Any], stored: StoredPart) -> None:
    """Takes what stands for a damaged part out of `roots`, as if it had never been there. A whole state stays nil."""
    place: Any = roots[stored.root]
    for key in stored.path[:-1]:
        place = place and place.get(key)
    if place and stored.path:
        place.pop(stored.path[-1], None)


def node_of(held: Any, below: dict[Path, Part]) -> Node:
    """The node of a value that a checkpoint holds, with the parts below it by path."""
    if not below:
        return Inline(pack(held))
    if () in below:
        return below[()]
    children: dict[Any, Node] = {}
    for key, item in cast("dict[Any, Any]", held).items():
        inner = {path[1:]: part for path, part in below.items() if path[0] == key}
        children[key] = node_of(item, inner)
    return Branch(children)

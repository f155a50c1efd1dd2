"""Sharing: which bytes of a value its base already keeps, and where the new ones go."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from xxhash import xxh3_128

from .body import Body
from .layout import MOST_LOGS, Layout, longest
from .nodes import Branch, Node, Part, children_of, parts
from .pieces import matches
from .runs import merged
from .spans import Span, joined
from .writer import Writer

# A value in more pieces is written anew: its spans take space in every checkpoint, and time to read. With one piece for
# every 4 KB at 128 KB, and the root of that for more, both take the least space if pieces are changed at random.
_FEW, _ROOM = 32, 8
# About what a span takes in a checkpoint, in bytes.
_SPAN = 45


def whole(body: Body, writer: Writer) -> Part:
    """A part that shares nothing."""
    data = body.packed[body.start :] if body.start else body.packed
    span, frames = writer.append(data)
    return Part(body.kind, body.count, [span], data, len(data), xxh3_128(data), frames=frames)


def unchanged(node: Node, writer: Writer) -> Node:
    """A node that stays as it is."""
    if not any(_is_due(part, writer) for _, part in parts(node)):
        return node
    if isinstance(node, Part):
        return longer(node, b"", node.count, writer)
    return Branch({key: unchanged(child, writer) for key, child in children_of(node).items()})


def shared(body: Body, base: Part, writer: Writer) -> Part | None:
    """A part that shares with the base. None if that is not worth it."""
    if base.framed is not writer.framed:  # since then, a codec was added or removed
        return None
    if base.begins(body.packed, body.start):
        return longer(base, body.packed[body.start + base.length :], body.count, writer)
    return _pieced(body, base, writer)


def longer(base: Part, data: bytes, count: int, writer: Writer) -> Part:
    """The base, longer by these bytes. The tail that the base itself held goes along."""
    if _is_due(base, writer):
        return whole(Body(base.kind, count, base.body + data, 0), writer)
    new = base.end + data if base.tail else data
    if not new:
        return base
    if writer.keeps(len(new)):
        return base.grown(data, count, base.spans, base.closed, base.frames, len(new))
    ends = writer.ends(base)
    closed = frozenset(span.log for span in base.spans if span.log not in ends)
    span, frames = writer.append(new, base)
    frames = None if base.frames is None else (*base.frames, *(frames or ()))
    return base.grown(data, count, joined([*base.spans, span]), closed, frames)


def _pieced(body: Body, base: Part, writer: Writer) -> Part | None:
    data = body.packed[body.start :]
    layout = Layout(data, base, writer)
    runs = layout.runs(matches(body.kind, data, base.body[: base.length - base.tail]))
    most = max(_FEW, isqrt(len(data) // _ROOM))
    shortened = len(runs) > most
    if shortened:
        runs = longest(runs, (most - 1) // 2)
    kept = [run for run in runs if run.at >= 0]
    if shortened and sum(run.last - run.first for run in kept) < len(data) // 4:
        return None
    if not kept or sum(run.last - run.first for run in runs) != len(data):
        return None  # nothing in common; or some bytes are in no piece, which would be lost
    end = kept[-1].last  # behind it, all is new
    tail = len(data) - end if runs[len(kept) - 1] is kept[-1] and writer.keeps(len(data) - end) else 0
    before = len(writer.appends)
    layout.fill(kept if tail else runs, apart=not writer.owns)
    spans = joined(layout.spans)
    if _too_many(spans, most, base, writer):
        del writer.appends[before:]
        return None
    writer.appends[before:] = merged(writer.appends[before:])
    hashed = xxh3_128(data)
    closed, frames = layout.closed(), layout.frames()
    return Part(body.kind, body.count, spans, data, len(data), hashed, not tail, tail, closed, frames)


def _is_due(base: Part, writer: Writer) -> bool:
    """Whether a value of many pieces is written anew now, because its spans are kept with each checkpoint.

    That is drawn, so rarely that they have cost as much as the value by then, on average. What they have cost so far
    can't be counted, since a client that has just read the checkpoint does not know it.
    """
    pieces = len(base.spans)
    return pieces > _FEW and writer.drawn < pieces * _SPAN / base.length


def _too_many(spans: Sequence[Span], most: int, base: Part, writer: Writer) -> bool:
    """Whether a value is rather written anew. While pieces come with each save, that is in time if there are `most`."""
    logs, more = {span.log for span in spans}, len(spans) > len(base.spans)
    return len(spans) > most or len(logs) > MOST_LOGS or (not more and _is_due(base, writer))

"""Span: a byte range of a log. A log is only ever appended to, and named by the checkpoint that began it.

Stored in the commit line as text, `log:first:last,log:first:last`, which stores read to fetch and to free the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...contracts.errors import Corrupted

_SPAN = re.compile(r"(c[0-9a-z]{23}\.[0-9]{1,6}):([0-9]{1,15}):([0-9]{1,15})", re.ASCII)


class Span(NamedTuple):
    """The bytes of a log from `first` up to, not including, `last`."""

    log: str
    first: int
    last: int


class Append(NamedTuple):
    """Bytes for a log whose length must be `at`, or the checkpoint is refused."""

    log: str
    at: int
    data: bytes


def write_spans(spans: Iterable[Span]) -> str:
    """Spans as stored."""
    return ",".join([f"{span.log}:{span.first}:{span.last}" for span in spans])


def read_spans(text: str) -> list[Span]:
    """Reads stored spans. `Corrupted` if they are malformed."""
    if not text:
        return []
    found: list[Span] = []
    for part in text.split(","):
        matched = _SPAN.fullmatch(part)
        if matched is None or int(matched[2]) >= int(matched[3]):
            raise Corrupted(f"a checkpoint's spans can't be read: {part[:60]!r}")
        found.append(Span(matched[1], int(matched[2]), int(matched[3])))
    return found


def found_in(appends: Iterable[Append], wanted: bytes) -> list[Span]:
    """Where appended bytes hold these. Empty if none do."""
    for append in appends:
        at = append.data.find(wanted)
        if at >= 0:
            return [Span(append.log, append.at + at, append.at + at + len(wanted))]
    return []


def cut(spans: Iterable[Span], first: int, last: int) -> Iterator[Span]:
    """The spans of the bytes from `first` to `last` of what these spans hold."""
    at = 0
    for span in spans:
        size = span.last - span.first
        begin, end = max(first - at, 0), min(last - at, size)
        if begin < end:
            yield Span(span.log, span.first + begin, span.first + end)
        at += size


def joined(spans: Iterable[Span]) -> list[Span]:
    """The spans, with adjacent ones joined."""
    result: list[Span] = []
    for span in spans:
        if result and result[-1].log == span.log and result[-1].last == span.first:
            result[-1] = Span(span.log, result[-1].first, span.last)
        else:
            result.append(span)
    return result

"""Items: calls about values that are kept under labels and a key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from ..commands import ListItems, ListSpaces, ReadItems, RefreshItems, WriteItems
from ..items import OURS, ItemChange, ItemName, ItemPage, ItemRow, SpacePage
from ..refusals import Denied
from . import Call

# How many items a page has, and how many are read or written at once.
PAGE = 100
_MOST = 500
_FAR = 2**53  # more than there are, and a number in each store


def write(changes: Iterable[ItemChange]) -> Call[None]:
    """Put and delete items, 500 at a time. If one is changed several times, the last change counts."""
    left = list({change.name: change for change in changes}.values())
    for at in range(0, len(left), _MOST):
        yield WriteItems(tuple(left[at : at + _MOST]))


def read(names: Sequence[ItemName]) -> Call[dict[ItemName, ItemRow]]:
    """Those of the items that exist."""
    unique, found = list(dict.fromkeys(names)), dict[ItemName, ItemRow]()
    for at in range(0, len(unique), _MOST):
        rows: list[ItemRow | None] = yield ReadItems(tuple(unique[at : at + _MOST]))
        found |= {row.name: row for row in rows if row}
    return found


def refresh(rows: Iterable[ItemRow]) -> Call[None]:
    """Start the time to live of these items anew. A user who may only read leaves it as it is, and has read them."""
    names = list(dict.fromkeys(row.name for row in rows if row.ttl))
    for at in range(0, len(names), _MOST):
        with suppress(Denied):
            yield RefreshItems(tuple(names[at : at + _MOST]))


def page(prefix: tuple[str, ...], start: str, limit: int, *, indexed: bool = False, skip: int = 0) -> Call[ItemPage]:
    """The next items under some labels. It passes over `skip` of them without decoding them."""
    if prefix:
        under: ItemPage = yield ListItems(prefix, start, min(limit, PAGE), indexed, min(skip, _FAR))
        return under
    found: ItemPage = yield ListItems(prefix, start, min(limit + skip, PAGE), indexed)
    rows = [row for row in found.rows if row.name.labels[0] not in OURS]  # none of which counts as skipped
    return replace(found, rows=rows[skip:], skip=max(skip - len(rows), 0) if found.start else 0)


def spaces(prefix: tuple[str, ...]) -> Call[list[tuple[str, ...]]]:
    """All labels that begin with these, and have items, in order."""
    found, start = list[tuple[str, ...]](), ""
    while True:
        page: SpacePage = yield ListSpaces(prefix, start, _MOST)
        found += [labels for labels in page.spaces if labels[0] not in OURS]
        if not page.start:
            return found
        start = page.start

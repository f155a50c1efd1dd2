"""Items over several partitions: each is in the partition of its first label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from ...contracts.names import home
from .. import commands as c
from ..items import BEHIND, ItemName, ItemPage, ItemRow, SpacePage, space_path
from .partitions_plan import Plan, good

T = TypeVar("T")

_MOST = 100  # items in a page


def write(command: c.WriteItems, count: int) -> Plan[None]:
    """Write to all partitions at once."""
    dealt = _dealt(command.changes, lambda change: change.name, count)
    first = next(iter(dealt), 0)
    good(
        (
            yield [
                (at, c.WriteItems(tuple(changes), command.news if at == first else None))
                for at, changes in dealt.items()
            ]
        )
    )


def refresh(command: c.RefreshItems, count: int) -> Plan[None]:
    """Refresh in all partitions at once."""
    dealt = _dealt(command.names, lambda name: name, count)
    good((yield [(at, c.RefreshItems(tuple(names))) for at, names in dealt.items()]))


def read(command: c.ReadItems, count: int) -> Plan[list[ItemRow | None]]:
    """Read from all partitions at once, and return what was found in the order that was asked for."""
    dealt = _dealt(command.names, lambda name: name, count)
    answers = good((yield [(at, c.ReadItems(tuple(names))) for at, names in dealt.items()]))
    left = {at: iter(rows) for at, rows in zip(dealt, answers, strict=True)}
    return [next(left[_home(name.labels, count)]) for name in command.names]


def page(command: c.ListItems, count: int) -> Plan[ItemPage]:
    """A page from the partition of the first label, or without one, from all partitions: only their pages together
    show what is to be skipped."""
    places = _places(command.prefix, count)
    skip, limit = command.skip, min(command.skip + command.limit, _MOST)
    asked = command if len(places) == 1 else replace(command, limit=limit, skip=0)
    pages: list[ItemPage] = good((yield [(at, asked) for at in places]))
    if len(pages) == 1:
        return pages[0]
    rows = sorted((row for page in pages for row in page.rows), key=lambda row: row.name.path)
    cut, start = _cut(rows, lambda row: row.name.path, [page.start for page in pages], limit)
    start = start or (cut[-1].name.path + BEHIND if len(cut) == limit else "")
    left = max(skip - len(cut), 0) if start else 0
    return ItemPage(cut[skip:], start, left, max(page.now for page in pages))


def spaces(command: c.ListSpaces, count: int) -> Plan[SpacePage]:
    """`page` for labels. Each partition answers in order."""
    pages: list[SpacePage] = good((yield [(at, command) for at in _places(command.prefix, count)]))
    found = sorted(labels for page in pages for labels in page.spaces)
    cut, start = _cut(found, space_path, [page.start for page in pages], command.limit)
    return SpacePage(cut, start or (space_path(cut[-1]) + "\2" if len(cut) == command.limit else ""))


def _cut(found: list[T], path: Callable[[T], str], starts: Sequence[str], limit: int) -> tuple[list[T], str]:
    """The items that are known to come next, and where to go on: "" if that was all, or behind what the limit cut."""
    start = min(filter(None, starts), default="")
    known = [each for each in found if not start or path(each) < start]
    return known[:limit], start if len(known) <= limit else ""


def _dealt(asked: Sequence[T], name: Callable[[T], ItemName], count: int) -> dict[int, list[T]]:
    dealt: dict[int, list[T]] = {}
    for each in asked:
        dealt.setdefault(_home(name(each).labels, count), []).append(each)
    return dealt


def _places(prefix: tuple[str, ...], count: int) -> Sequence[int]:
    return [_home(prefix, count)] if prefix else range(count)


def _home(labels: tuple[str, ...], count: int) -> int:
    return home(labels[0]) % count

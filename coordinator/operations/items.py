"""Writing, reading and listing items."""

from __future__ import annotations

from dataclasses import replace

from ..commands import ListItems, ListSpaces, ReadItems, RefreshItems, WriteItems
from ..items import BEHIND, BEYOND, ItemPage, ItemRow, SpacePage, space_path
from ..records import Records
from .jobs import announce


def write(records: Records, command: WriteItems) -> None:
    """Put and delete items."""
    now, news = records.now, command.news
    if news:
        known = records.item(command.changes[0].name)
        if (known.updated if known else 0) == news.since:
            announce(records, news.kind, news.subject, **news.about)
    for name, change in {change.name: change for change in command.changes}.items():
        if change.value is None:
            records.drop_item(name)
            continue
        before = records.item(name)
        created = before.created if before and before.lives(now) else now
        expires = now + change.ttl if change.ttl else 0
        records.put_item(ItemRow(name, change.value, created, now, change.ttl, expires, change.index))


def refresh(records: Records, command: RefreshItems) -> None:
    """Start the time to live of items anew."""
    for name in command.names:
        row = records.item(name)
        if row and row.ttl and row.lives(records.now):
            records.put_item(replace(row, expires=records.now + row.ttl))


def read(records: Records, command: ReadItems) -> list[ItemRow | None]:
    """Items, None for each that does not exist."""
    rows = [records.item(name) for name in command.names]
    return [replace(row, index=b"") if row and row.lives(records.now) else None for row in rows]


def page(records: Records, command: ListItems) -> ItemPage:
    """Items in order."""
    path = space_path(command.prefix)
    rows = records.items(max(path, command.start), path + BEYOND, command.limit, command.skip)
    more = rows[-1].name.path + BEHIND if len(rows) == command.limit else ""
    return ItemPage(
        rows if command.indexed else [replace(row, index=b"") if row.index else row for row in rows],
        more,
        now=records.now,
    )


def spaces(records: Records, command: ListSpaces) -> SpacePage:
    """Labels in order. After each it goes on behind all items with exactly these labels."""
    path = space_path(command.prefix)
    start, found = max(path, command.start), list[tuple[str, ...]]()
    while len(found) < command.limit:
        first = records.items(start, path + BEYOND, 1)
        if not first:
            return SpacePage(found)
        found.append(first[0].name.labels)
        start = space_path(found[-1]) + "\2"
    return SpacePage(found, start)

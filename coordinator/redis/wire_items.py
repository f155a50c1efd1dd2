"""The wire format of items."""

from __future__ import annotations

from typing import Any

from .. import commands as c
from ..items import BEHIND, BEYOND, ItemName, ItemPage, ItemRow, SpacePage, labels_of, name_from, space_path
from .wire_values import Arg, read_text, told

# building


def write_args(m: c.WriteItems) -> list[Arg]:
    """As write_items.lua takes it."""
    changes = {change.name: change for change in m.changes}.values()
    put: list[Arg] = []
    deleted: list[Arg] = []
    for change in changes:
        name = change.name
        if change.value is None:
            deleted += (name.digest, name.path)
        else:
            put += (name.digest, name.path, change.ttl, change.value, change.index)
    news: list[Arg] = [m.news.kind, m.news.subject, m.news.since, told(m.news.about)] if m.news else ["", "", 0, b""]
    return [*news, len(put) // 5, *put, *deleted]


def read_args(m: c.ReadItems) -> list[Arg]:
    """As read_items.lua takes it."""
    return [name.digest for name in m.names]


def refresh_args(m: c.RefreshItems) -> list[Arg]:
    """As refresh_items.lua takes it."""
    return [part for name in m.names for part in (name.digest, name.path)]


def page_args(m: c.ListItems) -> list[Arg]:
    """As list_items.lua takes it."""
    path = space_path(m.prefix)
    return [max(path, m.start), path + BEYOND, m.limit, int(m.indexed), m.skip]


def space_args(m: c.ListSpaces) -> list[Arg]:
    """As list_spaces.lua takes it."""
    path = space_path(m.prefix)
    return [max(path, m.start), path + BEYOND, m.limit]


# reading


def _row(name: ItemName, parts: list[bytes]) -> ItemRow:
    until, created, updated, ttl, value, *index = parts
    return ItemRow(name, value, int(created), int(updated), int(ttl), int(until), *index)


def read_answer(m: c.ReadItems, reply: list[Any]) -> list[ItemRow | None]:
    """The items, None for each that does not exist."""
    return [_row(name, parts) if parts else None for name, parts in zip(m.names, reply, strict=True)]


def page_answer(_: object, reply: list[Any]) -> ItemPage:
    """A page of items."""
    ended, now, skip, *rows = reply
    found = [_row(name_from(read_text(path)), parts) for path, *parts in rows]
    return ItemPage(found, read_text(ended) + BEHIND if ended else "", int(skip), int(now))


def space_answer(_: object, reply: list[Any]) -> SpacePage:
    """A page of labels."""
    start, *spaces = reply
    return SpacePage([labels_of(read_text(space)) for space in spaces], read_text(start))

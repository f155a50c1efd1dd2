"""Commands about items: what is kept for long under labels and a key, which no thread and no job owns.

An item whose time is over is not shown, and freed by `Reap`. Items are ordered by their labels, then by their keys.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..items import ItemChange, ItemName, ItemNews, ItemPage, ItemRow, SpacePage
from .base import Command


@dataclass(frozen=True, slots=True)
class WriteItems(Command[None]):
    """Put and delete items (500 at most), all or none; on a cluster all or none of a partition's. Of several changes of
    one item the last one counts. One that was there keeps the time of its creation. With `news`, the first of them puts
    the item that the event is about."""

    changes: tuple[ItemChange, ...]
    news: ItemNews | None = None


@dataclass(frozen=True, slots=True)
class ReadItems(Command[list[ItemRow | None]]):
    """Items (500 at most), None for each that is not there, without what searches look at."""

    names: tuple[ItemName, ...]


@dataclass(frozen=True, slots=True)
class RefreshItems(Command[None]):
    """Let the time of items (500 at most) begin anew. Those that are gone, or are kept for ever, are passed over."""

    names: tuple[ItemName, ...]


@dataclass(frozen=True, slots=True)
class ListItems(Command[ItemPage]):
    """Items whose labels begin with `prefix`, from where the page before said. A page may hold fewer than `limit` (100
    at most), even none, though more follow. `indexed`: with what searches look at."""

    prefix: tuple[str, ...] = ()
    start: str = ""
    limit: int = 100
    indexed: bool = False


@dataclass(frozen=True, slots=True)
class ListSpaces(Command[SpacePage]):
    """The labels under which there are items, as `ListItems` gives those (500 at most)."""

    prefix: tuple[str, ...] = ()
    start: str = ""
    limit: int = 500

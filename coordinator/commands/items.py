"""Commands about items: values that are kept under labels and a key, and belong to no thread or job.

Expired items are hidden, and freed by `Reap`. Items are ordered by their labels, then by their keys.
"""

from __future__ import annotations

from ...contracts.lean import dataclass
from ..items import ItemChange, ItemName, ItemNews, ItemPage, ItemRow, SpacePage
from .base import Command


@dataclass(frozen=True, slots=True)
class WriteItems(Command[None]):
    """Put and delete items (500 at most), all or none; on a cluster, all or none in each partition. If one is changed
    several times, the last change counts. An existing item keeps its creation time. With `news`, the first change puts
    the item that the event is about."""

    changes: tuple[ItemChange, ...]
    news: ItemNews | None = None


@dataclass(frozen=True, slots=True)
class ReadItems(Command[list[ItemRow | None]]):
    """Items (500 at most), None for each that does not exist, without what searches look at."""

    names: tuple[ItemName, ...]


@dataclass(frozen=True, slots=True)
class RefreshItems(Command[None]):
    """Start the time to live of items (500 at most) anew. Skips those that don't exist or don't expire."""

    names: tuple[ItemName, ...]


@dataclass(frozen=True, slots=True)
class ListItems(Command[ItemPage]):
    """Items whose labels begin with `prefix`, from where the last page ended. A page may have fewer than `limit` (100
    at most), even none, though more follow. `indexed`: with what searches look at. `skip`: how many to pass over first
    without reading them."""

    prefix: tuple[str, ...] = ()
    start: str = ""
    limit: int = 100
    indexed: bool = False
    skip: int = 0


@dataclass(frozen=True, slots=True)
class ListSpaces(Command[SpacePage]):
    """The labels under which there are items, in pages like those of `ListItems` (500 at most)."""

    prefix: tuple[str, ...] = ()
    start: str = ""
    limit: int = 500

"""Items: what is kept for long, outside of threads and jobs, under labels and a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..contracts.names import digest
from .rows import escaped, unescaped

# What texts between a path and the next one begin with, and those behind all that labels lead to.
BEHIND, BEYOND = "\x7f", "\3"

# The first label of what is not the users': their memories refuse it, and lists leave it out.
SCHEDULES = "batonpass.schedules"


class ItemName(NamedTuple):
    """Where an item is: its labels, the outermost first and one at least, and its key under them."""

    labels: tuple[str, ...]
    key: str

    @property
    def path(self) -> str:
        """A text in an order that is that of labels and key, and from which both can be read."""
        return f"{space_path(self.labels)}\1{escaped(self.key)}\0"

    @property
    def digest(self) -> str:
        """What a store calls it."""
        return digest(*self.labels, self.key)

    @property
    def about(self) -> str:
        """How it is called in errors; what is coded is bound to this."""
        return f"the item {self.key!r} under {self.labels!r}"


def space_path(labels: Sequence[str]) -> str:
    """What the paths of all items under these labels, and under more, begin with."""
    return "".join([f"\2{escaped(label)}\0" for label in labels])


def name_from(path: str) -> ItemName:
    """The item that has a path; ValueError if none can."""
    *labels, key, _ = path.split("\0")
    return ItemName(labels_from(labels), unescaped(key[1:]))


def labels_of(path: str) -> tuple[str, ...]:
    """The labels that a `space_path` is of."""
    return labels_from(path.split("\0")[:-1])


def labels_from(marked: Sequence[str]) -> tuple[str, ...]:
    """Labels as paths hold them."""
    return tuple([unescaped(label[1:]) for label in marked])


@dataclass(frozen=True, slots=True)
class ItemChange:
    """What becomes of an item: a new value, or none, which deletes it. `ttl` is how long it is kept after that, in ms,
    0 for ever. `index` is what searches look at."""

    name: ItemName
    value: bytes | None
    index: bytes = b""
    ttl: int = 0


@dataclass(frozen=True, slots=True)
class ItemNews:
    """An event about an item that is put. Only the first of several who have read the same says it: who finds the item
    as it was last written at `since` (ms since 1970, 0 if it was not there)."""

    kind: str
    subject: str
    about: Mapping[str, str]
    since: int


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item as stored. Times are the store's, in ms since 1970; 0 means never. `index` only where it is asked for."""

    name: ItemName
    value: bytes
    created: int
    updated: int
    ttl: int = 0
    expires: int = 0
    index: bytes = b""

    def lives(self, now: int) -> bool:
        """Whether its time is not over."""
        return not 0 < self.expires <= now


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Items in order, where the next page starts ("" if there is none), and the store's time."""

    rows: list[ItemRow] = field(default_factory=list[ItemRow])
    start: str = ""
    now: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SpacePage:
    """Labels in order, and where the next page starts: "" if there is none."""

    spaces: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    start: str = ""

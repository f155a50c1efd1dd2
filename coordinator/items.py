"""Items: values that are kept outside of threads and jobs, under labels and a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from ..contracts.lean import dataclass
from ..contracts.names import digest
from .rows import escaped, unescaped

# Appended to a path, the first is still below the next path. The second is above everything under some labels.
BEHIND, BEYOND = "\x7f", "\3"

# The first labels of our own items. Users' memories refuse them, and lists leave them out. (Releases that know of no
# pauses read all that is under the first one, as schedules.)
SCHEDULES, RESTING_SCHEDULES = OURS = ("batonpass.schedules", "batonpass.resting_schedules")


class ItemName(NamedTuple):
    """Where an item is: its labels, at least one, the outermost first, and its key under them."""

    labels: tuple[str, ...]
    key: str

    @property
    def path(self) -> str:
        """A text that sorts like labels and key, and from which both can be read."""
        return f"{space_path(self.labels)}\1{escaped(self.key)}\0"

    @property
    def digest(self) -> str:
        """How a store names it."""
        return digest(*self.labels, self.key)

    @property
    def about(self) -> str:
        """How errors name it. A codec binds the value to this."""
        return f"the item {self.key!r} under {self.labels!r}"


def space_path(labels: Sequence[str]) -> str:
    """How the paths of all items begin that are under these labels."""
    return "".join([f"\2{escaped(label)}\0" for label in labels])


def name_from(path: str) -> ItemName:
    """The item of a path. ValueError if no item can have it."""
    *labels, key, _ = path.split("\0")
    return ItemName(labels_from(labels), unescaped(key[1:]))


def labels_of(path: str) -> tuple[str, ...]:
    """The labels of a `space_path`."""
    return labels_from(path.split("\0")[:-1])


def labels_from(marked: Sequence[str]) -> tuple[str, ...]:
    """Labels as in paths."""
    return tuple([unescaped(label[1:]) for label in marked])


@dataclass(frozen=True, slots=True)
class ItemChange:
    """A change of an item: a new value, or None to delete it. It is kept for `ttl` ms from then on, 0 for ever. `index`
    is what searches look at."""

    name: ItemName
    value: bytes | None
    index: bytes = b""
    ttl: int = 0


@dataclass(frozen=True, slots=True)
class ItemNews:
    """An event about an item that is written. Of several clients that read the same item, only the first emits it: the
    one that finds the item as last written at `since` (ms since 1970, 0 if it did not exist)."""

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
        """Whether it has not expired."""
        return not 0 < self.expires <= now


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Items in order, where the next page starts ("" if there is none), how many that has yet to pass over, and the
    store's time."""

    rows: list[ItemRow] = field(default_factory=list[ItemRow])
    start: str = ""
    skip: int = 0
    now: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SpacePage:
    """Labels in order, and where the next page starts: "" if there is none."""

    spaces: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    start: str = ""

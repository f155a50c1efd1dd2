"""Kinds of keys (listed in lua/lib/base.lua), and the partition to which the contents of each belong.

A home is a number below MAX_PARTITIONS, as in ids. Modulo the number of a namespace's partitions, it is the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from ....contracts.names import home, partition_of
from ...items import labels_from

Form = Literal["string", "hash", "list", "zset", "stream", "last"]


class Piece(NamedTuple):
    """A part of a key of the new namespace, in partition `at`. `elements` are a text, pairs of a hash or a zset, the
    members of a list from number `first` on, or the entries of a stream, which gives no more ids up to "last". `ttl` is
    in ms, 0 for ever."""

    at: int
    key: str
    form: Form
    elements: list[Any]
    ttl: int = 0
    first: int = 0


# Keys of a job, a fan-out or a checkpoint: in the partition of that.
OF_IDS: Mapping[str, Form] = {
    **dict.fromkeys(("j", "n", "f"), "hash"),
    **dict.fromkeys(("c", "l"), "string"),
    "b": "list",
    "s": "stream",
    "u": "hash",
    "v": "zset",
}
# Keys of a thread: in the partition of the thread.
OF_THREADS: Mapping[str, Form] = {
    **dict.fromkeys(("t", "m", "k"), "hash"),
    **dict.fromkeys(("o", "y", "g"), "zset"),
    "z": "list",
}


def _of_id(member: bytes) -> int:
    return partition_of(member[:3].decode())


def _of_name(member: bytes) -> int:
    return home(member.decode("utf-8", "surrogatepass"))


def of_path(member: bytes) -> int:
    """The home of an item, from its member in `items`, which begins with the first label."""
    first, _, _ = member.partition(b"\0")
    return home(labels_from([first.decode("utf-8", "surrogatepass")])[0])


# Keys that each partition has, or has for each queue, lane or run: an element goes where that which it names goes.
SPLIT: Mapping[str, tuple[Form, Callable[[Any], int]]] = {
    **dict.fromkeys(("jobs", "leases", "timers", "limits", "dead", "asking", "opening", "closing"), ("zset", _of_id)),
    **dict.fromkeys(("expiry", "a", "la", "lw", "ls", "r"), ("zset", _of_id)),
    "threads": ("zset", _of_name),
    **dict.fromkeys(("items", "lapses"), ("zset", of_path)),
    "q": ("stream", lambda fields: _of_id(fields[b"job"])),
}
# Keys that are not moved as such: made anew by whoever opens the namespace, waits or works there; or moved together
# with another key (gates with lines, items' values and groups' positions with their indexes).
LEFT = frozenset({"schema", "epoch", "partitions", "moved", "rewound", "dealt", "d", "p", "w", "x", "e", "gates", "h"})

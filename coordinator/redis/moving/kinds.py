"""Kinds of keys (lua/lib/base.lua lists them), and to which partition what lies in them belongs.

Homes are of MAX_PARTITIONS, as in ids. Modulo a namespace's number they are partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from ....contracts.names import home, partition_of
from ...items import labels_from

Form = Literal["string", "hash", "list", "zset", "stream", "last"]


class Piece(NamedTuple):
    """A part of one of the new namespace's keys. `at` is its partition; `elements` are a text, pairs of a hash or a
    zset, members of a list from number `first` on, or entries of a stream; "last" is an id below which a stream gives
    none any more. `ttl` in ms, 0 for ever."""

    at: int
    key: str
    form: Form
    elements: list[Any]
    ttl: int = 0
    first: int = 0


# What a job, a fan-out or a checkpoint has: it is with that.
OF_IDS: Mapping[str, Form] = {
    **dict.fromkeys(("j", "n", "f"), "hash"),
    **dict.fromkeys(("c", "l"), "string"),
    "b": "list",
    "s": "stream",
    "u": "hash",
    "v": "zset",
}
# What a thread has.
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
    """Where an item is, of which `items` has this member: it begins with the first label."""
    first, _, _ = member.partition(b"\0")
    return home(labels_from([first.decode("utf-8", "surrogatepass")])[0])


# What each partition has one of, or one for each queue, lane or run: an element is with what it names.
SPLIT: Mapping[str, tuple[Form, Callable[[Any], int]]] = {
    **dict.fromkeys(("jobs", "leases", "timers", "limits", "dead", "asking", "opening", "closing"), ("zset", _of_id)),
    **dict.fromkeys(("expiry", "a", "la", "lw", "ls", "r"), ("zset", _of_id)),
    "threads": ("zset", _of_name),
    **dict.fromkeys(("items", "lapses"), ("zset", of_path)),
    "q": ("stream", lambda fields: _of_id(fields[b"job"])),
}
# What somebody makes anew who opens the namespace, waits or works there; and what goes along with another key: gates
# with lines, items' values and groups' places with their indexes.
LEFT = frozenset({"schema", "epoch", "partitions", "moved", "rewound", "dealt", "d", "p", "w", "x", "e", "gates", "h"})

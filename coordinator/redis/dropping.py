"""Dropping: deletes a whole namespace on Redis. Run again after an interruption, it ends the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from ...contracts.errors import BadSetup, NotFound
from .moving import marks
from .moving.side import Side

# What says that the namespace is there, and in how many parts: deleted last, so that a second run finds the rest.
# Those of partition 0, which a second run looks at, go after the others': a node of these may be away.
_LAST = ("schema", "partitions")


def drop(url: str, progress: Callable[[str, int], None]) -> int:
    """Delete all keys of the namespace that the URL names. Returns how many."""
    with closing(Side(url)) as side:
        if not side.exists:
            raise NotFound(f"there is no namespace {side.namespace!r} in {side.name}")
        if busy := {mark.kind for mark in marks.read(side)} - {"", "moved"}:
            raise BadSetup(f"{side.name} is being moved ({', '.join(sorted(busy))}): end that first, or --cancel it")
        side.check_no_workers()
        count = 0
        for page in side.scan():
            count += sum(side.ask([(at, "UNLINK", key) for at, key in page if key not in _LAST]))
            progress("deleted", count)
        for partitions in (side.partitions[1:], side.partitions[:1]):
            count += sum(side.ask([(at, "UNLINK", key) for key in _LAST[::-1] for at in partitions]))
        return count

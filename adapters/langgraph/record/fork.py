"""Forks: what a fork of a LangGraph checkpoint must contain, so that graphs see it as after `update_state`. Needs no
LangGraph."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from random import getrandbits, random
from time import time_ns
from typing import Any, cast
from uuid import UUID

from ....contracts.checkpoint import Checkpoint
from ....contracts.errors import BadSetup, Corrupted
from ....coordinator.branching import Branch, Origin
from .bookkeeping import COUNTERS, FORMAT, Bookkeeping
from .compact import large_version, small_id, small_time, small_version

# How many 100 ns are between the beginnings of UUIDs' time and of Unix time.
_UUID_EPOCH = 0x01B21DD213814000


def branch_of(origin: Origin) -> Branch:
    """A checkpoint that continues another one: the same tasks are next, and the changed channels have new versions."""
    source, place = origin.checkpoint, origin.place
    native = dict(cast("dict[str, Any]", source.native))
    if native.get("v") != FORMAT:
        raise Corrupted(f"checkpoint {source.id} holds no LangGraph checkpoint of format {FORMAT}: update")
    if origin.alone and place.scope:
        raise BadSetup(
            f"checkpoint {source.id} is a subgraph's ({place.scope}): fork the graph's own, or a branch of the thread"
        )
    check_whole(source, "Fork it with the graph's update_state")
    known, later = native["frame"][: len(Bookkeeping._fields)], native["frame"][len(Bookkeeping._fields) :]
    before = Bookkeeping(*known)
    updated = before.updated
    if updated is not None:  # graphs find their next tasks only by this, so the origin's channels stay in it
        updated = sorted({*updated, *origin.changed})
    frame = before._replace(
        ts=small_time(datetime.now(UTC).isoformat()),
        parent=small_id("" if origin.alone else place.key),
        versions={**before.versions, **{name: _next(before.versions.get(name)) for name in origin.changed}},
        updated=updated,
    )
    native["frame"] = [*frame, *later]
    return Branch(_key(origin.latest, source.id), native, _metadata(source.context, edited=bool(origin.changed)))


def check_whole(source: Checkpoint, instead: str) -> None:
    """Refuse a checkpoint that does not hold all of its state. `instead` is what to do."""
    native = cast("dict[str, Any]", source.native or {})
    apart = sorted(set(source.context.get(COUNTERS) or ()) - set(native.get("deltas", ())))
    if apart:
        raise BadSetup(
            f"checkpoint {source.id} does not hold all of its state: {', '.join(apart)} are delta channels, which are "
            f"made of what was written before. {instead}"
        )


def _metadata(before: Mapping[str, Any], *, edited: bool) -> dict[str, Any]:
    """The metadata that `update_state` would write. What names the origin's run is left out, because that run may be
    deleted."""
    step = before.get("step")
    kept = {name: before[name] for name in ("parents", COUNTERS) if name in before}
    return {"source": "update" if edited else "fork", "step": step + 1 if isinstance(step, int) else 0, **kept}


def _next(version: Any) -> Any:
    """The version after another one, with a new random part, as the saver makes them."""
    large = large_version(version)
    last = int(large.split(".")[0]) if isinstance(large, str) else int(large or 0)
    return small_version(f"{last + 1:032}.{random():016}")


def _key(latest: str, source: str) -> str:
    """A key that sorts after the latest: a UUID of version 6, as LangGraph makes them."""
    now = time_ns() // 100 + _UUID_EPOCH
    try:
        last = UUID(latest).int if latest else 0
    except ValueError:
        last = 0
    at = max(now, (last >> 80 << 12 | last >> 64 & 0xFFF) + 1)
    key = str(UUID(int=at >> 12 << 80 | 6 << 76 | (at & 0xFFF) << 64 | 2 << 62 | getrandbits(62)))
    if key <= latest:
        raise BadSetup(
            f"checkpoint {source} can't be forked: the latest of its namespace has the id {latest!r}, and no new UUID "
            "sorts after that"
        )
    return key

"""The places of the model store: dicts, and the keys of each scope in order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from ...contracts.lean import dataclass
from ..rows import CheckpointRow, Place, Write


@dataclass(slots=True)
class _Spot:
    """What is at a place."""

    checkpoint: str = ""
    run: str = ""
    writes: dict[str, Write] = field(default_factory=dict[str, Write])


class MemoryPlaces:
    """Places, and the checkpoints that they are of. `now` is set from outside before each operation."""

    def __init__(self) -> None:
        self.now = 0
        self._checkpoints: dict[str, CheckpointRow] = {}
        self._expiry: dict[str, int] = {}
        self._spots: dict[str, dict[tuple[str, str], _Spot]] = {}
        self._keys: dict[tuple[str, str], list[str]] = {}  # of those that have a checkpoint, by thread and scope

    def place(self, thread: str, scope: str, key: str) -> str:
        spot = self._spots.get(thread, {}).get((scope, key))
        return spot.checkpoint if spot else ""

    def latest_key(self, thread: str, scope: str) -> str | None:
        keys = reversed(self._keys.get((thread, scope), ()))
        return next((key for key in keys if self._lives(self.place(thread, scope, key))), None)

    def put_place(self, thread: str, place: Place, checkpoint_id: str, step_index: int) -> str:
        spot = self._spot(thread, place.scope, place.key)
        if not spot.checkpoint:
            insort(self._keys.setdefault((thread, place.scope), []), place.key)
        before, spot.checkpoint, spot.run = spot.checkpoint, checkpoint_id, place.run
        return before

    def _spot(self, thread: str, scope: str, key: str) -> _Spot:
        """What is at a place, made if nothing is."""
        spots = self._spots.setdefault(thread, {})
        return spots.get((scope, key)) or spots.setdefault((scope, key), _Spot())

    def place_of(self, row: CheckpointRow) -> tuple[str, str] | None:
        spots = self._spots.get(row.thread, {}).items()
        return next((where for where, spot in spots if spot.checkpoint == row.id), None)

    def drop_place(self, thread: str, scope: str, key: str) -> list[str]:
        spots = self._spots[thread]
        spot = spots.pop((scope, key))
        if spot.checkpoint:
            keys = self._keys[thread, scope]
            del keys[bisect_left(keys, key)]
            if not keys:
                del self._keys[thread, scope]
        if not spots:
            del self._spots[thread]
        return [write.spans for write in spot.writes.values() if write.spans]

    def places(self, thread: str, limit: int) -> list[tuple[str, str]]:
        return sorted(self._spots.get(thread, ()))[:limit]

    def placed(
        self,
        thread: str,
        scope: str | None,
        limit: int,
        *,
        key: str | None = None,
        before: tuple[str, str] | None = None,
        whole: bool = False,
    ) -> list[tuple[Place, CheckpointRow]]:
        found: list[tuple[Place, CheckpointRow]] = []
        for at, where in self._downwards(thread, scope, before) if key is None else [(key, scope or "")]:
            spot = self._spots.get(thread, {}).get((where, at))
            if spot and self._lives(spot.checkpoint):
                row = self._checkpoints[spot.checkpoint]
                found.append((Place(where, at, spot.run), row if whole else replace(row, state=b"", native=b"")))
            if len(found) == limit:
                break
        return found

    def _downwards(self, thread: str, scope: str | None, before: tuple[str, str] | None) -> Iterable[tuple[str, str]]:
        """Key and scope of places that have a checkpoint."""
        if scope is None:
            places = sorted((key, where) for (of, where), keys in self._keys.items() if of == thread for key in keys)
            return reversed(places[: bisect_left(places, before) if before else None])
        keys = self._keys.get((thread, scope), [])
        end = bisect_left(keys, before, key=lambda key: (key, scope)) if before else len(keys)
        return ((keys[at], scope) for at in range(end - 1, -1, -1))

    def _lives(self, checkpoint_id: str) -> bool:
        return bool(checkpoint_id) and not 0 < self._expiry.get(checkpoint_id, 0) <= self.now

    def writes(self, thread: str, scope: str, key: str) -> list[Write]:
        spot = self._spots.get(thread, {}).get((scope, key))
        return [replace(write) for write in spot.writes.values()] if spot else []

    def put_writes(self, thread: str, scope: str, key: str, writes: Sequence[Write]) -> list[str | None]:
        kept = self._spot(thread, scope, key).writes
        replaced: list[str | None] = []
        for write in writes:
            before = kept.get(write.name)
            if write.gone:
                kept.pop(write.name, None)
                replaced.append(before.spans if before else None)
                continue
            if before and not write.again:
                replaced.append(None)
                continue
            kept[write.name] = Write(write.name, write.data, write.spans)  # `replace` takes ten times as long
            replaced.append(before.spans if before else "")
        return replaced

    def of_run(self, run: str, limit: int) -> list[tuple[str, str]]:
        found = [
            (thread, spot.checkpoint)
            for thread, spots in self._spots.items()
            for spot in spots.values()
            if run and spot.run == run and spot.checkpoint
        ]
        return sorted(found)[:limit]

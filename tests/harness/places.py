"""Checkpoints and writes at the places of a thread, through commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.parts.nodes import Base
from batonpass.coordinator.parts.spans import Span, write_spans
from batonpass.coordinator.rows import Place, PlaceRow, Write
from batonpass.coordinator.snapshots import draft, open_checkpoint
from tests.harness.bench import Bench


class Places:
    """A framework that puts to one thread. What it puts shares with what it put last."""

    def __init__(self, bench: Bench, thread: str = "run") -> None:
        self.bench = bench
        self.thread = thread
        self._base: Base | None = None

    def new(
        self, key: str, state: Any = None, *, scope: str = "", run: str = "", ttl: int = 0, share: bool = True
    ) -> c.NewCheckpoint:
        """A checkpoint for a place; its state, by default, is its key."""
        made = draft(
            Snapshot(step="step", state=key if state is None else state),
            thread=self.thread,
            agent="write",
            ttl=ttl,
            base=self._base if share else None,
            place=Place(scope, key, run),
        )
        self._base = made.nodes
        return made.new

    def put(
        self,
        key: str,
        parent: str = "",
        *,
        tip: str | None = None,
        fence: c.Fence | None = None,
        writes: Sequence[Write] = (),
        **more: Any,
    ) -> str:
        """Commit a checkpoint; its id."""
        new = self.new(key, **more)
        self.bench.do(c.Put(new, parent, tip, fence, writes))
        return new.id

    def line(self, *keys: str, **more: Any) -> list[str]:
        """Commit checkpoints, each the parent of the next; their ids."""
        return [self.put(key, parent, **more) for key, parent in zip(keys, ["", *keys], strict=False)]

    def write(self, key: str, *writes: Write, scope: str = "", fence: c.Fence | None = None) -> None:
        """Note writes."""
        self.bench.do(c.PutWrites(self.thread, scope, key, writes, fence))

    def find(self, key: str = "", scope: str = "") -> PlaceRow | None:
        """What is at a place, or at a scope's latest."""
        return self.bench.do(c.Find(self.thread, scope, key))

    def at(self, key: str = "", scope: str = "") -> str:
        """The key of what is found there, once its checkpoint was verified; "" for nothing."""
        found = self.find(key, scope)
        if found is None:
            return ""
        open_checkpoint(found.checkpoint)
        return found.place.key

    def written(self, key: str, scope: str = "") -> dict[str, bytes]:
        """What was written at a place that has a checkpoint."""
        found = self.find(key, scope)
        assert found is not None
        return {write.name: write.data for write in found.writes}

    def keys(self, scope: str | None = "", **more: Any) -> list[str]:
        """Keys in the order in which places are listed."""
        return [row.place.key for row in self.bench.do(c.Places(self.thread, scope, **more))]


def large(seed: str) -> dict[str, Any]:
    """A state of which parts lie in logs."""
    return {"said": [f"{seed} {number} " * 300 for number in range(20)]}


def first_part(new: c.NewCheckpoint, length: int = 50) -> tuple[str, bytes]:
    """The first bytes that a checkpoint adds to a log: their span as stored, and what they are."""
    append = new.appends[0]
    return write_spans([Span(append.log, append.at, append.at + length)]), append.data[:length]


def kept(bench: Bench) -> dict[str, object]:
    """Everything that a store keeps but events."""
    return {name: value for name, value in bench.harness.dump().items() if "event" not in name}

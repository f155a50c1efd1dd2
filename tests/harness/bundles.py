"""Bundles between stores: from a bench to another store, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from batonpass.contracts.checkpoint import Checkpoint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import KeptJob
from tests.harness.bench import Bench
from tests.harness.stores import MemoryHarness, SqliteHarness


class Carrier:
    """Carries bundles in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0

    def export(self, bench: Bench, what: str, **more: Any) -> Path:
        """The new file."""
        self._count += 1
        path = self.folder / f"{self._count}.bundle"
        bench.run(bench.face().export_bundle(what, path, **more))
        return path

    def carry(self, bench: Bench, there: Bench, what: str) -> Path:
        """Export from one store, and import into another."""
        path = self.export(bench, what)
        there.run(there.face().import_bundle(path))
        return path

    @contextmanager
    def elsewhere(self, side: str) -> Iterator[list[Bench]]:
        """A store of each kind that needs no server."""
        self._count += 1
        harnesses = MemoryHarness(), SqliteHarness(self.folder / f"{self._count}.db")
        benches = [Bench(harness, side=side) for harness in harnesses]
        yield benches
        for bench in benches:
            bench.close()


def history(bench: Bench, thread: str) -> list[Checkpoint]:
    """All checkpoints of a thread, with everything in them, newest first."""
    face = bench.face()
    return [bench.run(face.restore(each.id)) for each in bench.run(face.timeline(thread=thread, limit=500))]


def kept(bench: Bench, job_id: str) -> KeptJob:
    """All that is kept of a job."""
    return bench.do(c.ReadKept(job_id))

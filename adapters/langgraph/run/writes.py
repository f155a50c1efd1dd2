"""Writes: what was written at places in LangGraph's threads and namespaces, and what is on its way there."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig

from ....contracts.checkpoint import Snapshot
from ..serde.values import Sealed
from .checkpoint import Tip

Place = tuple[str, str]
"""A LangGraph thread and namespace. The job's own graph is at (the hop's thread, "")."""


@dataclass
class Writes:
    """What one task of a superstep has written, by index."""

    place: Place
    checkpoint: str
    task: str
    path: str
    entries: dict[int, tuple[str, Sealed]] = field(default_factory=dict[int, tuple[str, Sealed]])

    @property
    def name(self) -> tuple[str, ...]:
        """Its name in the journal."""
        return ("writes", *self.place, self.task)

    def add(self, entries: Mapping[int, tuple[str, Sealed]]) -> None:
        """Add writes. At each index the first output stays. Of an error, interrupt or resume (index < 0), the last."""
        output = {number: entry for number, entry in self.entries.items() if number >= 0}
        self.entries.update({**entries, **output})

    def as_record(self) -> dict[str, Any]:
        """Plain values, from which `from_record` makes it again."""
        writes = [[number, *entry] for number, entry in self.entries.items()]
        return {
            "place": self.place,
            "checkpoint": self.checkpoint,
            "task": self.task,
            "path": self.path,
            "writes": writes,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Writes:
        """The writes in a record."""
        entries = {number: (channel, sealed) for number, channel, sealed in record["writes"]}
        return cls(place_in(record), record["checkpoint"], record["task"], record["path"], entries)


@dataclass(eq=False)
class Flight:
    """One write on its way to the store: a checkpoint of a namespace (`tip`), or a task's writes.

    `done` is set when the store has it. The store must have those in `behind` before it is sent.
    """

    place: Place
    tip: Tip | None = None
    snapshot: Snapshot | None = None
    records: dict[str, Any] = field(default_factory=dict[str, Any])
    behind: list[Future[None]] = field(default_factory=list[Future[None]])
    done: Future[None] = field(default_factory=Future[None])


def place_of(config: RunnableConfig) -> tuple[Place, str | None]:
    """A config's place, and the checkpoint that it names. In a put that is the parent."""
    names = config.get("configurable", {})
    return (str(names["thread_id"]), names.get("checkpoint_ns", "")), names.get("checkpoint_id")


def place_in(record: Mapping[str, Any]) -> Place:
    """The place that a journal record belongs to."""
    thread, namespace = record["place"]
    return thread, namespace

"""A thread grows by what is new in it, whatever the channel holds."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from pydantic import BaseModel

from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.coordinator.commands import Command, Put
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.texts import words

pytestmark = pytest.mark.capability("langgraph")


def run(saver: BatonpassSaver, thread: str, steps: int, element: Callable[[str], Any], first: int = 0) -> None:
    """Steps that each add an element to a list, with the write that it came from."""
    seeded = random.Random(first)
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    latest = saver.get_tuple(config)
    held: list[Any] = latest.checkpoint["channel_values"]["held"] if latest else []
    config = latest.config if latest else config
    for step in range(first, first + steps):
        new = element(words(seeded, 500))
        if "checkpoint_id" in config["configurable"]:
            saver.put_writes(config, [("held", [new])], f"task {step}", "~pull")
        held = [*held, new]
        checkpoint: Any = {
            **empty_checkpoint(),
            "id": str(uuid6(clock_seq=step)),
            "channel_values": {"held": held},
            "channel_versions": {"held": f"{step:032}.0.5"},
        }
        config = saver.put(config, checkpoint, {"source": "loop", "step": step}, {})


ELEMENTS: dict[str, Callable[[str], Any]] = {
    "messages": lambda text: AIMessage(text, id=text[:20]),
    "dicts": lambda text: {"role": "user", "content": text},
    "tuples": lambda text: ("user", text),
    "foreign": lambda text: bytearray(text.encode()),
}


class Doc(BaseModel):
    text: str


def size(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


@pytest.mark.parametrize("kind", ELEMENTS)
def test_each_step_costs_what_is_new(kind: str, tmp_path: Path, thread: str) -> None:
    path = tmp_path / "store.db"
    with BatonpassSaver.from_url(f"sqlite:///{path}") as saver:
        sizes: list[int] = []
        for part in range(3):
            run(saver, thread, 60, ELEMENTS[kind], part * 60)
            sizes.append(size(path))
        found = saver.get_tuple({"configurable": {"thread_id": thread}})
        assert found is not None
        assert len(found.checkpoint["channel_values"]["held"]) == 180
        before = found.parent_config
        assert before is not None
        written = saver.get_tuple(before)
        assert written is not None
        assert written.pending_writes == [("task 179", "held", [found.checkpoint["channel_values"]["held"][-1]])]
    assert sizes[2] - sizes[1] < 1.15 * (sizes[1] - sizes[0])
    assert sizes[2] - sizes[1] < 60 * 2500


def test_what_a_put_sends_does_not_grow(tmp_path: Path, thread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    call = SqliteStore.call

    def measured(self: SqliteStore, command: Command[Any]) -> Any:
        if isinstance(command, Put):
            new = command.checkpoint
            parts = [
                new.header,
                new.state,
                new.native,
                *(a.data for a in new.appends),
                *(w.data for w in command.writes),
            ]
            sent.append(sum(map(len, parts)))
        return call(self, command)

    monkeypatch.setattr(SqliteStore, "call", measured)
    with BatonpassSaver.from_url(f"sqlite:///{tmp_path / 'store.db'}") as saver:
        run(saver, thread, 150, ELEMENTS["messages"])
    assert len(sent) == 150
    assert max(sent[60:]) < 2200
    assert sum(sent[120:]) < 1.05 * sum(sent[60:90])


def test_a_write_is_kept_once_with_the_channel_that_it_went_to(tmp_path: Path, thread: str) -> None:
    path = tmp_path / "store.db"
    with BatonpassSaver.from_url(f"sqlite:///{path}") as saver:
        run(saver, thread, 100, ELEMENTS["messages"])
    with closing(sqlite3.connect(path)) as db:
        data, spans = zip(*db.execute("SELECT data, spans FROM write"), strict=True)
    assert sum(1 for each in spans if each) > 70  # those of the first steps lie in small states
    assert max(len(each) for each, named in zip(data, spans, strict=True) if named) < 100


def test_pruning_frees_what_nobody_needs(tmp_path: Path, thread: str) -> None:
    path = tmp_path / "store.db"
    with BatonpassSaver.from_url(f"sqlite:///{path}") as saver:
        run(saver, thread, 60, ELEMENTS["messages"])
        held = saver.get_tuple({"configurable": {"thread_id": thread}})
        saver.prune([thread])
        assert saver.get_tuple({"configurable": {"thread_id": thread}}) == held
        assert len(list(saver.list({"configurable": {"thread_id": thread}}))) == 1
        saver.delete_thread(thread)
        assert saver.get_tuple({"configurable": {"thread_id": thread}}) is None
    with closing(sqlite3.connect(path)) as db:
        for table in ("checkpoint", "write", "place", "piece", "span"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def test_a_put_that_changes_nothing_of_a_large_class(store_url: str, thread: str) -> None:
    """A run's input changes no channel that is stored, of which the first may be of the user's own class."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    held = {"doc": Doc(text="word " * 3000), "more": Doc(text="more")}
    with BatonpassSaver.from_url(store_url, allow=[Doc]) as saver:
        for step in range(3):
            checkpoint: Any = {
                **empty_checkpoint(),
                "id": str(uuid6(clock_seq=step)),
                "channel_values": held,
                "channel_versions": dict.fromkeys(held, f"{1:032}.0.5"),
            }
            config = saver.put(config, checkpoint, {"source": "loop", "step": step}, {})
        found = saver.get_tuple(config)
        assert found is not None
        assert found.checkpoint["channel_values"] == held

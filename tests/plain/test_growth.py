"""What a growing object costs: for each checkpoint, a store keeps what is new, not the whole object again."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

from batonpass.adapters.plain import Checkpointable, Keeper, checkpoint
from tests.harness.texts import message

TURNS = 200


class Chat(Checkpointable):
    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []


class Desk(Checkpointable):
    """The messages lie in objects in a list."""

    def __init__(self) -> None:
        self.chats = [Chat(), Chat()]
        self.turns = 0

    @checkpoint
    def say(self, said: dict[str, str]) -> None:
        self.chats[self.turns % 2].messages.append(said)
        self.turns += 1


def kept(path: Path) -> int:
    """The size of a store's file."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def test_a_growing_object_costs_what_is_new(tmp_path: Path) -> None:
    chance = random.Random(1)
    path = tmp_path / "store.db"
    desk = Desk()
    said = [message(chance) for _ in range(TURNS)]
    sizes: list[int] = []
    with Keeper(f"sqlite:///{path}") as keeper:
        keeper.resume(desk, "run")
        for each in said:
            desk.say(each)
            if desk.turns in (TURNS // 2, TURNS):
                sizes.append(kept(path))
        again = Desk()
        keeper.resume(again, "run")
        assert again.state_dict() == desk.state_dict()
        oldest = keeper.history("run", TURNS)[-1]
        keeper.restore(again, oldest.id)
        assert [len(chat.messages) for chat in again.chats] == [1, 0]
    text = sum(len(each["content"]) for each in said[TURNS // 2 :])
    # Events and records take about as much again; whole states would take a hundred times as much.
    assert sizes[1] - sizes[0] < 5 * text, sizes

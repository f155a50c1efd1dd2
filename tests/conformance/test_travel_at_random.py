"""Threads that are saved to, forked, rolled back, copied, pruned and deleted at random, against a model of dicts: what
stays is as it was saved, and what is gone frees its bytes."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from tests.harness.bench import Bench
from tests.harness.texts import message


@dataclass
class Known:
    """A checkpoint as it must be."""

    state: Any
    parent: str | None
    name: str | None = None


@dataclass
class World:
    """The store, and a model of it: the checkpoints of each thread in their order."""

    bench: Bench
    chance: random.Random
    threads: dict[str, dict[str, Known]] = field(default_factory=dict[str, dict[str, Known]])
    made: int = 0

    def __post_init__(self) -> None:
        self.face = self.bench.face()

    def run(self, value: Any) -> Any:
        """The value, awaited where it has to be."""
        return self.bench.run(value)

    def thread(self) -> str:
        """One that there is."""
        return self.chance.choice(sorted(self.threads))

    def pick(self) -> tuple[str, str, Known]:
        """A checkpoint that there is."""
        name = self.thread()
        id_ = self.chance.choice(list(self.threads[name]))
        return name, id_, self.threads[name][id_]

    def new(self) -> str:
        """A name that no thread has had."""
        self.made += 1
        return f"thread {self.made}"

    def note(self, thread: str, checkpoint: Any, state: Any, parent: str | None) -> None:
        """What was just made."""
        assert (checkpoint.state, checkpoint.parent_id, checkpoint.thread) == (state, parent, thread)
        self.threads.setdefault(thread, {})[checkpoint.id] = Known(copy.deepcopy(state), parent)

    # moves

    def save(self) -> None:
        name = self.thread() if self.threads and self.chance.random() < 0.9 else self.new()
        line = self.threads.get(name, {})
        tip = next(reversed(line), None)
        state: dict[str, Any] = copy.deepcopy(line[tip].state) if tip else {"messages": [], "n": 0}
        for _ in range(self.chance.choice([1, 1, 2, 9])):
            state["messages"].append(message(self.chance))
        state["n"] += 1
        if self.chance.random() < 0.2:
            del state["messages"][: self.chance.randrange(len(state["messages"]))]
        self.note(name, self.run(self.face.save(thread=name, agent="a", state=state)), state, tip)

    def fork(self) -> None:
        name, id_, known = self.pick()
        to = self.new() if self.chance.random() < 0.3 else None
        new = [message(self.chance)]
        state = {**known.state, "messages": [*known.state["messages"], *new], "n": -1}
        edit: dict[str, Any] = {"append": {"messages": new}, "changes": {"n": -1}}
        if self.chance.random() < 0.3:
            edit = {"state": state}
        self.note(to or name, self.run(self.face.fork(id_, thread=to, **edit)), state, id_)

    def rollback(self) -> None:
        name, id_, known = self.pick()
        self.note(name, self.run(self.face.rollback(name, to=known.name or id_)), known.state, id_)

    def name(self) -> None:
        name, id_, known = self.pick()
        wanted = self.chance.choice(["first", "best", "last"])
        taken = any(other.name == wanted for other in self.threads[name].values() if other is not known)
        if taken:
            with pytest.raises(bp.Conflict):
                self.run(self.face.name(id_, wanted))
        elif known.name:
            self.run(self.face.unname(id_))
            known.name = None
        else:
            self.run(self.face.name(id_, wanted))
            known.name = wanted

    def expire(self) -> None:
        name, id_, _ = self.pick()
        self.run(self.face.expire(id_))
        del self.threads[name][id_]
        self.drop_empty(name)

    def prune(self) -> None:
        name, keep = self.thread(), self.chance.randrange(4)
        line = self.threads[name]
        old = [id_ for id_ in list(line)[: max(len(line) - keep, 0)] if not line[id_].name]
        assert self.run(self.face.prune(name, keep_last=keep)) == len(old)
        for id_ in old:
            del line[id_]
        self.drop_empty(name)

    def delete(self) -> None:
        name = self.thread()
        assert self.run(self.face.delete(name)) == len(self.threads.pop(name))

    def copy(self) -> None:
        name, to = self.thread(), self.new()
        assert self.run(self.face.copy(name, to=to)) == len(self.threads[name])
        made = {found.copy_of: found.id for found in self.run(self.face.timeline(to, limit=10_000))}
        self.threads[to] = {
            made[id_]: Known(known.state, made.get(known.parent, known.parent), known.name)
            for id_, known in self.threads[name].items()
        }

    def drop_empty(self, name: str) -> None:
        if not self.threads[name]:
            self.run(self.face.delete(name))
            del self.threads[name]

    # what must hold

    def check(self) -> None:
        """All threads, their order, parents, names and states."""
        assert set(self.bench.do(c.Threads())) == set(self.threads)
        for name, line in self.threads.items():
            found = self.run(self.face.timeline(name, limit=10_000))[::-1]
            assert [(each.id, each.parent_id, each.name) for each in found] == [
                (id_, known.parent, known.name) for id_, known in line.items()
            ]
            assert self.run(self.face.latest(thread=name)).id == next(reversed(line))
            for id_, known in line.items():
                assert self.run(self.face.restore(id_)).state == known.state
            parents = {known.parent for known in line.values()}
            tips = [id_ for id_ in reversed(line) if id_ not in parents]
            assert [each.id for each in self.run(self.face.branches(name))] == tips


MOVES = [
    *["save"] * 8,
    *["fork"] * 4,
    *("rollback", "rollback", "name", "name", "expire", "expire", "prune", "delete", "copy"),
]


@pytest.mark.parametrize("seed", range(3))
def test_what_stays_is_whole_and_what_goes_is_freed(bench: Bench, seed: int) -> None:
    world = World(bench, random.Random(seed))
    for number in range(70):
        getattr(world, world.chance.choice(MOVES) if world.threads else "save")()
        if number % 10 == 9:
            world.check()
    world.check()
    for name in sorted(world.threads):
        world.run(world.face.delete(name))
    assert bench.harness.logs() == {}
    assert bench.do(c.Threads()) == []

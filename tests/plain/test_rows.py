"""Plain classes: everything that a checkpoint library for them must do, row by row, on every store and in files."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import batonpass as bp
from batonpass.adapters.plain import Checkpointable, JsonFiles, Keeper, checkpoint, register_migration, rollback
from batonpass.contracts.alike import alike
from tests.harness.keepers import PLACES, new_place


@pytest.fixture(params=PLACES)
def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Keeper]:
    with Keeper(new_place(request.param, request, tmp_path)) as made:
        yield made


@bp.state_type("test.plain.colour")
class Colour(Enum):
    RED = "red"


@bp.state_type("test.plain.order")
@dataclass
class Order:
    number: int
    lines: list[str]


class Optimizer(Checkpointable):
    def __init__(self, rate: float = 0.1) -> None:
        self.rate = rate


class Trainer(Checkpointable):
    def __init__(self) -> None:
        self.epoch = 0
        self.losses: list[float] = []
        self.optimizer = Optimizer()
        self._client = threading.Lock()

    @checkpoint(every=5)
    def train(self, loss: float) -> float:
        self.epoch += 1
        self.losses.append(loss)
        return loss


def test_a1_state_dict_and_load_state_dict_with_version_and_class() -> None:
    trainer = Trainer()
    trainer.losses.append(0.5)
    state = trainer.state_dict()
    inner = {"__class__": "Optimizer", "__version__": 1, "rate": 0.1}
    about = {"__class__": "Trainer", "__version__": 1}
    assert state == {**about, "epoch": 0, "losses": [0.5], "optimizer": inner}
    trainer.losses.append(0.4)
    other = Trainer()
    other.load_state_dict(state)
    assert other.losses == [0.5]
    other.losses.append(9)
    assert state["losses"] == [0.5]


def test_a1_a_state_is_independent_of_the_objects_that_gave_and_took_it() -> None:
    holder, other = Holder(Order(1, ["a"])), Holder()
    state = holder.state_dict()
    holder.value.lines.append("b")
    other.load_state_dict(state)
    other.value.lines.append("c")
    assert state["value"] == Order(1, ["a"])
    with Keeper("memory://") as keeper:
        saved = keeper.save(holder, "run")
        keeper.restore(other, saved)
        other.value.lines.append("d")
        keeper.restore(other, saved)
    assert other.value == Order(1, ["a", "b"])


def test_a2_kept_in_memory_in_a_store_or_in_json_files_without_pickle(keeper: Keeper, tmp_path: Path) -> None:
    trainer = Trainer()
    trainer.train.__wrapped__(trainer, 0.5)  # type: ignore[attr-defined]
    keeper.save(trainer, "run")
    other = Trainer()
    keeper.load(other, "run")
    assert other.state_dict() == trainer.state_dict()
    files = [path.read_bytes() for path in tmp_path.rglob("*.json")]
    assert all(data.startswith(b"{\n") and b'"losses": [\n' in data for data in files)


def test_a3_save_load_and_list_keys(keeper: Keeper) -> None:
    keys = ["b", "a/b", "A", "", "a", "ä ö", "../x"]
    for epoch, key in enumerate(keys):
        trainer = Trainer()
        trainer.epoch = epoch
        if key:
            assert keeper.save(trainer, key).thread == key
    assert keeper.keys() == sorted(filter(None, keys))
    for epoch, key in enumerate(keys):
        trainer = Trainer()
        if key:
            keeper.load(trainer, key)
            assert trainer.epoch == epoch
    with pytest.raises(bp.NotFound, match="no checkpoint under 'c'"):
        keeper.load(Trainer(), "c")
    with pytest.raises(bp.BadSetup, match="the key is empty"):
        keeper.save(Trainer(), "")


def test_a4_history(keeper: Keeper) -> None:
    trainer = Trainer()
    for epoch in range(4):
        trainer.epoch = epoch
        keeper.save(trainer, "run", step=f"epoch {epoch}", context={"n": epoch})
    last = keeper.history("run", 2)
    assert [(each.step, each.context["n"], each.step_index, each.agent) for each in last] == [
        ("epoch 3", 3, 3, "Trainer"),
        ("epoch 2", 2, 2, "Trainer"),
    ]
    assert last[0].parent_id == last[1].id
    assert len(keeper.history("run")) == 4
    assert keeper.history("other") == keeper.history("run", 0) == []
    keeper.restore(trainer, keeper.history("run")[-1].id)
    assert trainer.epoch == 0


def test_a5_rollback_by_hand_and_as_a_context_that_never_swallows(keeper: Keeper) -> None:
    trainer = Trainer()
    before = keeper.save(trainer, "run")
    trainer.losses.append(1.0)
    keeper.restore(trainer, before)
    assert trainer.losses == []
    state = trainer.state_dict()
    trainer.optimizer.rate = 5
    trainer.load_state_dict(state)
    assert trainer.optimizer.rate == 0.1
    with pytest.raises(KeyboardInterrupt), rollback(trainer) as same:
        same.losses.append(2.0)
        trainer.optimizer.rate = 7
        raise KeyboardInterrupt
    assert trainer.losses == []
    assert trainer.optimizer.rate == 0.1
    with rollback(trainer):
        trainer.epoch = 3
    assert trainer.epoch == 3


def test_a6_a_checkpoint_every_five_calls(keeper: Keeper) -> None:
    trainer = Trainer()
    assert keeper.resume(trainer, "run") is None
    for call in range(1, 23):
        assert trainer.train(call / 10) == call / 10
    epochs = []
    for summary in keeper.history("run"):
        keeper.restore(trainer, summary.id)
        epochs.append(trainer.epoch)
    assert epochs == [20, 15, 10, 5]
    assert {summary.step for summary in keeper.history("run")} == {"train"}
    again = Trainer()
    found = keeper.resume(again, "run")
    assert found is not None
    assert again.epoch == 20


def test_a7_diff_of_an_object_or_of_two_checkpoints(keeper: Keeper) -> None:
    trainer = Trainer()
    first = keeper.save(trainer, "run")
    trainer.losses.append(0.25)
    trainer.optimizer.rate = 0.2
    trainer.note = "new"  # type: ignore[attr-defined]
    second = keeper.save(trainer, "run")
    for found in (keeper.diff(first.id, second.id), keeper.diff(first, trainer), keeper.diff(first.id, second)):
        assert {change.path for change in found.added} == {"state['losses'][0]", "state['note']"}
        assert found.removed == ()
        [changed] = found.changed
        assert (changed.path, changed.old, changed.new) == ("state['optimizer']['rate']", 0.1, 0.2)
    [removed, _] = sorted(keeper.diff(trainer, first).removed, key=lambda change: change.path)
    assert (removed.path, removed.old) == ("state['losses'][0]", 0.25)
    assert not keeper.diff(second.id, trainer)


def versions(upto: int) -> type[Any]:
    class Worker(Checkpointable):
        _checkpoint_name = "test.worker"
        _checkpoint_version = upto

        def __init__(self) -> None:
            self.tasks: Any = ["a"] if upto > 1 else "a"
            if upto > 2:
                self.done = 0

    return Worker


def test_a8_versions_and_migrations(keeper: Keeper) -> None:
    old, new = versions(1), versions(3)
    register_migration(new, 1, lambda state: {**state, "tasks": [state["tasks"]]})

    @register_migration(new, 2)
    def add_done(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "done": len(state["tasks"])}

    saved = keeper.save(old(), "run")
    worker = new()
    worker.tasks = None
    keeper.load(worker, "run")
    assert (worker.tasks, worker.done) == (["a"], 1)
    assert keeper.diff(saved.id, saved).changed == ()
    keeper.save(worker, "run")
    with pytest.raises(bp.BadSetup, match=r"version 3 of .*only versions up to 1 are known here"):
        keeper.load(old(), "run")


def test_a9_chosen_fields_and_underscores(keeper: Keeper) -> None:
    class Chosen(Checkpointable):
        _checkpoint_fields = ("kept", "_inner")

        def __init__(self) -> None:
            self.kept, self.other, self._inner, self._cache = 1, 2, 3, 4

    chosen = Chosen()
    state = {name for name in chosen.state_dict() if not name.startswith("__")}
    assert state == {"kept", "_inner"}
    assert "_client" not in Trainer().state_dict()
    keeper.save(chosen, "run")
    other = Chosen()
    other.kept = other.other = other._inner = other._cache = 0
    keeper.load(other, "run")
    assert (other.kept, other.other, other._inner, other._cache) == (1, 0, 3, 0)


def test_a10_a_clone_is_independent() -> None:
    trainer = Trainer()
    trainer.losses.append(0.5)
    clone = trainer.clone()
    assert type(clone) is Trainer
    assert clone.state_dict() == trainer.state_dict()
    clone.losses.append(0.4)
    clone.optimizer.rate = 9
    clone.epoch = 5
    assert (trainer.losses, trainer.optimizer.rate, trainer.epoch) == ([0.5], 0.1, 0)
    assert clone._client is trainer._client


VALUES: list[Any] = [
    *(None, True, False, 0, -(2**80), 2**53 + 1, 10**5000, 1.5, -0.0, float("inf"), "", "ä\u2028\n", b"\x00\xff"),
    *([], [1, [2, "x"]], (), (1, (2,)), {1, 2}, set(), frozenset({"a"}), {"a": {"b": [1]}}, {}),
    *({1: "a", None: 2, (1, 2): 3, b"k": 4, False: 5}, {"$": 1}, {"__class__": "x", "__version__": 1}, {"__same__": 1}),
    *(dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.UTC), dt.date(2026, 1, 2), dt.time(1, 2), dt.timedelta(days=1, seconds=3)),
    *(Decimal("1.50"), UUID(int=7), Path("a/b"), Colour.RED, Order(1, ["x"]), [Order(2, [])]),
    bp.State(x=1),
]
OBJECTS: list[Any] = [Optimizer(0.7), [Optimizer(1), (Optimizer(2), {"k": Optimizer(3)})]]


class Holder(Checkpointable):
    def __init__(self, value: Any = None) -> None:
        self.value = value


@pytest.mark.parametrize("place", PLACES)
def test_a11_every_type(place: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with Keeper(new_place(place, request, tmp_path)) as keeper:
        other = Holder()
        for value in [*VALUES, *OBJECTS]:
            held = Holder(value)
            saved = keeper.save(held, "run")
            other.value = None
            keeper.load(other, "run")
            assert alike(other.state_dict(), held.state_dict()), value
            assert alike(saved.state, held.state_dict()), value
            assert type(other.value) is type(value)
            assert value in OBJECTS or alike(other.value, value)
        keeper.save(Holder(float("nan")), "run")
        keeper.load(other, "run")
        assert other.value != other.value


def test_a11_what_could_not_come_back_is_refused_with_its_path(keeper: Keeper) -> None:
    with pytest.raises(bp.Unserializable, match=r"names begin with _ are left out") as caught:
        keeper.save(Holder({"a": [1, threading.Lock()]}), "run")
    assert caught.value.path == "state['value']['a'][1]"
    assert keeper.history("run") == []


PROBE = """
import sys
from batonpass.adapters.plain import Checkpointable, JsonFiles, Keeper
class Counter(Checkpointable):
    def __init__(self): self.n = 0
counter = Counter()
for place in (JsonFiles("runs"), "sqlite:///x.db", "memory://"):
    with Keeper(place) as keeper:
        counter.n += 1
        keeper.save(counter, "run")
        keeper.load(Counter(), "run")
print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_a12_needs_no_framework_no_server_and_no_extra(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", PROBE], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded = set(run.stdout.split())
    assert loaded & {"redis", "langgraph", "langchain_core", "crewai", "autogen_core", "typer", "rich"} == set()
    with Keeper(JsonFiles(tmp_path / "runs")) as keeper:
        assert [summary.agent for summary in keeper.history("run")] == ["Counter"]

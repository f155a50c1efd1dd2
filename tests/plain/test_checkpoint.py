"""@checkpoint saves an object's state after a method, in threads and tasks; and what happens on failures."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.adapters.plain import AsyncKeeper, Checkpointable, JsonFiles, Keeper, checkpoint, rollback
from tests.harness.keepers import PLACES, new_place

pytestmark = pytest.mark.anyio


class Worker(Checkpointable):
    def __init__(self) -> None:
        self.done: list[int] = []
        self._lock = threading.Lock()

    @checkpoint
    def one(self, number: int, *, fail: bool = False) -> int:
        """Do one."""
        with self._lock:
            self.done.append(number)
        if fail:
            raise RuntimeError("in the method")
        return number

    @checkpoint(every=3)
    def third(self) -> None:
        self.one.__wrapped__(self, 0)  # type: ignore[attr-defined]

    @checkpoint(every=2)
    async def aone(self, number: int) -> int:
        await anyio.lowlevel.checkpoint()
        self.done.append(number)
        return number


class Failing:
    """A keeper whose place fails while `broken`."""

    def __init__(self, keeper: Any) -> None:
        self._save = keeper._place.save
        self.broken = True
        keeper._place.save = self.save

    def save(self, **about: Any) -> Any:
        if self.broken:
            raise bp.Overloaded("full")
        return self._save(**about)


def steps(keeper: Keeper, key: str = "run") -> list[str]:
    return [summary.step for summary in reversed(keeper.history(key, 100))]


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    with Keeper("memory://") as made:
        yield made


def test_the_method_stays_what_it_was(keeper: Keeper) -> None:
    worker = Worker()
    keeper.attach(worker, "run")
    assert worker.one(7) == 7
    assert (Worker.one.__name__, Worker.one.__doc__) == ("one", "Do one.")
    assert steps(keeper) == ["one"]


def test_each_method_of_each_object_counts_for_itself(keeper: Keeper) -> None:
    first, second = Worker(), Worker()
    keeper.attach(first, "run")
    keeper.attach(second, "other")
    for _ in range(2):
        first.third()
        second.third()
    first.third()
    first.one(1)
    assert steps(keeper) == ["third", "one"]
    assert steps(keeper, "other") == []
    keeper.attach(first, "new")
    first.third()
    assert steps(keeper, "new") == []


def test_a_call_that_raises_does_not_count(keeper: Keeper) -> None:
    worker = Worker()
    keeper.attach(worker, "run")
    with pytest.raises(RuntimeError, match="in the method"):
        worker.one(1, fail=True)
    assert steps(keeper) == []


def test_who_is_not_attached_is_told_before_the_method_runs() -> None:
    worker = Worker()
    with pytest.raises(bp.BadSetup, match=r"Worker\.one saves with @checkpoint, but .* keeper\.resume\(obj, key\)"):
        worker.one(1)
    assert worker.done == []


def test_attachments_end_with_their_objects(keeper: Keeper) -> None:
    from batonpass.adapters.plain import attached

    known = len(attached._all)
    worker = Worker()
    keeper.attach(worker, "run")
    assert len(attached._all) == known + 1
    del worker
    assert len(attached._all) == known


@pytest.mark.parametrize("every", [0, -1, 2.0, True, "5"])
def test_wrong_numbers(every: Any) -> None:
    with pytest.raises(bp.BadSetup, match="every= is 1 or more"):
        checkpoint(every=every)(len)


def test_what_can_not_be_decorated() -> None:
    def generate() -> Iterator[int]:
        yield 1

    async def agenerate() -> AsyncIterator[int]:
        yield 1

    for wrong in (generate, agenerate):
        with pytest.raises(bp.BadSetup, match="can't tell when the generator"):
            checkpoint(wrong)
    kinds: list[Any] = [staticmethod, classmethod, property]
    for kind in kinds:
        with pytest.raises(bp.BadSetup, match=f"is a {kind.__name__}"):
            checkpoint(kind(len))
    with pytest.raises(bp.BadSetup, match="but list is not a Checkpointable"):
        checkpoint(sorted)([1])


def test_a_save_that_fails_is_raised_and_tried_again_at_the_next_call(keeper: Keeper) -> None:
    worker = Worker()
    keeper.attach(worker, "run")
    failing = Failing(keeper)
    for _ in range(2):
        worker.third()
    with pytest.raises(bp.Overloaded):
        worker.third()
    assert worker.done == [0, 0, 0]
    failing.broken = False
    worker.third()
    assert [summary.step_index for summary in keeper.history("run")] == [0]
    for _ in range(2):
        worker.third()
    assert len(keeper.history("run")) == 2


@pytest.mark.parametrize("place", PLACES)
def test_threads(place: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Every due save is made, and no older state follows a newer one."""
    with Keeper(new_place(place, request, tmp_path)) as keeper:
        worker = Worker()
        keeper.attach(worker, "run")
        with ThreadPoolExecutor(8) as threads:
            assert sorted(threads.map(worker.one, range(40))) == list(range(40))
        found = Worker()
        lengths = []
        for summary in reversed(keeper.history("run", 100)):
            keeper.restore(found, summary.id)
            lengths.append(len(found.done))
        assert len(lengths) == 40
        assert lengths == sorted(lengths)
        assert lengths[-1] == 40


@pytest.mark.parametrize(
    ("place", "side"),
    [*((place, "async") for place in PLACES), *((place, "sync") for place in PLACES if place != "memory")],
)
async def test_async_methods(place: str, side: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    where = new_place(place, request, tmp_path)
    worker = Worker()
    async with AsyncKeeper(where) as keeper:
        used: Any = keeper if side == "async" else Keeper(where)
        used.attach(worker, "run")
        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(worker.aone, number)
        assert await worker.aone(10) == 10
        found = Worker()
        lengths = []
        for summary in reversed(await keeper.history("run")):
            await keeper.restore(found, summary.id)
            lengths.append(len(found.done))
        assert len(lengths) == 5
        assert lengths == sorted(lengths)
        assert await keeper.keys() == ["run"]
        assert (await keeper.load(Worker(), "run")).step == "aone"
        if side == "sync":
            used.close()


async def test_a_sync_method_can_not_save_with_an_async_keeper() -> None:
    worker = Worker()
    async with AsyncKeeper("memory://") as keeper:
        assert await keeper.resume(worker, "run") is None
        with pytest.raises(bp.BadSetup, match="not async, but its object is attached to an AsyncKeeper"):
            worker.one(1)
        with pytest.raises(bp.BadSetup, match="use `async with rollback"), rollback(worker):
            pass
    assert worker.done == []


async def test_on_an_open_coordinator(sqlite_url: str) -> None:
    """The keeper is one more user of the store: timelines, forks and names work, and no app's agent is involved."""
    app = bp.App("desk")

    @app.agent("Worker", accepts=bp.State, returns=bp.State, state_version=2)
    def work(state: bp.State) -> bp.State:
        return state

    worker = Worker()
    async with bp.connect(sqlite_url, app=app) as coordinator:
        keeper = AsyncKeeper(coordinator)
        saved = await keeper.save(worker, "run")
        await coordinator.save(thread="other", agent="a", state=1)
        assert saved.version == 1
        assert [summary.id for summary in await coordinator.timeline("run")] == [saved.id]
        assert await keeper.keys() == ["run"]
        assert (await keeper.load(worker, "run")).id == saved.id
    with bp.connect(sqlite_url) as opened:
        assert Keeper(opened).resume(worker, "run") is not None


def failing_work(worker: Worker) -> None:
    worker.one(1)
    worker.done.append(99)
    raise RuntimeError("no")


def test_what_a_rolled_back_block_saved_is_not_what_is_resumed(keeper: Keeper) -> None:
    worker = Worker()
    keeper.attach(worker, "run")
    worker.one(0)
    with pytest.raises(RuntimeError), rollback(worker):
        failing_work(worker)
    assert worker.done == [0]
    assert steps(keeper) == ["one", "one", "rollback"]
    again = Worker()
    keeper.resume(again, "run")
    assert again.done == [0]


def test_a_block_that_saved_nothing_saves_nothing(keeper: Keeper) -> None:
    worker = Worker()
    keeper.attach(worker, "run")
    with pytest.raises(RuntimeError), rollback(worker):
        worker.done.append(1)
        raise RuntimeError
    assert steps(keeper) == []


def test_the_error_goes_on_with_a_note_if_the_rollback_can_not_be_saved(keeper: Keeper) -> None:
    worker = Worker()
    keeper.attach(worker, "run")
    failing = Failing(keeper)
    failing.broken = False
    with pytest.raises(RuntimeError, match="no") as caught, rollback(worker):
        worker.one(5)
        failing.broken = True
        raise RuntimeError("no")
    assert worker.done == []
    assert ["could not be saved as its newest checkpoint: full" in note for note in caught.value.__notes__] == [True]


async def test_rollback_in_async_code_also_when_it_is_cancelled(tmp_path: Path) -> None:
    worker = Worker()
    async with AsyncKeeper(JsonFiles(tmp_path)) as keeper:
        keeper.attach(worker, "run")
        with anyio.CancelScope() as scope:
            async with rollback(worker) as same:
                assert same is worker
                await worker.aone(1)
                await worker.aone(2)
                scope.cancel()
                await anyio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert worker.done == []
        assert [summary.step for summary in await keeper.history("run")] == ["rollback", "aone"]


def test_rollback_restores_the_same_objects_and_deletes_new_attributes() -> None:
    first, second = Worker(), Worker()
    whole: Any = Worker()
    whole.done = [first, second]
    with pytest.raises(RuntimeError), rollback(whole):
        first.done.append(1)
        whole.done = [second]
        whole.new = 1
        raise RuntimeError
    assert whole.done == [first, second]
    assert first.done == []
    assert not hasattr(whole, "new")

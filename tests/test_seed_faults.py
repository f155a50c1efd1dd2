"""The faults of the systems that this project grew from, a test for each: what lost or changed state there must not
here.

Those of the frameworks' adapters are in the adapters' tests. More on types is in test_codec.py, on damage in
rules/test_corruption.py, on kills in rules/test_acknowledged.py, on many writers at once in rules/test_intents.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import batonpass as bp
from tests.harness.bench import Bench
from tests.harness.stores import Harness, MemoryHarness, RedisHarness, SqliteHarness
from tests.house.tree import ROOT

DAY = 86_400_000


class Notes(bp.Contract, name="seed.notes"):
    facts: list[str]


desk = bp.App("seed")


@desk.agent("writer", accepts=Notes, returns=Notes)
def writer(notes: Notes) -> Notes:
    return notes


@pytest.fixture(params=["memory", "sqlite", "redis"])
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    if request.param == "redis":
        redis = RedisHarness(request.getfixturevalue("redis_server"))
        yield redis
        redis.close()
    else:
        yield MemoryHarness() if request.param == "memory" else SqliteHarness(tmp_path / "store.db")


@pytest.fixture
def connect(harness: Harness) -> Iterator[Callable[[], bp.SyncCoordinator]]:
    """Opens the same store again and again, as processes that are started anew."""
    opened: list[Bench] = []

    def again() -> bp.SyncCoordinator:
        opened.append(Bench(harness, side="sync"))
        face: bp.SyncCoordinator = opened[-1].face(desk)
        return face

    yield again
    for bench in opened:
        bench.close()


@pytest.fixture
def store(connect: Callable[[], bp.SyncCoordinator]) -> bp.SyncCoordinator:
    return connect()


def save(store: bp.SyncCoordinator, state: Any, *, thread: str = "run", **more: Any) -> bp.Checkpoint:
    return store.save(state=state, thread=thread, agent="a", **more)


def ids(store: bp.SyncCoordinator, thread: str = "run") -> list[str]:
    return [summary.id for summary in store.timeline(thread=thread, limit=500)]


# parents


def test_a_restart_makes_no_second_root(connect: Callable[[], bp.SyncCoordinator]) -> None:
    """There: the chain was kept in the process's memory."""
    first = save(connect(), 1)
    second = save(connect(), 2)
    third = save(connect(), 3)
    assert (first.parent_id, second.parent_id, third.parent_id) == (None, first.id, second.id)
    assert connect().restore(third.id).parent_id == second.id


def test_a_parent_that_does_not_exist_is_refused(store: bp.SyncCoordinator) -> None:
    gone = save(store, 1, thread="other")
    store.expire(gone.id)
    with pytest.raises(bp.NotFound, match=gone.id):
        save(store, 2, parent=gone.id, branch=True)
    assert store.timeline(thread="run") == []


def test_the_order_is_that_of_the_saves(store: bp.SyncCoordinator) -> None:
    """There: by the millisecond, so that fast saves came back in any order, and two lists disagreed after a branch."""
    saved = [save(store, n) for n in range(50)]
    branch = save(store, "branch", parent=saved[10].id, branch=True)
    assert ids(store) == [branch.id, *(checkpoint.id for checkpoint in reversed(saved))]
    newest = store.latest(thread="run")
    assert newest is not None
    assert (newest.id, newest.parent_id) == (branch.id, saved[10].id)


def test_old_checkpoints_stay_within_reach(store: bp.SyncCoordinator) -> None:
    """There: the newest 100; an older one was answered with an empty state."""
    saved = [save(store, {"n": n}) for n in range(130)]
    assert [store.restore(checkpoint.id).state["n"] for checkpoint in saved] == list(range(130))
    page = store.timeline(thread="run", limit=50, before=saved[100].id)
    assert [summary.id for summary in page] == [checkpoint.id for checkpoint in reversed(saved[50:100])]


# what is kept


def test_a_saved_state_does_not_follow_the_savers_object(store: bp.SyncCoordinator) -> None:
    """There: inner values were shared, and a later change broke the checkpoint's own checksum."""
    state: dict[str, Any] = {"said": ["one"]}
    saved = save(store, state)
    state["said"].append("two")
    saved.state["said"].append("three")
    assert store.restore(saved.id).state == {"said": ["one"]}


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        date(2026, 1, 2),
        timedelta(hours=1),
        {1: "one", None: "none", "two": 2, (1, 2): "pair"},
        {"a", "b"},
        (1, (2, 3)),
        Decimal("0.10"),
        UUID(int=7),
        2**80,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_can_be_saved_can_be_restored(store: bp.SyncCoordinator, value: Any) -> None:
    """There: a datetime, or a key that is no text, was saved and could never be restored; a tuple became a list."""
    saved = save(store, {"value": value})
    newest = store.latest(thread="run")
    assert newest is not None
    for found in (store.restore(saved.id).state["value"], newest.state["value"]):
        assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("part", ["header", "state", "commit"])
def test_damage_is_noticed_on_every_way_to_read(store: bp.SyncCoordinator, harness: Harness, part: str) -> None:
    """There: the checksum left out the agent, the parent and the step, and lists and `latest` never looked at it."""
    before = save(store, "before")
    damaged = save(store, "damaged", step="s1")
    with harness.tampered(damaged.id, part, lambda data: data[:-1] + bytes([data[-1] ^ 1])):
        with pytest.raises(bp.Corrupted, match=damaged.id):
            store.restore(damaged.id)
        with pytest.raises(bp.Corrupted, match=damaged.id):
            store.latest(thread="run")
        if part != "state":
            assert [found.damaged for found in store.timeline(thread="run")] == [("record",), ()]
        assert store.restore(before.id).state == "before"


# time


def test_one_short_life_takes_no_neighbours_along(store: bp.SyncCoordinator, harness: Harness) -> None:
    """There, on Redis: one save with a TTL made the thread's whole index disappear."""
    for_ever = [save(store, n) for n in range(3)]
    save(store, "short", ttl=60)
    later = save(store, "later")
    last = save(store, "last", ttl=60)
    harness.clock.advance(DAY)
    assert ids(store) == [later.id, *(checkpoint.id for checkpoint in reversed(for_ever))]
    newest = store.latest(thread="run")
    assert newest is not None
    assert newest.id == later.id
    with pytest.raises(bp.NotFound):
        store.restore(last.id)


def test_no_life_is_not_for_ever(store: bp.SyncCoordinator) -> None:
    """There: a TTL of 0 meant none."""
    with pytest.raises(bp.BadSetup, match="ttl"):
        save(store, 1, ttl=0)
    assert store.timeline(thread="run") == []


def test_expiring_one_leaves_the_others(store: bp.SyncCoordinator) -> None:
    """There, on Redis: expiring any checkpoint made the thread start from nothing."""
    first, second, third = (save(store, n) for n in range(3))
    store.expire(first.id)
    newest = store.latest(thread="run")
    assert newest is not None
    assert newest.id == third.id
    store.expire(third.id)
    assert ids(store) == [second.id]
    assert save(store, 4).parent_id == second.id


# handoffs


def test_a_handoff_arrives(store: bp.SyncCoordinator) -> None:
    """There: a row under the sender's name, which no receiver could find, once for every try."""
    saved = save(store, {"facts": ["one"]}, step="found")
    jobs = [store.hand_off(saved.id, to="writer", key="once") for _ in range(5)]
    assert len({job.id for job in jobs}) == 1
    [info] = store.jobs(agent="writer")
    assert (info.id, info.state, info.checkpoint_id) == (jobs[0].id, bp.JobState.SUBMITTED, saved.id)
    assert [event.type for event in store.events(job=info.id)] == ["batonpass.job.submitted"]


def test_names_do_not_run_into_each_other(store: bp.SyncCoordinator) -> None:
    """There: agent `a:b` on `c` and agent `a` on `b:c` shared a timeline."""
    names = ["a:b", "a", "b:c", "a:b:c", "a::b", "{a}", "*", "a\x00b"]
    saved = {name: store.save(state=name, thread=name, agent="x:y").id for name in names}
    assert {name: ids(store, name) for name in names} == {name: [id_] for name, id_ in saved.items()}


# processes

MANY_AT_ONCE = """
import asyncio, sys
import batonpass as bp

async def main():
    coordinator = await bp.connect(sys.argv[1]).__aenter__()
    saves = (coordinator.save(state=n, thread=f"t{n}", agent="a") for n in range(10))
    print(len(await asyncio.gather(*saves)))

asyncio.run(main())
"""


@pytest.mark.each_store
def test_many_first_saves_at_once_and_nobody_closes(store_url: str) -> None:
    """There: "database is locked", and without `close` the process never ended."""
    command = [sys.executable, "-c", MANY_AT_ONCE, store_url]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert (run.returncode, run.stdout.strip()) == (0, "10"), run.stderr
    with bp.connect(store_url) as coordinator:
        assert [coordinator.timeline(thread=f"t{n}")[0].step_index for n in range(10)] == [0] * 10

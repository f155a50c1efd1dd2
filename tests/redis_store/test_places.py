"""How places are kept in Redis: what takes several steps, what order they have, what is left of a damaged one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import batonpass as bp
from batonpass.contracts.names import digest
from batonpass.coordinator import commands as c
from batonpass.coordinator.parts.spans import read_spans
from batonpass.coordinator.redis.going_on import GoOn
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.seals import read_commit
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import MINUTE, Bench, new_checkpoint, new_target
from tests.harness.keyspace import Keyspace, restorable
from tests.harness.places import Places, large
from tests.harness.stores import RedisHarness

SCOPES = 1100


@pytest.fixture
def harness(redis_server: str) -> Iterator[RedisHarness]:
    made = RedisHarness(redis_server)
    yield made
    made.close()


@pytest.fixture(params=["sync", "async"])
def bench(request: pytest.FixtureRequest, harness: RedisHarness) -> Iterator[Bench]:
    with Bench(harness, side=request.param) as made:
        yield made


def problems(harness: RedisHarness, bench: Bench) -> list[str]:
    store = bench.store
    assert isinstance(store, RedisStore)
    found = Keyspace(harness.server, store.prefix)
    return [*found.problems(), *restorable(store, found)]


@pytest.mark.parametrize("looking", [False, True])
def test_more_scopes_than_a_script_looks_at(bench: Bench, looking: bool) -> None:
    """A thread that runs a subgraph a thousand times has a thousand scopes."""
    run, store = Places(bench), bench.store
    assert isinstance(store, RedisStore)
    for number in range(SCOPES):
        bench.do(c.Put(run.new(f"{number * 7 % SCOPES:04}", scope=f"sub:{number:04}", share=False)))
    read: list[str] = []
    before: tuple[str, str] | None = None
    for _ in range(3):
        if looking:
            store._dialogue.witness.hurry()
        page = bench.do(c.Places("run", None, before, 400))
        read += [row.place.key for row in page]
        before = (page[-1].place.key, page[-1].place.scope)
    assert read == [f"{number:04}" for number in reversed(range(SCOPES))][: len(read)]
    assert len(read) == SCOPES


def test_what_was_passed_over_counts_only_as_long_as_nothing_was_added(bench: Bench) -> None:
    """A script is asked to go on where it stopped, but meanwhile something newer has come."""
    run = Places(bench)
    first = bench.save(None, thread="line")
    bench.save(None, thread="line", ttl=MINUTE)
    run.line("a", "b", ttl=MINUTE)
    again = c.Save("line", new_checkpoint(thread="line"), parent=first)
    with pytest.raises(bp.Conflict):
        bench.do(GoOn(again, b"(1 1"))
    with pytest.raises(bp.Conflict):
        bench.do(GoOn(c.Put(run.new("c"), "a", "a"), b"1 \0b\0"))


def test_keys_are_compared_by_their_bytes(bench: Bench) -> None:
    """By the server, and by the script that finds out whether a checkpoint is its scope's latest."""
    run = Places(bench)
    for key in [
        "B",
        "a",
        "abcdefgB",
        "abcdefga",
        "abcdefgC",
        "Z" * 20 + "a",
        "a" * 17,
        "a" * 16,
        "a\0b",
        "a\1",
        "é",
        "z",
        "\U0001f600",
        "zz",
    ]:
        run.put(key, "none")
        keys = run.keys()
        assert keys == sorted(keys, reverse=True)
        fence = bench.start(thread="run")
        latest = run.find()
        assert latest is not None
        assert (latest.place.key, bench.job(fence.job_id).tip) == (keys[0], latest.checkpoint.id)
        bench.do(c.Cancel(fence.job_id))


def test_each_segment_is_read_once(bench: Bench) -> None:
    run = Places(bench)
    run.put("a", state={"said": [f"{number} " * 4000 for number in range(40)]})
    found = run.find()
    assert found is not None
    [span] = read_spans(read_commit(found.checkpoint.commit, "").spans)
    pieces = tuple(span._replace(first=at, last=min(at + 1000, span.last)) for at in range(span.first, span.last, 1000))
    assert b"".join(bench.do(c.ReadSpans("run", pieces))) == found.checkpoint.bodies[0]
    assert bench.do(c.ReadSpans("run", ())) == []


def test_large_writes_come_with_their_bodies(bench: Bench) -> None:
    """More than a script returns: in the checkpoint, in a write, or in both."""
    run = Places(bench)
    run.put("a", state={"doc": ["a" * 70_000]})
    new = run.new("b", {"doc": ["a" * 70_000, "b" * 90_000]})
    [append] = new.appends
    span = f"{append.log}:{append.at}:{append.at + len(append.data)}"
    bench.do(c.Put(new, "a", writes=[Write("x", b"1", span), Write("y", b"2")]))
    found = run.find("a")
    assert found is not None
    assert open_checkpoint(found.checkpoint).state == {"doc": ["a" * 70_000]}
    bodies = {write.name: write.bodies for write in found.writes}
    assert bodies == {"x": (append.data,), "y": ()}


@pytest.mark.parametrize("kind", ["save", "unleased", "hand_off", "complete", "suspend", "sleep", "import"])
def test_every_way_to_commit_may_put(harness: RedisHarness, bench: Bench, kind: str) -> None:
    """A checkpoint with a place is put there by any command; one that was there goes."""
    run = Places(bench)
    first = run.put("a", state=large("a"), run="r")
    new = new_checkpoint(thread="run", place=Place("", "a", "s"))
    if kind == "unleased":
        bench.do(c.Save("run", new))
    elif kind == "import":
        bench.do(c.Import("run", 1, [new], [""]))
    else:
        fence = bench.start(thread="run")
        commands = {
            "save": c.Save("run", new, fence),
            "hand_off": c.HandOff(fence, new_target("review"), new),
            "complete": c.Complete(fence, b"result", new),
            "suspend": c.Suspend(fence, b"sure?", new),
            "sleep": c.Sleep(fence, 1, new),
        }
        bench.do(commands[kind])
    found = run.find("a")
    assert found is not None
    assert (found.checkpoint.id, found.place) == (new.id, Place("", "a", "s"))
    assert bench.do(c.OfRun("r")) == []
    assert bench.do(c.OfRun("s")) == [("run", new.id)]
    assert first not in {row.id for row in bench.line("run")}
    assert not problems(harness, bench)


def test_a_damaged_commit_line_does_not_keep_the_place(harness: RedisHarness, bench: Bench) -> None:
    """The line says where the checkpoint is. Without it, the place has to be searched."""
    run = Places(bench)
    damaged, other = run.line("a", "b", state=large("a"))
    run.write("a", Write("x", b"1"))
    thread_key = f"{bench.store.prefix}t:{digest('run')}"  # type: ignore[attr-defined]
    harness.server.hset(thread_key, damaged, b"nonsense")
    assert run.keys() == ["b", "a"]
    assert bench.do(c.Drop("run", (damaged,))).count == 1
    assert run.keys() == ["b"]
    assert run.find("a") is None
    assert bench.do(c.Drop("run", (other,))).count == 1
    assert bench.do(c.Threads()) == []

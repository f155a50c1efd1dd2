"""A checkpoint that goes takes its place and writes along, frees what only they used, and leaves nothing else
behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from batonpass.contracts.errors import ThreadBusy
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Write
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import MINUTE, Bench, commit_of
from tests.harness.places import Places, first_part, kept, large

_Away = Callable[[Bench, str], object]


def _reap(bench: Bench, _: str) -> None:
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Reap())


_WAYS: dict[str, _Away] = {
    "expire": lambda bench, id_: bench.do(c.Expire(id_)),
    "drop": lambda bench, id_: bench.do(c.Drop("run", (id_,))),
    "delete": lambda bench, id_: bench.do(c.DeleteThread("run")),
    "reap": _reap,
}


@pytest.mark.parametrize("away", _WAYS.values(), ids=_WAYS)
def test_it_takes_all_along(bench: Bench, away: _Away) -> None:
    """The next one at its place finds nothing, and nothing was left."""
    run = Places(bench)
    run.put("other", state="other", scope="s", ttl=MINUTE)
    bench.do(c.DeleteThread("run"))
    before = kept(bench)
    new = run.new("a", large("a"), run="r", ttl=MINUTE, share=False)
    bench.do(c.Put(new))
    spans, _ = first_part(new)
    run.write("a", Write("x", b"1"), Write("y", b"2", spans))
    away(bench, new.id)
    assert (run.find("a"), run.find(), run.keys(None), bench.do(c.OfRun("r"))) == (None, None, [], [])
    assert bench.harness.logs() == {}
    bench.do(c.DeleteThread("run"))
    assert kept(bench) == before
    run.put("a", share=False)
    assert run.written("a") == {}


@pytest.mark.parametrize("away", [_WAYS["expire"], _WAYS["drop"]], ids=["expire", "drop"])
def test_its_neighbours_stay(bench: Bench, away: _Away) -> None:
    run = Places(bench)
    before = run.put("b", scope="before", share=False)
    ids = [run.put("a", state=large("a")), run.put("b", "a", state=large("a")), run.put("c", "b", state=large("a"))]
    for key in "abc":
        run.write(key, Write("x", key.encode()))
    away(bench, ids[1])
    assert [run.at(key) for key in "abc"] == ["a", "", "c"]
    assert (run.written("a"), run.written("c")) == ({"x": b"a"}, {"x": b"c"})
    assert (run.keys(None), [row.id for row in bench.line("run")]) == (["c", "b", "a"], [ids[2], ids[0], before])
    run.put("b")
    away(bench, before)
    assert (run.at("b"), run.at("b", "before")) == ("b", "")


@pytest.mark.parametrize("way", ["expire", "drop", "reap"])
def test_the_tip_stays_if_it_is_not_the_one(bench: Bench, way: str) -> None:
    """It need not be the newest checkpoint: that may be of another scope."""
    run = Places(bench)
    older = run.put("a", ttl=MINUTE)
    tip = run.put("b", "a")
    run.put("z", scope="sub")
    _WAYS[way](bench, older)
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run")))).parent == tip


# drop


def test_dropping_many_is_told_once(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c", "d", run="r")
    assert bench.do(c.Drop("run", (ids[3], ids[1], ids[1], mint("c"), ids[0]))) == c.Freed(3)
    assert (run.keys(), bench.do(c.OfRun("r"))) == (["c"], [("run", ids[2])])
    event = bench.do(c.Events(subject="run"))[-1].fields
    assert (event["type"], event["freed"]) == ("batonpass.thread.pruned", "3")
    assert bench.happened("run") == ["checkpoint.saved"] * 4 + ["thread.pruned"]


def test_dropping_what_is_gone_already(bench: Bench) -> None:
    run = Places(bench)
    id_ = run.put("a")
    run.put("b")
    other = Places(bench, "other").put("a")
    bench.do(c.Expire(id_))
    with bench.nothing_changes():
        assert bench.do(c.Drop("run", (id_, other))) == c.Freed(0)
        assert bench.do(c.Drop("run", ())) == c.Freed(0)
        assert bench.do(c.Drop("nothing", (other,))) == c.Freed(0)


def test_a_job_keeps_what_it_would_resume_from(bench: Bench) -> None:
    run = Places(bench)
    older, tip = run.line("a", "b")
    job_id = bench.submit(thread="run")
    assert bench.do(c.Drop("run", (older, tip))) == c.Freed(1)
    [event] = [row.fields for row in bench.do(c.Events(subject=job_id)) if row.fields.get("freed")]
    assert event["type"] == "batonpass.thread.pruned"
    assert run.keys() == ["b"]
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert delivery.checkpoint.id == tip


def test_dropping_the_last_forgets_the_thread(bench: Bench) -> None:
    run = Places(bench)
    before = kept(bench)
    bench.do(c.Drop("run", tuple(run.line("a", "b"))))
    assert bench.do(c.Threads()) == []
    assert kept(bench) == before


def test_the_tip_falls_back_too(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c")
    bench.do(c.Drop("run", (ids[2],)))
    assert (bench.tip("run"), run.at()) == (ids[1], "b")


# threads that hold writes alone


def test_it_exists_beside_others(bench: Bench) -> None:
    Places(bench, "other").put("a")
    Places(bench).write("a", Write("x", b"1"))
    assert bench.do(c.Threads()) == ["other", "run"]
    with bench.nothing_changes():
        bench.do(c.DeleteThread("unknown"))


def test_it_exists_and_can_be_deleted(bench: Bench) -> None:
    before = kept(bench)
    run = Places(bench)
    for key in ("a", "b", "c"):
        run.write(key, Write("x", b"1"), scope=key)
    assert bench.do(c.Threads()) == ["run"]
    bench.do(c.Prune("run"))
    assert bench.do(c.Threads()) == ["run"]
    freed = [bench.do(c.DeleteThread("run", 2)), bench.do(c.DeleteThread("run", 2))]
    assert freed == [c.Freed(0, 0), c.Freed(0)]
    assert bench.do(c.Threads()) == []
    assert kept(bench) == before
    assert bench.happened("run") == ["thread.deleted"]


def test_a_part_of_it_is_the_same_on_every_store(bench: Bench) -> None:
    run = Places(bench)
    for key in "ba":
        run.write(key, Write("x", b"1"))
    bench.do(c.DeleteThread("run", 1))
    for key in "ab":
        run.put(key, share=False)
    assert [sorted(run.written(key)) for key in "ab"] == [[], ["x"]]


def test_writes_that_are_left_keep_their_thread_and_their_bytes(bench: Bench) -> None:
    before = kept(bench)
    run = Places(bench)
    new = run.new("a", large("a"))
    spans, _ = first_part(new)
    bench.do(c.Put(new, "nowhere", writes=[Write("x", b"1", spans)]))
    bench.do(c.Drop("run", (new.id,)))
    assert (bench.do(c.Threads()), bench.line("run")) == (["run"], [])
    assert bench.harness.logs() != {}
    bench.do(c.DeleteThread("run"))
    assert kept(bench) == before


# retention of whole threads


def test_a_thread_goes_in_parts(bench: Bench) -> None:
    before = kept(bench)
    run = Places(bench)
    for scope in ("", "s"):
        run.line(*(f"{number}" for number in range(6)), scope=scope, run="r")
        run.write("3", Write("x", b"1"), scope=scope)
    run.write("9", Write("x", b"1"))
    count, at = 0, 0
    while at >= 0:
        done = bench.do(c.DeleteThread("run", 5))
        count, at = count + done.count, done.next
    assert count == 12
    assert kept(bench) == before


def test_pruning_leaves_them_to_who_knows_what_their_framework_needs(bench: Bench) -> None:
    """They may come while it prunes what had none."""
    run = Places(bench)
    run.put("a")
    bench.save(None, thread="run")
    assert bench.do(c.Prune("run")).count == 1
    assert run.keys() == ["a"]


def test_dropping_the_start_of_a_growing_thread(bench: Bench) -> None:
    run, ids = Places(bench), list[str]()
    said: list[str] = large("a")["said"]
    for number in range(12):
        said = [*said, f"{number} " * 100]
        new = run.new(f"{number:02}", {"said": said}, run="r")
        spans, _ = first_part(new)
        writes = [Write("x", b"ref", spans)]
        bench.do(c.Put(new, f"{number - 1:02}" if number else "", writes=writes if number else ()))
        ids.append(new.id)
    assert bench.do(c.Drop("run", tuple(ids[:-2]))).count == 10
    assert run.keys() == ["11", "10"]
    assert len(bench.do(c.OfRun("r"))) == 2
    for key in ("11", "10"):
        found = run.find(key)
        assert found is not None
        assert open_checkpoint(found.checkpoint).state["said"] == said[: len(said) - (key == "10")]
    bench.do(c.Drop("run", tuple(ids)))
    assert (bench.harness.logs(), bench.do(c.Threads())) == ({}, [])


def test_a_job_that_is_pruned_takes_its_thread(bench: Bench) -> None:
    fence = bench.start()
    run = Places(bench, fence.job_id)
    run.put("a", fence=fence, state=large("a"))
    run.write("b", Write("x", b"1"), fence=fence)
    bench.do(c.Complete(fence, b"result"))
    bench.clock.advance(MINUTE)
    assert bench.do(c.PruneJobs(MINUTE)).count == 1
    assert (run.keys(None), bench.do(c.Threads()), bench.harness.logs()) == ([], [], {})


def test_a_damaged_one_goes_whole(bench: Bench) -> None:
    """Its commit line does not say where it was."""
    run = Places(bench)
    id_ = run.put("a")
    run.write("a", Write("x", b"1"))
    run.put("b")
    with bench.harness.tampered(id_, "commit", lambda line: b"\xff " + line[1:]):
        bench.do(c.Drop("run", (id_,)))
        assert (run.find("a"), run.keys(None)) == (None, ["b"])
        run.put("a")
        assert run.written("a") == {}


# copies


def test_a_copy_has_the_same_places(bench: Bench) -> None:
    run, twin = Places(bench), Places(bench, "twin")
    run.put("a", state=large("a"), run="r")
    run.put("b", "a", state=large("a"))
    run.put("b", scope="s")
    assert bench.run(bench.face().copy("run", to="twin")) == 3
    for key, scope in (("a", ""), ("b", ""), ("b", "s")):
        assert twin.at(key, scope) == key
        one, other = run.find(key, scope), twin.find(key, scope)
        assert one is not None
        assert other is not None
        assert one.place == other.place
        assert open_checkpoint(one.checkpoint).state == open_checkpoint(other.checkpoint).state
    assert [row.place.key for row in bench.do(c.Walk("twin", "", "b"))] == ["b", "a"]
    bench.do(c.DeleteThread("run"))
    assert (twin.at(), twin.keys(None)) == ("b", ["b", "b", "a"])
    bench.do(c.DeleteThread("twin"))
    assert bench.harness.logs() == {}


def test_a_page_of_a_copy_takes_its_places(bench: Bench) -> None:
    """Even a place that is there twice: the later one stays."""
    run = Places(bench)
    new = [run.new("a", large("a"), run="r"), run.new("b"), run.new("a", large("a"), run="r", share=False)]
    bench.do(c.Import("run", 0, new, ["", new[0].id, new[1].id]))
    found = run.find("a")
    assert found is not None
    assert found.checkpoint.id == new[2].id
    assert (run.keys(), [row.id for row in bench.line("run")]) == (["b", "a"], [new[2].id, new[1].id])
    assert bench.do(c.OfRun("r")) == [("run", new[2].id)]
    bench.do(c.DeleteThread("run"))
    assert bench.harness.logs() == {}


# what is at places alone


def test_what_is_at_places_goes_alone(bench: Bench) -> None:
    """In parts. The thread stays with its jobs, and with what was saved without a place."""
    run = Places(bench)
    fence = bench.start(thread="run", key="once")
    ids = [bench.save(fence, thread="run"), run.put("a", fence=fence, run="r", state=large("a"))]
    bench.do(c.Complete(fence, b"result"))
    run.put("b", "a", state=large("a"))
    ids.append(bench.save(None, thread="run"))
    run.put("c", scope="s")
    run.write("d", Write("x", b"1"), scope="s")
    freed = [bench.do(c.DeleteThread("run", 2, placed=True)) for _ in range(2)]
    assert freed == [c.Freed(2, 0), c.Freed(1)]
    assert (run.keys(None), bench.do(c.OfRun("r")), bench.harness.logs()) == ([], [], {})
    assert ([row.id for row in bench.line("run")], bench.tip("run")) == ([ids[2], ids[0]], ids[2])
    assert (bench.job(fence.job_id).result, bench.do(c.Threads())) == (b"result", ["run"])
    assert bench.happened("run")[-2:] == ["thread.pruned", "thread.pruned"]
    with bench.nothing_changes():
        assert bench.do(c.DeleteThread("run", placed=True)) == c.Freed(0)
    bench.do(c.DeleteJob(fence.job_id))
    bench.do(c.Drop("run", (ids[0], ids[2])))
    assert bench.do(c.Threads()) == []


def test_a_thread_that_has_nothing_else_goes_with_what_is_at_its_places(bench: Bench) -> None:
    before, run = kept(bench), Places(bench)
    run.line("a", "b", "c", run="r")
    run.write("d", Write("x", b"1"))
    freed = [bench.do(c.DeleteThread("run", 2, placed=True)) for _ in range(2)]
    assert freed == [c.Freed(2, 0), c.Freed(1)]
    assert kept(bench) == before
    assert bench.happened("run")[-1] == "thread.deleted"


def test_what_is_at_places_stays_while_a_job_runs(bench: Bench) -> None:
    run, fence = Places(bench), bench.start(thread="run")
    run.put("a", fence=fence)
    with bench.nothing_changes(), pytest.raises(ThreadBusy):
        bench.do(c.DeleteThread("run", placed=True))

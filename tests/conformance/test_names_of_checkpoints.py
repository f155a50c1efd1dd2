"""Names of checkpoints: unique in a thread, and what has one is kept."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.operations.travel import NAMES
from tests.harness.bench import MINUTE, Bench


def test_a_named_one_is_found_and_shown(bench: Bench) -> None:
    face = bench.face()
    ids = [bench.save(None, n, thread="run") for n in range(4)]
    bench.run(face.name(ids[1], "before-deploy"))
    assert bench.run(face.restore(thread="run", name="before-deploy")).id == ids[1]
    assert [found.name for found in bench.run(face.timeline(thread="run"))] == [None, None, "before-deploy", None]
    assert [found.id for found in bench.run(face.timeline(thread="run", named=True))] == [ids[1]]
    assert bench.run(face.restore(ids[1])).name == "before-deploy"
    assert bench.run(face.latest(thread="run")).name is None
    event = bench.do(c.Events(subject="run"))[-1].fields
    assert (event["type"], event["checkpoint"], event["name"]) == (
        "batonpass.checkpoint.named",
        ids[1],
        "before-deploy",
    )


def test_a_name_is_of_one_in_a_thread(bench: Bench) -> None:
    one, two = (bench.save(None, thread="run") for _ in range(2))
    other = bench.save(None, thread="other")
    bench.do(c.Name(one, "best"))
    with bench.refused(bp.Conflict, f"checkpoint {one} of thread 'run' is already named 'best'"):
        bench.do(c.Name(two, "best"))
    bench.do(c.Name(other, "best"))
    bench.do(c.Name(one, "good"))
    bench.do(c.Name(two, "best"))
    assert (bench.do(c.FindName("run", "best")), bench.do(c.FindName("run", "good"))) == (two, one)
    assert bench.do(c.FindName("other", "best")) == other


def test_the_same_name_again_changes_nothing(bench: Bench) -> None:
    saved = bench.save(None, thread="run")
    bench.do(c.Name(saved, "best"))
    with bench.nothing_changes():
        bench.do(c.Name(saved, "best"))


def test_without_its_name_it_is_not_found_by_it(bench: Bench) -> None:
    face = bench.face()
    saved = bench.save(None, thread="run")
    bench.run(face.name(saved, "best"))
    bench.run(face.unname(saved))
    with bench.refused(bp.NotFound, "no checkpoint of thread 'run' is named 'best'"):
        bench.run(face.restore(thread="run", name="best"))
    bench.do(c.Reap())
    assert bench.run(face.restore(saved)).name is None
    with bench.nothing_changes():
        bench.run(face.unname(saved))


def test_the_name_goes_with_the_checkpoint(bench: Bench) -> None:
    saved = bench.save(None, thread="run")
    bench.do(c.Name(saved, "best"))
    bench.do(c.Expire(saved))
    with bench.refused(bp.NotFound, "best"):
        bench.do(c.FindName("run", "best"))
    bench.do(c.Name(bench.save(None, thread="run"), "best"))


def test_a_name_outlives_the_ttl(bench: Bench) -> None:
    """Seen and kept while it is named; without its name it is gone at once."""
    saved = bench.save(None, thread="run", ttl=MINUTE)
    bench.do(c.Name(saved, "best"))
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Reap())
    assert bench.do(c.Restore(saved)).id == bench.tip("run") == saved
    assert [row.id for row in bench.line("run")] == [saved]
    bench.do(c.Name(saved, ""))
    with bench.refused(bp.NotFound, saved):
        bench.do(c.Restore(saved))
    with bench.refused(bp.NotFound, saved):
        bench.do(c.Name(saved, "best"))
    bench.do(c.Reap())
    assert (bench.happened("run")[-1], bench.tip("run")) == ("checkpoint.expired", "")


def test_one_that_expired_can_not_be_named(bench: Bench) -> None:
    saved = bench.save(None, thread="run", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    for missing in (saved, mint("c")):
        with bench.refused(bp.NotFound, missing):
            bench.do(c.Name(missing, "best"))


def test_named_ones_are_paged(bench: Bench) -> None:
    ids = [bench.save(None, thread="run") for _ in range(8)]
    for id_ in ids[::2]:
        bench.do(c.Name(id_, f"at {id_}"))
    first = bench.do(c.Timeline("run", 3, named=True))
    assert [row.id for row in first] == [ids[6], ids[4], ids[2]]
    assert [row.id for row in bench.do(c.Timeline("run", 3, ids[2], named=True))] == [ids[0]]


def test_some_hundreds_at_most(bench: Bench) -> None:
    face = bench.face()
    saved = bench.save(None, thread="run")
    for n in range(NAMES):
        bench.do(c.Name(bench.save(None, thread="run"), f"name {n}"))
    with bench.refused(bp.Conflict, f"has {NAMES} named checkpoints"):
        bench.do(c.Name(saved, "one more"))
    assert len(bench.run(face.timeline(thread="run", named=True, limit=2 * NAMES))) == NAMES


@pytest.mark.parametrize("name", ["", "x" * 201, mint("c"), "half \ud800"], ids=["empty", "long", "an id", "half"])
def test_names_that_are_none(bench: Bench, name: str) -> None:
    saved = bench.save(None, thread="run")
    with bench.refused(bp.BadSetup):
        bench.run(bench.face().name(saved, name))


def test_names_hold_anything(bench: Bench) -> None:
    names = ["@", "=", "@=", "a\0b", "é", "e\u0301", "💥", "tip", "count", "name", " ", "'; --", "%s", "{}:"]
    saved = {name: bench.save(None, name, thread="run") for name in names}
    for name, id_ in saved.items():
        bench.do(c.Name(id_, name))
    assert {name: bench.do(c.FindName("run", name)) for name in names} == saved
    assert {row.name: row.id for row in bench.do(c.Timeline("run", 500, named=True))} == saved


def test_say_which(bench: Bench) -> None:
    face = bench.face()
    saved = bench.save(None, thread="run")
    for wrong in ({}, {"thread": "run"}, {"name": "best"}, {"checkpoint_id": saved, "name": "best", "thread": "run"}):
        with bench.refused(bp.BadSetup, "give a checkpoint's id"):
            bench.run(face.restore(**wrong))

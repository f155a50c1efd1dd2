"""Listing places: by key, in one scope or in all, page by page, with what they hold and without."""

from __future__ import annotations

import random

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.snapshots import open_checkpoint, open_summary
from tests.harness.bench import MINUTE, Bench
from tests.harness.places import Places, first_part, large


def test_the_greatest_key_first(bench: Bench) -> None:
    run = Places(bench)
    for key in ("b", "c", "a"):
        run.put(key, run=f"run of {key}")
    run.put("bb", scope="sub")
    assert (run.keys(), run.keys("sub"), run.keys("nothing")) == (["c", "b", "a"], ["bb"], [])
    assert [row.place for row in bench.do(c.Places("run"))] == [Place("", key, f"run of {key}") for key in "cba"]
    assert bench.do(c.Places("nothing", None)) == []


def test_all_scopes_are_merged_by_key(bench: Bench) -> None:
    run = Places(bench)
    for scope, key in (("", "a"), ("sub", "b"), ("", "b"), ("a", "b"), ("sub", "c"), ("sub|x", "a"), ("", "0")):
        run.put(key, scope=scope)
    rows = bench.do(c.Places("run", None))
    ordered = [("c", "sub"), ("b", "sub"), ("b", "a"), ("b", ""), ("a", "sub|x"), ("a", ""), ("0", "")]
    assert [(row.place.key, row.place.scope) for row in rows] == ordered


def test_pages(bench: Bench) -> None:
    run, chance = Places(bench), random.Random(3)
    places = [(f"{n:02}", scope) for n in range(12) for scope in ("", "s", "s\0t", "é")]
    for key, scope in chance.sample(places, len(places)):
        run.put(key, scope=scope)
    for asked in (None, "", "s\0t"):
        wanted = sorted((one for one in places if asked in (None, one[1])), reverse=True)
        for limit in (1, 5, 7):
            found: list[tuple[str, str]] = []
            while page := bench.do(c.Places("run", asked, found[-1] if found else None, limit)):
                assert len(page) <= limit
                found += [(row.place.key, row.place.scope) for row in page]
            assert found == wanted


def test_before_need_not_be_there(bench: Bench) -> None:
    run = Places(bench)
    run.put("a", scope="m")
    run.put("c", scope="m")
    assert run.keys("m", before=("b", "")) == ["a"]
    assert (run.keys(None, before=("c", "m")), run.keys(None, before=("c", "n"))) == (["a"], ["c", "a"])
    assert run.keys("m", before=("c", "")) == ["a"]
    assert run.keys("m", before=("c", "z")) == ["c", "a"]
    assert run.keys(None, before=("", "")) == []


def test_lists_are_light(bench: Bench) -> None:
    run = Places(bench)
    run.put("a", state=large("a"))
    run.write("a", Write("w", b"1"))
    [row] = bench.do(c.Places("run"))
    assert (row.checkpoint.state, row.checkpoint.native, tuple(row.checkpoint.bodies)) == (b"", b"", ())
    assert tuple(row.writes) == ()
    assert open_summary(row.checkpoint).step == "step"


def test_or_whole_but_for_logs(bench: Bench) -> None:
    run = Places(bench)
    new = run.new("a", large("a"))
    bench.do(c.Put(new))
    spans, _ = first_part(new)
    run.write("a", Write("w", b"1"), Write("x", b"2", spans))
    run.put("b", state="small", scope="sub")
    for scope in ("", None):
        row = bench.do(c.Places("run", scope, whole=True))[-1]
        whole = bench.do(c.Restore(new.id))
        assert (row.checkpoint.state, row.checkpoint.header) == (whole.state, whole.header)
        assert tuple(row.checkpoint.bodies) == ()
        writes = sorted(row.writes, key=lambda write: write.name)
        assert writes == [Write("w", b"1"), Write("x", b"2", spans)]
    [small] = bench.do(c.Places("run", "sub", whole=True))
    assert open_checkpoint(small.checkpoint).state == "small"


def test_those_whose_time_is_over_are_hidden(bench: Bench) -> None:
    run = Places(bench)
    for number in range(6):
        run.put(f"{number}", ttl=MINUTE if number % 2 else 0)
    bench.clock.advance(MINUTE)
    assert (run.keys(), run.keys(None)) == (["4", "2", "0"], ["4", "2", "0"])
    assert run.keys(None, limit=2) == run.keys(limit=2) == ["4", "2"]
    assert run.keys(before=("4", ""), limit=1) == ["2"]


def test_a_damaged_one_hides_no_others(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c")
    for part in ("header", "commit"):
        with bench.harness.tampered(ids[1], part, lambda data: b"\xff " + data[2:]):
            for whole in (False, True):
                rows = bench.do(c.Places("run", whole=whole))
                assert [row.checkpoint.id for row in rows] == ids[::-1]
                assert [row.place.key for row in rows] == ["c", "b", "a"]
                assert [open_summary(row.checkpoint).id for row in rows[::2]] == ids[::-2]
                with pytest.raises(bp.Corrupted, match=ids[1]):
                    open_summary(rows[1].checkpoint)


def test_of_a_run(bench: Bench) -> None:
    one, other = Places(bench, "one"), Places(bench, "other")
    ids = {
        ("one", one.put("a", run="r")),
        ("one", one.put("b", scope="s", run="r")),
        ("other", other.put("a", run="r")),
    }
    one.put("c", run="q")
    one.put("d")
    assert set(bench.do(c.OfRun("r"))) == ids
    assert len(bench.do(c.OfRun("r", 2))) == 2
    assert len(bench.do(c.OfRun("q"))) == 1
    assert (bench.do(c.OfRun("")), bench.do(c.OfRun("nothing"))) == ([], [])
    one.put("c", run="r")
    assert bench.do(c.OfRun("q")) == []

"""Finding a checkpoint by its place: the one of a key, the latest of a scope, with all that is there."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.parts.spans import read_spans
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.snapshots import listed, open_checkpoint
from tests.harness.bench import MINUTE, Bench
from tests.harness.places import Places, first_part, large


def test_nothing_is_none(bench: Bench) -> None:
    run = Places(bench)
    assert (run.find(), run.find("a"), run.find("a", "s")) == (None, None, None)
    run.put("a", scope="s")
    assert (run.find(), run.find("a"), run.find("b", "s")) == (None, None, None)


def test_the_greatest_key_is_the_latest(bench: Bench) -> None:
    run = Places(bench)
    for key in ("b", "a", "ba", "aaa", "B"):
        run.put(key)
    run.put("zz", scope="sub")
    assert (run.at(), run.at(scope="sub")) == ("ba", "zz")
    for key in ("a", "b", "B"):
        assert run.at(key) == key


def test_a_key_is_the_whole_key(bench: Bench) -> None:
    run = Places(bench)
    run.put("ab", scope="s")
    run.put("b", scope="sa")
    assert (run.find("a", "s"), run.find("abc", "s"), run.find("b", "s"), run.find("", "")) == (None, None, None, None)
    assert (run.at("ab", "s"), run.at("b", "sa"), run.at(scope="s"), run.at(scope="sa")) == ("ab", "b", "ab", "b")


def test_it_comes_whole(bench: Bench) -> None:
    run = Places(bench)
    run.put("a", state=large("a"), run="r")
    new = run.new("b", {"said": [*large("a")["said"], "m" * 300]}, run="r")
    bench.do(c.Put(new, "a"))
    spans, part = first_part(new)
    run.write("b", Write("inline", b"1"), Write("in a log", b"2", spans))
    for found in (run.find("b"), run.find()):
        assert found is not None
        assert found.place == Place("", "b", "r")
        assert found.checkpoint == bench.do(c.Restore(new.id))
        assert open_checkpoint(found.checkpoint).state == {"said": [*large("a")["said"], "m" * 300]}
        by_name = {write.name: write for write in found.writes}
        assert by_name["inline"] == Write("inline", b"1")
        assert by_name["in a log"] == Write("in a log", b"2", spans, bodies=(part,))


def test_the_name_comes_too(bench: Bench) -> None:
    run = Places(bench)
    bench.do(c.Name(run.put("a"), "best"))
    found = run.find()
    assert found is not None
    assert found.checkpoint.name == "best"


def test_those_whose_time_is_over_are_not_found(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    run.put("b", "a", ttl=2 * MINUTE)
    named = run.put("c", "b", ttl=MINUTE)
    run.put("d", "c", ttl=MINUTE)
    bench.do(c.Name(named, "best"))
    bench.clock.advance(MINUTE)
    assert (run.at(), run.find("d"), run.at("b")) == ("c", None, "b")
    bench.do(c.Expire(named))
    bench.clock.advance(MINUTE)
    assert (run.at(), run.find("b"), run.at("a")) == ("a", None, "a")


def test_the_latest_falls_back(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c")
    bench.do(c.Expire(ids[2]))
    assert run.at() == "b"
    bench.do(c.Expire(ids[0]))
    bench.do(c.Expire(ids[1]))
    assert run.find() is None


def test_a_place_that_only_holds_writes_is_not_found(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    run.write("b", Write("w", b"1"))
    assert (run.at(), run.find("b"), run.keys(None)) == ("a", None, ["a"])


def test_spans_are_read(bench: Bench) -> None:
    run = Places(bench)
    new = run.new("a", large("a"))
    bench.do(c.Put(new))
    append = new.appends[0]
    spans = read_spans(f"{append.log}:3:40000,{append.log}:0:1,{append.log}:5:9")
    expected = [append.data[span.first : span.last] for span in spans]
    assert bench.do(c.ReadSpans("run", tuple(spans))) == expected
    gone = read_spans(f"{append.log[:-1]}7:0:5,{append.log}:0:4,{append.log}:10000000:10000004")
    assert bench.do(c.ReadSpans("run", tuple(gone))) == [b"", append.data[:4], b""]
    assert bench.do(c.ReadSpans("run", ())) == []


def test_moved_in_the_store_it_is_noticed(bench: Bench) -> None:
    """What a store says of a place is not covered by a seal: the header says it too."""
    run = Places(bench)
    id_ = run.put("aaaa", scope="s")
    with bench.harness.tampered(id_, "commit", lambda line: line.replace(b"aaaa", b"aaab")):
        with pytest.raises(bp.Corrupted, match=f"{id_}: it is not at the place"):
            open_checkpoint(bench.do(c.Restore(id_)))
        assert listed(bench.line("run")[0]).damaged == ("record",)
    with bench.harness.tampered(id_, "commit", lambda line: line[: line.rindex(b" ")]), pytest.raises(bp.Corrupted):
        open_checkpoint(bench.do(c.Restore(id_)))
    assert open_checkpoint(bench.do(c.Restore(id_))).state == "aaaa"


def test_a_damaged_one_is_found_and_named(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    id_ = run.put("b", "a")
    for part in ("header", "state", "commit"):
        with bench.harness.tampered(id_, part, lambda data: b"\xff " + data[2:]):
            for key in ("b", ""):
                with pytest.raises(bp.Corrupted, match=id_):
                    run.at(key)
            assert run.at("a") == "a"
    assert run.at() == "b"

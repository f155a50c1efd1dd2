"""Putting checkpoints at places: parents, order, the thread's tip, and the same again."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Place, place_from
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import MINUTE, Bench, commit_of, new_checkpoint
from tests.harness.places import Places, kept, large


def test_each_has_its_parent_and_its_place(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c", run="r")
    commits = [commit_of(bench.do(c.Restore(id_))) for id_ in ids]
    assert [(commit.step_index, commit.parent) for commit in commits] == [(0, ""), (1, ids[0]), (2, ids[1])]
    assert [commit.place for commit in commits] == [Place("", key, "r") for key in "abc"]
    assert [row.id for row in bench.line("run")] == ids[::-1]
    assert bench.do(c.Threads()) == ["run"]


def test_it_is_told_once(bench: Bench) -> None:
    run = Places(bench)
    id_ = run.put("a")
    [event] = [row.fields for row in bench.do(c.Events(subject="run")) if row.fields]
    assert (event["type"], event["checkpoint"], event["step"]) == ("batonpass.checkpoint.saved", id_, "step")
    assert event["agent"] == "write"


def test_the_commit_line_says_the_place_also_when_it_is_answered(bench: Bench) -> None:
    new = Places(bench).new("key", scope="scope", run="r")
    answer = bench.do(c.Put(new))
    row = bench.do(c.Restore(new.id))
    assert answer == commit_of(row)
    assert answer.place == Place("scope", "key", "r")
    assert row.commit == answer.line()


def test_the_same_again_answers_the_same(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    put = c.Put(run.new("b", large("b")), "a", tip="a")
    first = bench.do(put)
    run.put("c", "b")
    with bench.nothing_changes():
        assert bench.do(put) == first


def test_a_parent_that_is_not_there_is_none(bench: Bench) -> None:
    run = Places(bench)
    run.put("a", scope="other")
    for parent in ("a", "nowhere"):
        id_ = run.put(f"of {parent}", parent)
        assert commit_of(bench.do(c.Restore(id_))).parent == ""


def test_a_key_may_be_put_again(bench: Bench) -> None:
    """What was there is freed, what was written there stays, and so does what only the new one shares with it."""
    run = Places(bench)
    first = run.put("a", state=large("one"))
    second = run.put("b", "a", state=large("one"))
    third = run.put("b", "a", state={**large("one"), "more": 1})
    assert [row.id for row in bench.line("run")] == [third, first]
    with bench.refused(bp.NotFound, second):
        bench.do(c.Restore(second))
    found = run.find("b")
    assert found is not None
    assert found.checkpoint.id == third
    assert open_checkpoint(found.checkpoint).state == {**large("one"), "more": 1}
    assert (bench.tip("run"), run.keys()) == (third, ["b", "a"])
    assert bench.happened("run") == ["checkpoint.saved"] * 3


def test_a_tip_that_is_put_again_stays_the_tip(bench: Bench) -> None:
    """Wherever it is: a save puts it at any place."""
    run = Places(bench)
    run.put("a")
    bench.do(c.Save("run", run.new("b", scope="sub")))
    again = run.put("b", scope="sub")
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run")))).parent == again


def test_replacing_leaves_nothing_behind(bench: Bench) -> None:
    run = Places(bench)
    for number in range(5):
        run.put("a", state=large(f"state {number}"), run="r", share=False)
    assert len(bench.line("run")) == 1
    assert len(bench.do(c.OfRun("r"))) == 1
    bench.do(c.DeleteThread("run"))
    assert bench.harness.logs() == {}


def test_the_tip_is_the_latest_of_the_first_scope(bench: Bench) -> None:
    """It is what a save without a parent goes on from."""
    run = Places(bench)
    run.put("sub", scope="sub")
    latest = run.put("keys that begin alike: m", ttl=1)
    run.put("keys that begin alike: b")
    run.put("z", scope="sub")
    saved = bench.save(None, thread="run")
    assert commit_of(bench.do(c.Restore(saved))).parent == latest
    assert bench.tip("run") == saved
    run.put("y", scope="sub")
    bench.save(None, thread="run", parent=saved)
    newest = run.put("n", "keys that begin alike: m")
    assert commit_of(bench.do(c.Restore(newest))).parent == latest
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run")))).parent == newest


def test_what_has_expired_is_not_the_latest(bench: Bench) -> None:
    run = Places(bench)
    run.put("z", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    latest = run.put("b")
    run.put("a")
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run")))).parent == latest


def test_a_thread_with_other_scopes_only_has_no_tip(bench: Bench) -> None:
    run = Places(bench)
    run.put("a", scope="sub")
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run")))).parent == ""


def test_it_shares_with_the_thread(bench: Bench) -> None:
    run = Places(bench)
    state = large("one")
    run.put("a", state=state)
    state = {"said": [*state["said"], "and more"]}
    run.put("b", "a", state=state)
    found = run.find()
    assert found is not None
    assert open_checkpoint(found.checkpoint).state == state
    assert len(found.checkpoint.state) < 500


def test_what_it_shares_must_be_there(bench: Bench) -> None:
    run = Places(bench)
    first = run.put("a", state=large("one"))
    grown = run.new("b", {"said": [*large("one")["said"], "x" * 200]})
    bench.do(c.Expire(first))
    with bench.refused(bp.BatonpassError, "went on without"):
        bench.do(c.Put(grown))


def test_saves_may_have_places_too(bench: Bench) -> None:
    run = Places(bench)
    new = run.new("a", large("one"), run="r")
    bench.do(c.Save("run", new))
    assert (run.at(), run.keys(), bench.do(c.OfRun("r"))) == ("a", ["a"], [("run", new.id)])
    copy = run.new("a", large("two"))
    bench.do(c.Save("run", copy))
    assert [row.id for row in bench.line("run")] == [copy.id]
    plain = new_checkpoint(thread="run")
    bench.do(c.Save("run", plain))
    assert bench.tip("run") == plain.id
    assert run.at() == "a"


_ODD = ["\0", "\1", "\0\1", "\1\2", "a\0b", "a b", "a\nb", "-", "é", "\U0001f600", "a:b", "{a}", "%00", "a\x7f"]


@pytest.mark.parametrize("odd", _ODD, ids=repr)
def test_any_text_is_a_scope_a_key_and_a_thread(bench: Bench, odd: str) -> None:
    run = Places(bench, thread=odd)
    ids = [run.put(key, scope=scope, run="r") for scope in ("", odd) for key in (odd, odd + odd, "a")]
    for scope in ("", odd):
        assert [run.at(key, scope) for key in (odd, odd + odd, "a")] == [odd, odd + odd, "a"]
        assert run.at(scope=scope) == max(odd + odd, "a")
        assert run.keys(scope) == sorted([odd, odd + odd, "a"], reverse=True)
    assert sorted(bench.do(c.OfRun("r"))) == sorted((odd, id_) for id_ in ids)
    assert place_from(Place(odd, odd, "r").text) == Place(odd, odd, "r")


def test_threads_and_scopes_do_not_mix(bench: Bench) -> None:
    one, other = Places(bench, "one"), Places(bench, "other")
    one.put("a", scope="s")
    other.put("b", scope="s")
    assert (one.keys(None), other.keys(None)) == (["a"], ["b"])
    assert (one.find(), one.find("a"), one.find("b", "s"), other.find("a", "s")) == (None, None, None, None)
    beside = bench.beside("elsewhere")
    there = Places(beside, "one")
    assert there.keys(None) == []
    there.put("c", scope="s", run="r")
    assert bench.do(c.OfRun("r")) == []
    assert (one.keys(None), there.keys(None)) == (["a"], ["c"])
    beside.close()


def test_nothing_but_events_is_left_of_a_thread(bench: Bench) -> None:
    before = kept(bench)
    run = Places(bench)
    run.line("a", "b", "c", run="r")
    run.put("d", "c", scope="sub", state=large("d"), ttl=1000)
    bench.do(c.DeleteThread("run"))
    assert kept(bench) == before

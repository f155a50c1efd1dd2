"""What is written at places: before and after the checkpoint, once and again, alone and with the next checkpoint."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.refusals import Ungrounded
from batonpass.coordinator.rows import Write
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import Bench
from tests.harness.places import Places, first_part, kept, large


def test_they_come_with_the_checkpoint(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    run.write("a", Write("x", b"1"), Write("y", b""))
    run.write("a", Write("z", b"\x00\xff"))
    assert run.written("a") == {"x": b"1", "y": b"", "z": b"\x00\xff"}
    run.put("b", "a")
    assert run.written("b") == {}


def test_they_may_be_there_first(bench: Bench) -> None:
    run = Places(bench)
    run.write("a", Write("x", b"1"), scope="s")
    assert (run.find("a", "s"), bench.do(c.Threads())) == (None, ["run"])
    assert bench.line("run") == []
    run.put("a", scope="s")
    assert run.written("a", "s") == {"x": b"1"}


def test_the_first_stays_unless_said_again(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    run.write("a", Write("x", b"1"), Write("x", b"2"))
    with bench.nothing_changes():
        run.write("a", Write("x", b"3"))
    assert run.written("a") == {"x": b"1"}
    run.write("a", Write("x", b"4", again=True), Write("y", b"5", again=True))
    assert run.written("a") == {"x": b"4", "y": b"5"}
    with bench.nothing_changes():
        run.write("a", Write("x", b"6"))


def test_what_is_taken_away(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    run.write("a", Write("x", b"1"), Write("y", b"2"))
    run.write("a", Write("x", b"", gone=True), Write("z", b"3"))
    assert run.written("a") == {"y": b"2", "z": b"3"}
    with bench.nothing_changes():
        run.write("a", Write("x", b"", gone=True))
    run.write("a", Write("x", b"4"), Write("y", b"", gone=True), Write("y", b"5"), Write("x", b"", gone=True))
    assert run.written("a") == {"y": b"5", "z": b"3"}
    run.write("a", Write("y", b"", gone=True), Write("z", b"", gone=True))
    assert run.written("a") == {}
    run.write("a", Write("x", b"6"))
    assert run.written("a") == {"x": b"6"}


def test_they_are_kept_apart(bench: Bench) -> None:
    run, other = Places(bench), Places(bench, "other")
    for one, key, scope in ((run, "a", ""), (run, "b", ""), (run, "a", "s"), (other, "a", "")):
        one.put(key, scope=scope)
        one.write(key, Write("x", f"{one.thread} {key} {scope}".encode()), scope=scope)
    assert run.written("a") == {"x": b"run a "}
    assert run.written("b") == {"x": b"run b "}
    assert run.written("a", "s") == {"x": b"run a s"}
    assert other.written("a") == {"x": b"other a "}
    run.write("b", Write("x", b"again", again=True))
    run.write("a", Write("x", b"", gone=True))
    assert (run.written("a"), run.written("b")) == ({}, {"x": b"again"})
    assert (run.written("a", "s"), other.written("a")) == ({"x": b"run a s"}, {"x": b"other a "})


def test_any_text_is_a_name(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    names = ["", "\0", "a b", " ", "-", "é", "x" * 500, "a\0b", "a\0", "{x}"]
    run.write("a", *(Write(name, name.encode()) for name in names))
    assert run.written("a") == {name: name.encode() for name in names}


def test_with_the_next_checkpoint(bench: Bench) -> None:
    """One commit; they belong to its parent."""
    run = Places(bench)
    run.put("a", scope="s")
    run.write("a", Write("x", b"1"), scope="s")
    writes = [Write("x", b"2"), Write("y", b"3")]
    run.put("b", "a", scope="s", writes=writes)
    assert (run.written("a", "s"), run.written("b", "s")) == ({"x": b"1", "y": b"3"}, {})
    assert bench.happened("run") == ["checkpoint.saved"] * 2


def test_many_at_once(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    writes = [Write(f"w{number}", b"%d" % number) for number in range(1200)]
    run.put("b", "a", writes=writes)
    run.write("b", *writes)
    assert run.written("a") == run.written("b") == {write.name: write.data for write in writes}


def test_they_are_refused_with_the_checkpoint(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    with bench.refused(bp.Conflict):
        run.put("b", "a", tip="z", writes=[Write("x", b"1")])


def test_spans_of_what_the_next_checkpoint_adds(bench: Bench) -> None:
    """What was written is kept once, and outlives the checkpoint that has its bytes."""
    run = Places(bench)
    run.put("a")
    run.write("a", Write("x", b"the same, inline"))
    new = run.new("b", large("b"))
    spans, part = first_part(new, 20_000)
    writes = [Write("x", b"ref", spans, again=True), Write("y", b"ref", spans)]
    bench.do(c.Put(new, "a", writes=writes))
    found = run.find("a")
    assert found is not None
    assert sorted((w.name, w.data, w.spans, tuple(w.bodies)) for w in found.writes) == [
        (name, b"ref", spans, (part,)) for name in "xy"
    ]
    bench.do(c.Expire(new.id))
    found = run.find("a")
    assert found is not None
    assert [tuple(write.bodies) for write in found.writes] == [(part,), (part,)]


@pytest.mark.parametrize(
    "later", [Write("x", b"inline", again=True), Write("x", b"", gone=True)], ids=["again", "gone"]
)
@pytest.mark.parametrize("with_a_checkpoint", [False, True])
def test_a_write_that_is_replaced_or_taken_away_lets_go_of_its_bytes(
    bench: Bench, later: Write, *, with_a_checkpoint: bool
) -> None:
    run = Places(bench)
    run.put("a")
    new = run.new("b", large("b"))
    spans, _ = first_part(new)
    bench.do(c.Put(new, "a", writes=[Write("x", b"ref", spans)]))
    bench.do(c.Expire(new.id))
    assert bench.harness.logs() != {}
    run.write("a", Write("x", b"inline"))
    assert bench.harness.logs() != {}
    if with_a_checkpoint:
        run.put("c", "a", share=False, writes=[later])
    else:
        run.write("a", later)
    assert bench.harness.logs() == {}


def test_the_same_spans_again(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    new = run.new("b", large("b"))
    spans, part = first_part(new)
    bench.do(c.Put(new, "a", writes=[Write("x", b"ref", spans)]))
    run.write("a", Write("x", b"ref", spans, again=True))
    bench.do(c.Expire(new.id))
    found = run.find("a")
    assert found is not None
    [write] = found.writes
    assert tuple(write.bodies) == (part,)


def test_spans_must_be_there(bench: Bench) -> None:
    """They may also be another thread's, as in a copy, as long as that thread is there."""
    run, twin = Places(bench), Places(bench, "twin")
    new = run.new("a", large("a"))
    bench.do(c.Put(new))
    spans, _ = first_part(new)
    log, _, end = spans.rpartition(":")[0].partition(":")
    assert end == "0"
    run.write("a", Write("all", b"1", f"{log}:0:{len(new.appends[0].data)}"))
    for wrong in (f"{log}:0:{len(new.appends[0].data) + 1}", f"{log[:-1]}7:0:1"):
        with bench.refused(Ungrounded):
            twin.write("a", Write("x", b"1"), Write("y", b"2", wrong))
        with bench.refused(Ungrounded):
            run.put("b", "a", writes=[Write("y", b"2", wrong)])
    bench.do(c.DeleteThread("run"))
    with bench.refused(Ungrounded):
        twin.write("a", Write("y", b"2", spans))


def test_writes_do_not_harm_the_checkpoint(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    new = run.new("b", large("b"))
    spans, _ = first_part(new)
    bench.do(c.Put(new, "a", writes=[Write("x", b"ref", spans)]))
    run.write("a", Write("x", b"inline", again=True))
    assert open_checkpoint(bench.do(c.Restore(new.id))).state == large("b")


def test_none_at_all(bench: Bench) -> None:
    run = Places(bench)
    before = kept(bench)
    run.write("a")
    assert (kept(bench), bench.do(c.Threads())) == (before, [])

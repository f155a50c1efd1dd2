"""Which keys what is stored needs: an old one may go when nothing does any more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.coded.store import CodedStore
from batonpass.coordinator.items import ItemChange, ItemName
from batonpass.coordinator.place_writes import close_write
from batonpass.coordinator.rows import Write
from tests.conformance.test_items_coded import coded
from tests.conformance.test_places_coded import Coded
from tests.conformance.test_schedules import APP, Order
from tests.harness.bench import Bench
from tests.harness.places import large

_OLD, _NEW = {"old": b"o" * 32}, {"new": b"n" * 32}
_ROTATED = {**_NEW, **_OLD}
_KINDS = ("jobs", "threads", "items", "schedules", "webhooks", "events")


def _uses(bench: Bench) -> dict[str, dict[str, Any]]:
    """By key, what needs it."""
    found: list[bp.KeyUse] = bench.run(bench.face().key_uses())
    return {use.key: {kind: held for kind in _KINDS if (held := getattr(use, kind))} for use in found}


def _one_of_each(bench: Bench, name: str) -> dict[str, Any]:
    """Something of each kind, and how it is named."""
    face = bench.face(APP)
    bench.run(face.save(thread=name, agent="write", state={"n": 1}))
    bench.do(c.WriteItems((ItemChange(ItemName(("notes", "all"), name), b"kept"),)))
    bench.run(face.schedule(name, "write", Order(size=1), cron="* * * * *"))
    bench.run(face.webhook(name, "https://hooks.example.com/x"))
    job = bench.submit()
    return {
        "jobs": (job,),
        "threads": (name,),
        "items": (("notes", "all", name),),
        "schedules": (name,),
        "webhooks": (name,),
    }


@pytest.mark.parametrize(("use", "done"), [("encrypt", "encrypted"), ("sign", "signed")])
def test_each_key_says_what_needs_it(bench: Bench, use: str, done: str) -> None:
    with coded(bench, **{use: _OLD}) as before, coded(bench, **{use: _ROTATED}) as after:
        old = _one_of_each(before, "first")
        assert _uses(after) == {"new": {}, "old": old}
        new = _one_of_each(after, "second")
        assert _uses(after) == {"new": new, "old": old}
        kinds = {each.key: (each.protection, each.known, each.writes) for each in after.run(after.face().key_uses())}
        assert kinds == {"new": (done, True, True), "old": (done, True, False)}


def test_who_has_no_key_sees_the_same(bench: Bench) -> None:
    with coded(bench, encrypt=_OLD) as ours:
        held = _one_of_each(ours, "first")
    with coded(bench, encrypt=_NEW) as other:
        for reader, names in ((bench, ["", "old"]), (other, ["new", "old"])):
            found = {use.key: use for use in reader.run(reader.face().key_uses())}
            assert list(found) == names
            assert (found["old"].known, found["old"].writes, found["old"].jobs) == (False, False, held["jobs"])


@pytest.mark.parametrize("use", ["encrypt", "sign"])
def test_another_key_of_the_same_name_is_not_here(bench: Bench, use: str) -> None:
    """It looked as if this process could read what it can't."""
    ours, theirs = {"k": b"o" * 32}, {"k": b"x" * 32}
    with coded(bench, **{use: ours}) as mine, coded(bench, **{use: theirs}) as others:
        held = _one_of_each(mine, "first")
        others.run(others.face().save(thread="second", agent="write", state={}))
        own, other = others.run(others.face().key_uses())
        assert (own.key, own.known, own.writes, own.other, own.threads) == ("k", True, True, False, ("second",))
        assert (other.key, other.known, other.writes, other.other) == ("k", False, False, True)
        assert {kind: named for kind in _KINDS if (named := getattr(other, kind))} == held
    _, both = bench.run(bench.face().key_uses())
    assert (both.known, both.other, len(both.threads)) == (False, False, 2)


def test_what_is_plain_has_no_name(bench: Bench) -> None:
    held = _one_of_each(bench, "first")
    [use] = bench.run(bench.face().key_uses())
    assert (use.key, use.protection, use.known, use.writes) == ("", "plain", True, True)
    assert _uses(bench) == {"": held}
    with coded(bench, encrypt=_NEW, plain=True) as ours:
        assert _uses(ours) == {"new": {}, "": held}


def test_an_error_needs_its_key(bench: Bench) -> None:
    with coded(bench, encrypt=_OLD) as before, coded(bench, encrypt=_ROTATED) as after:
        fence = after.start()
        before.do(c.Fail(fence, "ValueError: at first", "", 1))
        bench.clock.advance(1)
        bench.do(c.Reap())
        after.do(c.Fail(after.take(), "ValueError", "attempts"))
        assert _uses(after) == {"new": {"jobs": (fence.job_id,), "events": 1}, "old": {"events": 1}}


def test_a_journal_needs_its_key(bench: Bench) -> None:
    with coded(bench, encrypt=_OLD) as before, coded(bench, encrypt=_ROTATED) as after:
        fence = after.start()
        before.do(c.Record(fence, {"step": b"result"}))
        assert {name: use["jobs"] for name, use in _uses(after).items()} == dict.fromkeys(_ROTATED, (fence.job_id,))


def test_a_newer_checkpoint_needs_the_key_of_what_it_shares(bench: Bench, tmp_path: Path) -> None:
    """And a thread that was exported and imported again needs only the key that writes."""
    graph = Coded(bench, encrypt=_OLD)
    graph.put("a", large("a"))
    graph.codec = bp.Codec(encrypt=_ROTATED)
    graph.store = CodedStore(bench.store, graph.codec)
    graph.put("b", {"said": [*large("a")["said"], "m" * 300]}, "a")
    graph.do(c.Drop("run", (graph.find("a").checkpoint.id,)))
    with coded(bench, encrypt=_ROTATED) as after:
        assert _uses(after) == {"new": {"threads": ("run",)}, "old": {"threads": ("run",)}}
        after.run(after.face().export_bundle("run", tmp_path / "run"))
        after.run(after.face().delete("run"))
        after.run(after.face().import_bundle(tmp_path / "run"))
        assert _uses(after) == {"new": {"threads": ("run",)}, "old": {}}


def test_a_write_needs_its_key(bench: Bench) -> None:
    graph = Coded(bench, encrypt=_NEW)
    graph.put("a", {"n": 1})
    with coded(bench, encrypt=_OLD) as before:
        before.do(c.PutWrites("run", "", "a", [Write("x", close_write(["path", b"1"]))]))
    assert _uses(bench) == {"": {}, "new": {"threads": ("run",)}, "old": {"threads": ("run",)}}
    bench.do(c.PutWrites("run", "", "a", [Write("y", close_write(["path", b"1"]))]))
    assert _uses(bench)[""] == {"threads": ("run",)}


def test_progress_is_told(bench: Bench) -> None:
    looked: list[int] = []
    _one_of_each(bench, "first")
    bench.run(bench.face().key_uses(progress=looked.append))
    assert looked == [*range(1, len(looked) + 1)]


def test_what_is_given_again_needs_the_new_key(bench: Bench) -> None:
    """As the page on rotation says."""
    with coded(bench, encrypt=_OLD) as before:
        before.run(before.face(APP).schedule("daily", "write", Order(size=1), cron="* * * * *"))
        before.run(before.face().webhook("hook", "https://hooks.example.com/x"))
    with coded(bench, encrypt=_ROTATED) as after:
        after.run(after.face().unschedule("daily"))
        after.run(after.face(APP).schedule("daily", "write", Order(size=1), cron="* * * * *"))
        after.run(after.face().webhook("hook", "https://hooks.example.com/x"))
        assert _uses(after) == {"new": {"schedules": ("daily",), "webhooks": ("hook",)}, "old": {}}

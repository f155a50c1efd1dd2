"""What errors say, behind a codec that encrypts: they quote what agents are given and models answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.items import ItemChange, ItemName, ItemNews
from batonpass.coordinator.operations.jobs import POISON
from tests.conformance.test_items_coded import coded
from tests.harness.bench import Bench, new_target
from tests.harness.children import Family

_KEY = {"k": b"k" * 32}
_SECRET = "ValueError: input_value='the-moon-is-made-of-cheese'"


def _errors(bench: Bench, subject: str) -> list[Any]:
    events = bench.run(bench.face().events())
    return [event.data["error"] for event in events if event.subject == subject and "error" in event.data]


def _failed(bench: Bench) -> str:
    """A job that failed once, and then for good."""
    fence = bench.start()
    bench.do(c.Fail(fence, f"{_SECRET} at first", "", 1))
    assert bench.job(fence.job_id).error == f"{_SECRET} at first"
    bench.clock.advance(1)
    bench.do(c.Reap())
    bench.do(c.Fail(bench.take(), _SECRET, "attempts"))
    return fence.job_id


def test_what_a_job_failed_of_is_encrypted(bench: Bench) -> None:
    with coded(bench, encrypt=_KEY) as ours:
        job = _failed(ours)
        [info] = ours.run(ours.face().dead_letters())
        assert info.error == _SECRET
        assert _errors(ours, job) == [f"{_SECRET} at first", _SECRET]
        group = c.TakeEvents("all", mint("b"), 60_000)
        ours.do(c.JoinGroup("all"))
        rows = [row for batch in ours.do(group).batches for row in batch.rows]
        assert [row.fields["error"] for row in rows if "error" in row.fields] == [f"{_SECRET} at first", _SECRET]
    assert "cheese" not in repr(bench.harness.dump())


def test_also_what_a_child_did(bench: Bench) -> None:
    with coded(bench, encrypt=_KEY) as ours:
        family = Family(ours, ours.start(), 2)
        family.spawn()
        ours.do(c.Fail(ours.take(), _SECRET, "permanent"))
        [outcome] = ours.do(c.ReadOutcomes(family.parent, family.fan))
        assert outcome.error == _SECRET
    assert "cheese" not in repr(bench.harness.dump())


def test_and_what_an_event_says_of_one(bench: Bench) -> None:
    """Of a hop that a fallback takes on, and of a schedule."""
    with coded(bench, encrypt=_KEY) as ours:
        fence = ours.start()
        ours.do(c.HandOff(fence, replace(new_target("other"), about={"reason": "fallback", "error": _SECRET})))
        news = ItemNews("batonpass.schedule.failed", "nightly", {"error": _SECRET}, 0)
        ours.do(c.WriteItems((ItemChange(ItemName(("x",), "nightly"), b"v"),), news))
        assert _errors(ours, fence.job_id) == _errors(ours, "nightly") == [_SECRET]
    assert "cheese" not in repr(bench.harness.dump())


def test_and_what_a_store_quotes_in_its_own_words(bench: Bench) -> None:
    """The last error of a job that was too late, and how the last process of one died that killed them."""
    with coded(bench, encrypt=_KEY) as ours:
        late = ours.start(terms=c.Terms(deadline=ours.clock.now + 1_000))
        ours.do(c.Fail(late, _SECRET, "", 60_000))
        killer = ours.start()
        for death in range(POISON):
            ours.do(c.Release(killer, crash=f"it gave up: {_SECRET}"))
            if death < POISON - 1:
                killer = ours.take_again(killer.job_id)
        ours.clock.advance(2_000)
        ours.do(c.Reap())
        assert ours.job(late.job_id).error == f"it did not end before its deadline; its last error: {_SECRET}"
        assert ours.job(killer.job_id).error.endswith(f"the last: it gave up: {_SECRET}")
        assert _errors(ours, killer.job_id)[-2:] == [f"it gave up: {_SECRET}", ours.job(killer.job_id).error]
        reader = bench.job(late.job_id).error
    assert "cheese" not in repr(bench.harness.dump())
    assert "\x02" in reader


def test_and_what_it_adds_of_effects_in_doubt(bench: Bench) -> None:
    """Their names are plain, as the keys of all records."""
    with coded(bench, encrypt=_KEY) as ours:
        fence = ours.start()
        ours.do(c.Record(fence, {"doubt/pay": b"1", "doubt/mail": b"1"}))
        ours.do(c.Record(fence, {"doubt/mail": b""}))
        ours.do(c.Fail(fence, _SECRET, "", 60_000))
        ours.do(c.Cancel(fence.job_id))
        doubt = "effects that had started, and may have happened: 'pay'"
        assert ours.job(fence.job_id).error == f"{doubt}; its last error: {_SECRET}"
        assert _errors(ours, fence.job_id)[-1] == doubt
    assert "cheese" not in repr(bench.harness.dump())


def test_an_error_that_only_looks_like_it(bench: Bench) -> None:
    with coded(bench, encrypt=_KEY) as ours:
        fence = ours.start()
        ours.do(c.Fail(fence, "ValueError: \x02 and more", "attempts"))
        assert ours.job(fence.job_id).error == "ValueError: \x02 and more"


def test_what_a_redrive_tells_is_encrypted(bench: Bench) -> None:
    with coded(bench, encrypt=_KEY) as ours:
        fence = ours.start()
        ours.do(c.Fail(fence, "boom", "ambiguous"))
        ours.do(c.Redrive(fence.job_id, records={"step/effect:pay": b"the-moon-is-made-of-cheese"}))
        [delivery] = ours.claim()
        assert dict(delivery.journal) == {"step/effect:pay": b"the-moon-is-made-of-cheese"}
    assert "cheese" not in repr(bench.harness.dump())


def test_who_has_no_key_is_told_so(bench: Bench) -> None:
    with coded(bench, encrypt=_KEY) as ours, coded(bench, encrypt={"other": b"o" * 32}) as other:
        job = _failed(ours)
        for reader in (bench, other):
            [info] = reader.run(reader.face().dead_letters())
            for said in (info.error, *_errors(reader, job)):
                assert "encrypted" in said
                assert "BATONPASS_ENCRYPT_KEYS" in said
            with pytest.raises(bp.JobFailed, match="BATONPASS_ENCRYPT_KEYS"):
                reader.run(reader.face().job(job).result())


def test_a_true_text_in_anothers_place_is_refused(bench: Bench) -> None:
    with coded(bench, encrypt=_KEY) as ours:
        stored = bench.job(_failed(ours)).error
        fence = ours.start()
        bench.do(c.Fail(fence, stored, "attempts"))
        assert "is not what was encrypted" in ours.job(fence.job_id).error


def test_what_is_not_encrypted_stays_as_it_is(bench: Bench) -> None:
    """What stores say themselves, and what came before there was a codec."""
    job = _failed(bench)
    with coded(bench, encrypt=_KEY) as ours, coded(bench, sign=_KEY) as signed:
        assert ours.job(job).error == _SECRET
        assert bench.job(_failed(signed)).error == _SECRET

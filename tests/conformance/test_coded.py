"""Stores behind a codec: the same answers, nothing in clear, nothing that can be changed unnoticed."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import open_blob, seal_blob
from batonpass.coordinator.book import Book
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.coded.store import CodedStore
from batonpass.coordinator.sync_client import SyncCoordinator
from tests.conformance.test_damage import _flip
from tests.harness.bench import Bench, fence_of, new_target
from tests.harness.texts import message

_OLD, _NEW = b"o" * 32, b"n" * 32
_SECRET = "the-moon-is-made-of-cheese"
_CODECS = {
    "encrypt": {"encrypt": {"new": _NEW}},
    "sign": {"sign": {"new": _NEW}},
    "compress": {"compress": True},
    "encrypt and compress": {"encrypt": {"new": _NEW}, "compress": True},
}


class Coded:
    """A coordinator on the bench's store, behind a codec."""

    def __init__(self, bench: Bench, **codec: Any) -> None:
        self._bench = bench
        self.store = CodedStore(bench.store, bp.Codec(**codec))
        self._face: Any = (Coordinator if bench.side == "async" else SyncCoordinator)(self.store, Book(None))

    def save(self, state: Any, **more: Any) -> Any:
        """Save a state."""
        return self._bench.run(self._face.save(thread="run", agent="write", state=state, **more))

    def restore(self, id_: str, **more: Any) -> Any:
        """One checkpoint."""
        return self._bench.run(self._face.restore(id_, **more))

    def fork(self, id_: str, **more: Any) -> Any:
        """Go on from a checkpoint."""
        return self._bench.run(self._face.fork(id_, **more))

    def timeline(self) -> Any:
        """The thread's checkpoints."""
        return self._bench.run(self._face.timeline(thread="run"))


def _states(count: int) -> list[dict[str, Any]]:
    chance = random.Random(7)
    messages: list[Any] = [{"secret": _SECRET * 50}]
    states: list[dict[str, Any]] = []
    for number in range(count):
        messages = [*messages, message(chance)]
        if number == count // 2:
            messages = messages[3:]
        states.append({"messages": messages, "round": number, "doc": _SECRET * 200})
    return states


@pytest.mark.parametrize("codec", _CODECS.values(), ids=_CODECS)
def test_what_comes_back_is_what_was_saved(bench: Bench, codec: dict[str, Any]) -> None:
    coded, states = Coded(bench, **codec), _states(16)
    ids = [coded.save(state, context={"n": number}).id for number, state in enumerate(states)]
    fresh = Coded(bench, **codec)
    assert [fresh.restore(id_).state for id_ in ids] == states
    assert [summary.context["n"] for summary in fresh.timeline()] == list(reversed(range(16)))


def test_nothing_is_kept_in_clear(bench: Bench) -> None:
    coded = Coded(bench, encrypt={"new": _NEW})
    for state in _states(6):
        coded.save(state, context={"customer": _SECRET})
    assert _SECRET not in repr(bench.harness.dump())
    assert _SECRET.encode().hex() not in repr(bench.harness.dump())


def test_a_thread_still_grows_by_what_is_new(bench: Bench) -> None:
    coded = Coded(bench, encrypt={"new": _NEW})
    for state in _states(40)[20:]:
        coded.save(state)
    kept = sum(len(data) for data in bench.harness.logs().values())
    assert kept < 4 * len(repr(_states(40)[-1]))


@pytest.mark.parametrize("codec", _CODECS.values(), ids=_CODECS)
def test_and_by_what_is_new_inside_of_values(bench: Bench, codec: dict[str, Any]) -> None:
    """Saved by clients that know nothing of the thread yet."""
    chance, held = random.Random(7), list[tuple[str, Any]]()
    agents = [{"name": f"agent {number}", "said": [message(chance) for _ in range(40)]} for number in range(3)]
    for number in range(24):
        said: Any = agents[number % 3]["said"]
        said.append(message(chance))
        said[5] = message(chance)
        made = Coded(bench, **codec).save({"agents": agents})
        held.append((made.id, copy.deepcopy(agents)))
    kept = sum(len(data) for data in bench.harness.logs().values())
    assert kept < 2.5 * len(repr(agents))
    assert [Coded(bench, **codec).restore(id_).state["agents"] for id_, _ in held] == [each for _, each in held]


@pytest.mark.parametrize("codec", [_CODECS["encrypt"], _CODECS["sign"]], ids=["encrypt", "sign"])
def test_a_changed_record_is_refused(bench: Bench, codec: dict[str, Any]) -> None:
    """Also by somebody who can compute every checksum that needs no key."""
    coded = Coded(bench, **codec)
    ids = [coded.save(state).id for state in _states(8)]
    for part in ("header", "state", "commit"):
        spoilt = bench.harness.tampered(ids[-1], part, lambda data: _flip(data, len(data) - 2))
        with spoilt, pytest.raises(bp.Corrupted, match=ids[-1]):
            coded.restore(ids[-1])
    for name, whole in bench.harness.logs().items():
        bench.harness.put_log(name, _flip(whole, len(whole) // 2))
    with pytest.raises(bp.Corrupted, match=ids[-1]):
        coded.restore(ids[-1])


def test_a_record_put_in_anothers_place_is_refused(bench: Bench) -> None:
    coded = Coded(bench, encrypt={"new": _NEW})
    ids = [coded.save({"n": number}).id for number in range(2)]
    other = bench.do(c.Restore(ids[1]))
    with bench.harness.tampered(ids[0], "state", lambda _: other.state), pytest.raises(bp.Corrupted, match=ids[0]):
        coded.restore(ids[0])


def test_keys_are_rotated(bench: Bench) -> None:
    old = Coded(bench, encrypt={"old": _OLD})
    states = _states(12)
    ids = [old.save(state).id for state in states[:6]]
    both = Coded(bench, encrypt={"new": _NEW, "old": _OLD})
    ids += [both.save(state).id for state in states[6:]]
    assert [both.restore(id_).state for id_ in ids] == states
    with pytest.raises(bp.BadSetup, match="'new', which the codec was not given"):
        old.restore(ids[-1])


def test_who_has_no_codec_is_told(bench: Bench) -> None:
    coded = Coded(bench, sign={"new": _NEW})
    id_ = coded.save({"n": 1}).id
    with pytest.raises(bp.BadSetup, match="encrypted, signed or compressed: connect with the codec"):
        bench.run(bench.face().restore(id_))


def test_what_is_not_protected_is_refused_unless_accepted(bench: Bench) -> None:
    """Otherwise anybody who can write to the store could put anything there, unprotected."""
    state = _states(3)[-1]
    id_ = bench.run(bench.face().save(thread="run", agent="write", state=state)).id
    with pytest.raises(bp.Corrupted, match=id_):
        Coded(bench, encrypt={"new": _NEW}).restore(id_)
    moving = Coded(bench, encrypt={"new": _NEW}, plain=True)
    assert moving.restore(id_).state == state
    assert moving.restore(moving.save({**state, "round": 99}).id).state["round"] == 99


@pytest.mark.parametrize("codec", [_CODECS["encrypt"], _CODECS["sign"]], ids=["encrypt", "sign"])
def test_blobs_that_nobody_signed_are_refused(bench: Bench, codec: dict[str, Any]) -> None:
    """Somebody who can write to the store, but has no key, can't make a payload or a result that would be believed."""
    fence = bench.start()
    bench.do(c.Complete(fence, seal_blob(["desk.report", 1, b'j{"body": "forged"}'], path="result")))
    row = CodedStore(bench.store, bp.Codec(**codec)).call(c.ReadJob(fence.job_id))
    for blob in (row.result, row.envelope):
        with pytest.raises(bp.Corrupted):
            open_blob(blob, of="it")


def test_a_damaged_record_does_not_take_other_deliveries_along(bench: Bench) -> None:
    for _ in range(3):
        bench.submit()
    for number, delivery in enumerate(bench.claim(3)):
        fence = fence_of(delivery)
        bench.do(c.Record(fence, {"step": b"not coded" if number == 1 else b"\x02no such"}))
        bench.do(c.Release(fence))
    store = CodedStore(bench.store, bp.Codec(encrypt={"new": _NEW}))
    leases = (mint("l"), mint("l"), mint("l"))
    assert len(store.call(c.Claim("w", ((new_target().queue, 60_000),), leases))) == 3


def test_a_key_that_can_not_be_one_is_refused() -> None:
    with pytest.raises(bp.BadSetup, match="has 5 bytes: it must have 16 or 32"):
        bp.Codec(encrypt={"a": b"short"})
    with pytest.raises(bp.BadSetup, match="'b' has 5 bytes: it must have at least 16"):
        bp.Codec(encrypt={"a": _NEW}, sign={"b": b"short"})


@pytest.mark.parametrize("name", ["encrypt", "sign"])
@pytest.mark.parametrize("more", [{}, {"compress": True}, {"plain": True}])
def test_keys_that_were_not_found_are_refused(name: str, more: dict[str, Any]) -> None:
    """An empty configuration must not mean that everything lies there in plain text."""
    none: dict[str, Any] = {name: {}}
    with pytest.raises(bp.BadSetup, match=f"{name}= names no key: leave it out if nothing is to be {name}e?d"):
        bp.Codec(**none, **more)
    other: dict[str, Any] = {"encrypt": {"a": _NEW}, "sign": {"a": _NEW}, **none}
    with pytest.raises(bp.BadSetup, match=f"{name}= names no key"):
        bp.Codec(**other)


@pytest.mark.parametrize("codec", _CODECS.values(), ids=_CODECS)
def test_a_job_runs_behind_a_codec(bench: Bench, codec: dict[str, Any]) -> None:
    """Payloads, steps, questions, answers and results."""
    store = CodedStore(bench.store, bp.Codec(**codec))
    inner = bench.store
    bench.store = store
    try:
        fence = bench.start(key="k", payload=f'{{"secret": "{_SECRET}"}}')
        bench.do(c.Record(fence, {"step": _SECRET.encode()}))
        id_ = bench.save(fence, {"secret": _SECRET})
        bench.suspend(fence, _SECRET)
        assert _SECRET in str(bench.job(fence.job_id).question)
        bench.do(c.AnswerJob(fence.job_id, b"answer"))
        bench.do(c.AnswerJob(fence.job_id, b"answer"))  # the same again changes nothing
        [delivery] = bench.claim()
        assert delivery.journal == {"step": _SECRET.encode()}
        assert _SECRET in str(delivery.job.envelope)
        assert delivery.checkpoint is not None
        assert delivery.checkpoint.id == id_
        assert bench.submit(key="k", payload=f'{{"secret": "{_SECRET}"}}') == fence.job_id
        secret = _SECRET.encode()  # what a question says, and the answer that the store itself takes when it is late
        bench.do(c.Suspend(fence_of(delivery), secret, terms=secret, timeout=1, otherwise=secret))
        assert bench.do(c.Inbox())[0].terms == secret
        bench.clock.advance(1)
        bench.do(c.Reap())
        [delivery] = bench.claim()
        assert (delivery.job.terms, delivery.job.answer) == (secret, secret)
    finally:
        bench.store = inner

"""Damage to the logs of large states: it is noticed and named, and costs only what it touches."""

from __future__ import annotations

import random
from contextlib import ExitStack
from typing import Any

import pytest

import batonpass as bp
from tests.conformance.test_growth import Thread
from tests.harness.bench import Bench
from tests.harness.texts import message, words


def _saved(bench: Bench) -> tuple[Thread, list[str]]:
    run, chance = Thread(bench), random.Random(4)
    state: dict[str, Any] = {"messages": [], "notes": {"n": 1}, "doc": "d" * 5000}
    ids: list[str] = []
    for _ in range(24):
        state["messages"] = [*state["messages"], message(chance)]
        ids.append(run.save(state).id)
    return run, ids


def _messages(bench: Bench) -> tuple[str, bytes]:
    """What the end of the transcript is stored in."""
    return [(name, data) for name, data in bench.harness.logs().items() if b"assistant" in data][-1]


def _flip(data: bytes, at: int, bit: int = 3) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def test_a_flipped_bit_anywhere_in_a_log_is_found(bench: Bench) -> None:
    """Every checkpoint reads as it was saved, or says which of its values is damaged; and most read as they were."""
    run, ids = _saved(bench)
    right = [run.restore(id_).state for id_ in ids]
    chance = random.Random(5)
    for name, whole in bench.harness.logs().items():
        for at in chance.sample(range(len(whole)), 4):
            bench.harness.put_log(name, _flip(whole, at, chance.randrange(8)))
            spoilt = 0
            for id_, state in zip(ids, right, strict=True):
                found = run.restore(id_, partial=True)
                if not found.damaged:
                    assert found.state == state
                    continue
                assert found.damaged in (("state['messages']",), ("state['doc']",))
                with pytest.raises(bp.Corrupted, match=rf"{id_}: its state\['"):
                    run.restore(id_)
                spoilt += 1
            assert spoilt
            bench.harness.put_log(name, whole)
    assert [run.restore(id_).state for id_ in ids] == right


def test_a_flipped_bit_in_what_is_large_is_found(bench: Bench) -> None:
    """Of what is read in a second step, too."""
    run = Thread(bench)
    saved = run.save({"doc": words(random.Random(6), 150_000)}).id
    for name, whole in bench.harness.logs().items():
        for at in (0, len(whole) // 2, len(whole) - 1):
            bench.harness.put_log(name, _flip(whole, at))
            with pytest.raises(bp.Corrupted, match=rf"{saved}: its state\['doc'\] is not"):
                run.restore(saved)
        bench.harness.put_log(name, whole)
    assert len(run.restore(saved).state["doc"]) == 150_000


def test_damage_at_the_end_leaves_what_came_before(bench: Bench) -> None:
    run, ids = _saved(bench)
    name, whole = _messages(bench)
    bench.harness.put_log(name, _flip(whole, len(whole) - 1))
    with pytest.raises(bp.Corrupted):
        run.restore(ids[-1])
    assert all(run.restore(id_) for id_ in ids[:-1])


def test_the_rest_of_a_damaged_checkpoint_can_be_read(bench: Bench) -> None:
    run, ids = _saved(bench)
    whole_state = run.restore(ids[-1]).state
    name, whole = _messages(bench)
    bench.harness.put_log(name, _flip(whole, 10))
    found = run.restore(ids[-1], partial=True)
    assert found.damaged == ("state['messages']",)
    del whole_state["messages"]
    assert found.state == whole_state  # a None could be saved as if it were the value
    assert run.restore(ids[0], partial=True).damaged == ()


def test_the_rest_without_a_value_further_in(bench: Bench) -> None:
    run = Thread(bench)
    state = {"a": {"doc": "d" * 20_000, "n": 1}, "b": {"doc": "e" * 20_000}}
    saved = run.save(state).id
    name, *_ = (name for name, data in bench.harness.logs().items() if b"ddd" in data)
    bench.harness.put_log(name, _flip(bench.harness.logs()[name], 10))
    for _ in range(2):
        found = run.restore(saved, partial=True)
        assert (found.state, found.damaged) == ({"a": {"n": 1}, "b": state["b"]}, ("state['a']['doc']",))


def test_the_parts_of_a_damaged_record_can_be_read(bench: Bench) -> None:
    """What is in the checkpoint itself is lost. What is in logs is not."""
    run, ids = _saved(bench)
    whole_state = run.restore(ids[-1]).state
    with bench.harness.tampered(ids[-1], "state", lambda data: _flip(data, len(data) - 1)):
        found = run.restore(ids[-1], partial=True)
        assert found.damaged == ("state",)
        assert found.state == {"messages": whole_state["messages"], "doc": whole_state["doc"]}


@pytest.mark.parametrize("what", ["log", "record"])
@pytest.mark.parametrize("thread", [None, "other"])
def test_a_fork_with_a_whole_state_mends_it(bench: Bench, thread: str | None, what: str) -> None:
    """Changes would belong to what is lost. A job of the agent would begin with the damaged one."""
    run, ids = _saved(bench)
    face, at = bench.face(), ids[-1]
    state = run.restore(at).state
    name, whole = _messages(bench)
    with ExitStack() as damage:
        if what == "log":
            bench.harness.put_log(name, _flip(whole, 10))
        else:
            damage.enter_context(bench.harness.tampered(at, "state", lambda data: _flip(data, len(data) - 1)))
        rest = run.restore(at, partial=True).state
        mended = {**rest, "messages": state["messages"][-2:], "notes": "lost"}
        fork = bench.run(face.fork(at, state=mended, thread=thread, key="k"))
        assert bench.run(face.fork(at, state=mended, thread=thread, key="k")) == fork
        assert bench.run(face.restore(fork.id)) == fork
        assert (fork.state, fork.parent_id, fork.damaged) == (mended, at, ())
        with bench.refused(bp.Corrupted, at):
            bench.run(face.fork(at, changes={"messages": []}, thread="third"))
    more = bench.run(face.save(thread=fork.thread, agent="write", append={"messages": ["more"]}))
    assert bench.run(face.restore(more.id)).state == {**mended, "messages": [*mended["messages"], "more"]}


def test_a_log_that_is_gone_is_damage_too(bench: Bench) -> None:
    run, ids = _saved(bench)
    for name in bench.harness.logs():
        bench.harness.put_log(name, b"")
    with pytest.raises(bp.Corrupted, match=ids[-1]):
        run.restore(ids[-1])

"""The little that a fork adds is in the fork itself, not in a log of its own, and nobody notices the difference."""

from __future__ import annotations

import random
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from tests.conformance.test_coded import Coded
from tests.conformance.test_damage import _flip
from tests.conformance.test_growth import Thread, _grown
from tests.harness.bench import Bench
from tests.harness.texts import message

_NEW = {"role": "user", "content": "what if " * 60}


def _forked(bench: Bench, new: Any = _NEW) -> tuple[Thread, Any, dict[str, bytes]]:
    """A thread, a fork of a checkpoint in its middle, and the logs that were there before it."""
    run = Thread(bench)
    saved = _grown(run, 60)
    before = bench.harness.logs()
    return run, run.fork(saved[40][0], append={"messages": [new]}), before


def test_a_small_fork_needs_no_log(bench: Bench) -> None:
    run, fork, before = _forked(bench)
    assert bench.harness.logs() == before
    assert run.restore(fork.id) == fork
    assert fork.state["messages"][-1] == _NEW
    assert len(fork.state["messages"]) == 42


def test_a_large_one_does(bench: Bench) -> None:
    run, fork, before = _forked(bench, message(random.Random(1), 3000))
    assert bench.harness.logs() != before
    assert run.restore(fork.id) == fork


def test_a_new_end_needs_none_either(bench: Bench) -> None:
    run = Thread(bench)
    saved = _grown(run, 40)
    before = bench.harness.logs()
    at, state = saved[20]
    edited = {**state, "messages": [*state["messages"][:-1], _NEW]}
    fork = run.fork(at, state=edited)
    assert bench.harness.logs() == before
    assert run.restore(fork.id).state == edited


@pytest.mark.parametrize("fresh", [False, True], ids=["the same client", "another one"])
@pytest.mark.parametrize(
    "change",
    [
        lambda messages: messages,
        lambda messages: [*messages, {"more": 1}],
        lambda messages: messages[:-1],
        lambda messages: messages[:-2],
        lambda messages: [messages[-1], *messages[:-1]],
        lambda messages: [*messages[:3], {"edited": 1}, *messages[4:]],
        lambda messages: [*messages, *messages],
        lambda messages: messages[-1:],
        lambda messages: [],
        lambda messages: "a text now",
    ],
)
def test_a_thread_goes_on_behind_it(bench: Bench, change: Any, fresh: bool) -> None:
    run, fork, _ = _forked(bench)
    run = Thread(bench) if fresh else run
    saved = [(fork.id, fork.state)]
    state = {**fork.state, "messages": change(fork.state["messages"])}
    for number in range(4):
        saved.append((run.save(state).id, state))
        state = {**state, "round": number, "messages": state["messages"] + type(state["messages"])("abc")}
    assert [run.restore(id_).state for id_, _ in saved] == [state for _, state in saved]


@pytest.mark.parametrize("fresh", [False, True], ids=["the same client", "another one"])
@pytest.mark.parametrize("end", [lambda messages: [*messages, _NEW], lambda messages: [*messages[:-1], _NEW]])
def test_its_thread_leaves_the_logs_of_the_other_alone(bench: Bench, end: Any, fresh: bool) -> None:
    """Even if it could append to them, because then the other thread could not."""
    run = Thread(bench)
    at, state = _grown(run, 60)[-1]
    before = bench.harness.logs()
    run.fork(at, state={**state, "messages": end(state["messages"])}, thread="side")
    side = Thread(bench) if fresh else run
    side.name = "side"
    side.save(append={"messages": ["more"]})
    after = bench.harness.logs()
    assert len(after) == len(before) + 1
    assert before.items() <= after.items()


def test_what_it_held_is_kept_once_behind_it(bench: Bench) -> None:
    """The next checkpoint puts it into a log; those that follow only name it."""
    marked = {"role": "user", "content": "marked " * 40}
    run, fork, _ = _forked(bench, marked)
    ids = [fork.id, *(run.save(append={"messages": [{"n": n}]}).id for n in range(5))]
    kept = b"".join(bench.harness.logs().values())
    assert kept.count(b"marked " * 40) == 1
    assert [run.restore(id_).state["messages"][41] for id_ in ids] == [marked] * 6


def test_forks_of_forks(bench: Bench) -> None:
    run, fork, _ = _forked(bench)
    chance = random.Random(3)
    line = [(fork.id, fork.state)]
    for number in range(12):
        at, state = line[chance.randrange(len(line))]
        new = {"n": number, "text": "t" * chance.randrange(400)}
        made = run.fork(at, append={"messages": [new]}, thread=f"t{number}" if number % 3 == 0 else None)
        line.append((made.id, {**state, "messages": [*state["messages"], new]}))
        assert made.state == line[-1][1]
    assert [run.restore(id_).state for id_, _ in line] == [state for _, state in line]


def test_a_copy_has_it(bench: Bench) -> None:
    run, fork, _ = _forked(bench)
    bench.run(bench.face().copy("run", to="other"))
    assert bench.run(bench.face().latest(thread="other")).state == fork.state
    bench.run(bench.face().delete("run"))
    assert bench.run(bench.face().latest(thread="other")).state == fork.state
    more = Thread(bench, "other").save(append={"messages": ["more"]})
    assert run.restore(more.id).state["messages"] == [*fork.state["messages"], "more"]


def test_nothing_is_left_of_it(bench: Bench) -> None:
    run, _fork, _ = _forked(bench)
    run.save(append={"messages": ["more"]})
    for row in bench.line("run"):
        bench.do(c.Expire(row.id))
    assert bench.harness.logs() == {}


def test_damage_to_it_is_found(bench: Bench) -> None:
    """All of the value is lost, since its hash covers all; the rest can be read."""
    run, fork, _ = _forked(bench)
    with bench.harness.tampered(fork.id, "state", lambda data: _flip(data, data.index(b"what if"))):
        with pytest.raises(bp.Corrupted, match=rf"{fork.id}: its state, state\['messages'\]"):
            run.restore(fork.id)
        found = run.restore(fork.id, partial=True)
        assert found.damaged == ("state", "state['messages']")
        assert found.state is None
    name, whole = next((name, data) for name, data in bench.harness.logs().items() if b"assistant" in data)
    bench.harness.put_log(name, _flip(whole, 30))
    found = run.restore(fork.id, partial=True)
    assert found.damaged == ("state['messages']",)
    assert found.state == {name: value for name, value in fork.state.items() if name != "messages"}


@pytest.mark.parametrize("codec", [{"encrypt": {"k": b"k" * 32}}, {"compress": True}], ids=["encrypted", "compressed"])
def test_behind_a_codec(bench: Bench, codec: Any) -> None:
    coded = Coded(bench, **codec)
    state: dict[str, Any] = {"messages": [message(random.Random(2), 600) for _ in range(60)], "round": 1}
    source = coded.save(state)
    before = bench.harness.logs()
    fork = coded.fork(source.id, append={"messages": [_NEW]})
    assert bench.harness.logs() == before
    assert coded.restore(fork.id).state == fork.state == {**state, "messages": [*state["messages"], _NEW]}
    after = coded.save({**fork.state, "messages": [*fork.state["messages"], "more"]})
    assert coded.restore(after.id).state["messages"] == [*fork.state["messages"], "more"]

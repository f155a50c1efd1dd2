"""What is saved is what the state was when `save` was called, however long the store takes, and asks again."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import Call, dead, forks
from batonpass.coordinator.calls import checkpoints as calls
from batonpass.coordinator.calls.edits import Edit
from batonpass.coordinator.parts.bases import Bases
from batonpass.coordinator.refusals import Ungrounded
from batonpass.coordinator.snapshots import draft, open_checkpoint
from batonpass.workers.session import LeaseSession
from tests.harness.bench import MINUTE, Bench
from tests.harness.texts import message

_PLACE = calls.Place("run", "write")


def _state(messages: int = 60) -> dict[str, Any]:
    chance = random.Random(messages)
    return {"messages": [message(chance) for _ in range(messages)], "round": messages}


def _spoil(state: dict[str, Any]) -> None:
    state["messages"][0] = "changed by another task"
    state["messages"].append("added by another task")
    state["round"] = -1


def _driven(bench: Bench, call: Call[Any], meanwhile: Callable[[], None]) -> Any:
    """A call's result. With each answer of the store another task has had its turn."""
    try:
        command = next(call)
        while True:
            try:
                answer = bench.do(command)
            except Ungrounded as error:
                meanwhile()
                command = call.throw(error)
            else:
                meanwhile()
                command = call.send(answer)
    except StopIteration as end:
        return end.value


def _kept(bench: Bench, made: bp.Checkpoint) -> bp.Checkpoint:
    kept: bp.Checkpoint = bench.run(bench.face().restore(made.id))
    return kept


def _save(bench: Bench, bases: Bases, snapshot: Snapshot, meanwhile: Callable[[], None]) -> bp.Checkpoint:
    made: bp.Checkpoint = _driven(bench, calls.save(bases, _PLACE, snapshot), meanwhile)
    return made


def test_a_thread_is_looked_at_first(bench: Bench) -> None:
    bench.run(bench.face().save(thread="run", agent="write", state=_state(59)))
    state, context = _state(), {"n": 1}
    before = copy.deepcopy(state)

    def meanwhile() -> None:
        _spoil(state)
        context["n"] = 2

    made = _save(bench, Bases(None), Snapshot(step="s", state=state, context=context), meanwhile)
    assert _kept(bench, made).state == made.state == before
    assert made.context == _kept(bench, made).context == {"n": 1}


def test_somebody_else_has_gone_on(bench: Bench) -> None:
    bases, state = Bases(None), _state()
    _save(bench, bases, Snapshot(step="s", state=state), lambda: None)
    other = {**state, "messages": [*state["messages"], message(random.Random(4))]}
    bench.run(bench.face().save(thread="run", agent="write", state=other))
    state["messages"].append(message(random.Random(5)))
    before, answers = copy.deepcopy(state), 0

    def meanwhile() -> None:
        nonlocal answers
        answers += 1
        _spoil(state)

    made = _save(bench, bases, Snapshot(step="s", state=state), meanwhile)
    assert answers == 2, "the store was to refuse it once"
    assert _kept(bench, made).state == before


def test_changes_of_a_thread_that_is_looked_at_first(bench: Bench) -> None:
    first = _state()
    bench.run(bench.face().save(thread="run", agent="write", state=first))
    changes, more = {"notes": ["mine"]}, {"messages": ["one more"]}

    def meanwhile() -> None:
        changes["notes"].append("of another task")
        more["messages"].append("of another task")

    made = _save(bench, Bases(None), Snapshot(step="s", state=None, changes=changes, append=more), meanwhile)
    wanted = {**first, "notes": ["mine"], "messages": [*first["messages"], "one more"]}
    assert _kept(bench, made).state == wanted


@pytest.mark.parametrize("whole", [True, False], ids=["state", "changes"])
def test_a_fork(bench: Bench, whole: bool) -> None:
    """It is read from first, and its source is deleted before it is there: what it shared has to be sent."""
    source = bench.run(bench.face().save(thread="run", agent="write", state=_state(59)))
    state = _state()
    before, answers = copy.deepcopy(state), 0

    def meanwhile() -> None:
        nonlocal answers
        answers += 1
        _spoil(state)
        if answers == 1:
            bench.do(c.Expire(source.id))

    edit = Edit(state=state) if whole else Edit({"messages": state["messages"], "round": 60})
    made = _driven(bench, forks.fork(Bases(None), Book(None), source.id, edit, "other", None), meanwhile)
    assert _kept(bench, made).state == made.state == before


def test_what_a_job_is_redriven_with(bench: Bench) -> None:
    fence = bench.start(thread="run")
    snapshot = Snapshot(step="s", state={"notes": []})
    new = draft(snapshot, thread="run", agent="write", job=fence.job_id, hop=bench.job(fence.job_id).hop).new
    bench.do(c.Save("run", new, fence))
    bench.do(c.Fail(fence, "boom", "attempts"))
    changes: dict[str, Any] = {"notes": ["mine"]}
    call = dead.redrive(Bases(None), Book(None), fence.job_id, None, changes, None)
    _driven(bench, call, lambda: changes["notes"].append("of another task"))
    assert open_checkpoint(bench.do(c.Restore(bench.tip("run")))).state == {"notes": ["mine"]}


def test_under_a_lease(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint that the job goes on from, and shares with, is deleted while the job runs."""
    origin = bench.run(bench.face().save(thread="other", agent="write", state=_state()))
    bench.submit(origin=origin.id)
    [delivery] = bench.claim(lease=MINUTE)
    session = LeaseSession(bench.store, delivery)
    state = _state()
    before = copy.deepcopy(state)
    session.seal(Snapshot(step="none", state=state))  # the origin is known as a base from now on
    bench.do(c.Expire(origin.id))
    asks, aasks = bench.store.call, bench.store.acall

    def ask(command: Any) -> Any:
        try:
            return asks(command)
        except Ungrounded:
            _spoil(state)
            raise

    async def aask(command: Any) -> Any:
        try:
            return await aasks(command)
        except Ungrounded:
            _spoil(state)
            raise

    monkeypatch.setattr(bench.store, "call", ask)
    monkeypatch.setattr(bench.store, "acall", aask)
    snapshot = Snapshot(step="s", state=state)
    made = bench.run(session.asave(snapshot) if bench.side == "async" else session.save(snapshot))
    assert state["round"] == -1
    assert _kept(bench, made).state == before


def test_what_is_appended_to_may_be_another_kind_now(bench: Bench) -> None:
    """A client that remembers what it was looks at what others have made of it."""
    one, other = bench.face(), bench.face()
    state = {**_state(), "said": None}
    bench.run(one.save(thread="run", agent="write", state=state))
    bench.run(other.save(thread="run", agent="write", changes={"said": "text"}))
    made = bench.run(one.save(thread="run", agent="write", append={"said": ", and more"}))
    assert made.state == {**state, "said": "text, and more"}
    with bench.refused(bp.BadSetup, "can't continue state\\['round'\\], a int, with a list"):
        bench.run(one.save(thread="run", agent="write", append={"round": [1]}))

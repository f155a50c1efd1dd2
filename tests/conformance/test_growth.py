"""Delta storage: what is shared, what is freed, and that nobody notices."""

from __future__ import annotations

import copy
import random
from functools import partial
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.codec import pack
from batonpass.coordinator import commands as c
from batonpass.coordinator.parts import split
from batonpass.coordinator.parts.nodes import Base
from batonpass.coordinator.parts.writer import Sharing
from batonpass.coordinator.snapshots import draft, open_row
from batonpass.workers.session import LeaseSession
from tests.harness.bench import Bench
from tests.harness.texts import message, words


class Thread:
    """A client that saves to one thread."""

    def __init__(self, bench: Bench, name: str = "run") -> None:
        self._bench = bench
        self._face = bench.face()
        self.name = name

    def save(self, state: Any = None, **more: Any) -> Any:
        """Save a whole state, or what is new in it."""
        return self._bench.run(self._face.save(thread=self.name, agent="write", state=state, **more))

    def restore(self, id_: str, **more: Any) -> Any:
        """One checkpoint."""
        return self._bench.run(self._face.restore(id_, **more))

    def latest(self) -> Any:
        """The newest checkpoint."""
        return self._bench.run(self._face.latest(thread=self.name))

    def fork(self, id_: str, **more: Any) -> Any:
        """Go on from a checkpoint."""
        return self._bench.run(self._face.fork(id_, **more))


def _kept(bench: Bench) -> int:
    """About how many bytes the store keeps, events apart."""
    return sum(len(repr(value)) for name, value in bench.harness.dump().items() if "event" not in name)


def _grown(thread: Thread, steps: int, **more: Any) -> list[tuple[str, Any]]:
    """A thread whose state grows by a message a step: each checkpoint's id, and its state as it was then."""
    chance = random.Random(steps)
    state: dict[str, Any] = {"messages": [], "round": 0, "topic": "incident"}
    saved, messages = list[tuple[str, Any]](), list[Any]()
    for number in range(steps):
        state["messages"].append(message(chance))
        state["round"] = number
        made = thread.save(state, **more)
        messages.append(copy.deepcopy(state["messages"][-1]))
        saved.append((made.id, {**state, "messages": messages[:]}))
    return saved


def test_every_step_comes_back(bench: Bench) -> None:
    run = Thread(bench)
    saved = _grown(run, 40)
    assert [run.restore(id_).state for id_, _ in saved] == [state for _, state in saved]


def test_bytes_sent_do_not_grow(bench: Bench) -> None:
    chance = random.Random(1)
    state: dict[str, Any] = {"messages": []}
    base: Base | None = None
    sent: list[int] = []
    for _ in range(60):
        state["messages"].append(message(chance))
        made = draft(Snapshot(step="step", state=state), thread="run", agent="write", base=base)
        bench.do(c.Save("run", made.new))
        base = made.nodes
        new = made.new
        sent.append(len(new.header) + len(new.state) + len(new.spans) + sum(len(data) for _, _, data in new.appends))
    assert max(sent[-10:]) < 1.3 * min(sent[12:22])


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["messages"].append({"new": 1}),
        lambda s: s["messages"].insert(0, {"system": "x" * 300}),
        lambda s: s["messages"].__setitem__(7, {"edited": "y" * 300}),
        lambda s: s.__setitem__("messages", s["messages"][10:]),
        lambda s: s.__setitem__("messages", s["messages"][:5]),
        lambda s: s.__setitem__("messages", s["messages"][::-1]),
        lambda s: s.__setitem__("messages", []),
        lambda s: s.__setitem__("messages", "a text now"),
        lambda s: s.__setitem__("messages", tuple(s["messages"])),
        lambda s: s.pop("messages"),
        lambda s: s.__setitem__("other", list(s["messages"])),
        lambda s: s.clear(),
    ],
)
def test_any_change_of_a_large_state_comes_back(bench: Bench, change: Any) -> None:
    """And what is saved after it, and what was saved before."""
    run = Thread(bench)
    saved = _grown(run, 20)
    state = copy.deepcopy(saved[-1][1])
    for step in range(3):
        change(state) if step == 0 or ("messages" in state and isinstance(state["messages"], list)) else None
        made = run.save(state)
        saved.append((made.id, copy.deepcopy(state)))
    assert [run.restore(id_).state for id_, _ in saved] == [state for _, state in saved]


def test_a_worker_that_takes_over_sends_only_what_is_new(bench: Bench) -> None:
    chance = random.Random(1)
    state = {"messages": [message(chance) for _ in range(100)]}
    kept = list[int]()
    bench.submit()
    for _ in range(2):
        [delivery] = bench.claim()
        session, snapshot = LeaseSession(bench.store, delivery), Snapshot(step="step", state=state)
        bench.each(partial(session.save, snapshot), partial(session.asave, snapshot))
        bench.do(c.Release(session.fence))
        state["messages"].append(message(chance))
        kept.append(_kept(bench))
    assert kept[1] < kept[0] * 1.2


def test_texts_bytes_and_many_keys_grow_too(bench: Bench) -> None:
    run = Thread(bench)
    chance = random.Random(5)
    state: dict[str, Any] = {"text": "", "raw": b"", "steps": {}, "deep": {"agents": {"a": {"messages": []}}}}
    saved: list[tuple[str, Any]] = []
    for number in range(90):
        state["text"] += words(chance, 100)
        state["raw"] += words(chance, 100).encode()
        state["steps"][f"step#{number}", number] = words(chance, 60)
        state["deep"]["agents"]["a"]["messages"].append(message(chance))
        saved.append((run.save(state).id, copy.deepcopy(state)))
    assert [run.restore(id_).state for id_, _ in saved] == [state for _, state in saved]
    assert _kept(bench) < 6 * len(repr(saved[-1][1]))  # whole, it would be 45 times as much


def test_appending_is_the_same_as_saving_it_all(bench: Bench) -> None:
    run = Thread(bench)
    chance = random.Random(6)
    state: dict[str, Any] = {"messages": [], "notes": {}, "text": ""}
    made = run.save(state)
    for number in range(30):
        new, note, text = [message(chance)], {f"n{number}": number}, words(chance, 80)
        state = {"messages": state["messages"] + new, "notes": {**state["notes"], **note}, "text": state["text"] + text}
        made = run.save(append={"messages": new, "notes": note, "text": text})
        assert made.state == state
    assert run.restore(made.id).state == state


def test_changing_one_of_many_keys_is_the_same_as_saving_it_all(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """And takes no longer: each of the keys was packed alone."""
    run = Thread(bench)
    state: dict[Any, Any] = {f"k{number}": {"v": number} for number in range(2000)} | {7: "seven", "log": ["a"]}
    run.save(state)
    packed = list[str]()

    def counted(value: object, *, path: str = "state") -> bytes:
        packed.append(path)
        return pack(value, path=path)

    monkeypatch.setattr(split, "pack", counted)
    made = run.save(changes={"k7": -1, "new": [1]}, append={"log": ["b"], "more": "x"})
    assert packed == ["state"]
    state |= {"k7": -1, "new": [1], "log": ["a", "b"], "more": "x"}
    assert list(run.restore(made.id).state.items()) == list(state.items())
    with pytest.raises(bp.BadSetup, match=r"append= can't continue state\['k7'\], a int, with a list"):
        run.save(append={"k7": [1]})
    with pytest.raises(bp.Unserializable, match=r"state\['k8'\]"):
        run.save(changes={"k8": object()})
    assert run.latest().id == made.id


def test_appending_to_what_can_not_go_on_is_refused(bench: Bench) -> None:
    run = Thread(bench)
    run.save({"round": 1, "messages": []})
    before = bench.harness.dump()
    with pytest.raises(bp.BadSetup, match=r"append= can't continue state\['round'\], a int"):
        run.save(append={"round": 1})
    with pytest.raises(bp.BadSetup, match=r"state\['messages'\], a list, with a str"):
        run.save(append={"messages": "x"})
    assert bench.harness.dump() == before
    other = Thread(bench, "other")
    other.save([1])
    with pytest.raises(bp.BadSetup, match="need a dict to change, but the state is a list"):
        other.save(changes={"x": 1})


@pytest.mark.parametrize("new", [{"changes": {}}, {"append": {}}, {"changes": {}, "append": {}}], ids=str)
def test_nothing_new_leaves_the_state_as_it_is(bench: Bench, new: dict[str, Any]) -> None:
    """The state of a round that had nothing new became None, and the next one's changes were refused."""
    face, state = bench.face(), {"messages": ["a" * 600] * 20}
    assert bench.run(face.save(thread="new", agent="write", **new)).state == {}
    first = bench.run(face.save(thread="run", agent="write", state=state))
    with bench.beside() as beside:
        mine = beside.run(beside.face().save(thread="run", agent="write", changes={"round": 1}))
    made = bench.run(face.save(thread="run", agent="write", **new))
    assert (made.state, made.parent_id) == ({**state, "round": 1}, mine.id)
    before = _kept(bench)
    bench.run(face.save(thread="run", agent="write", **new))
    assert _kept(bench) - before < 3000
    branch = bench.run(face.save(thread="run", agent="write", parent=first.id, branch=True, **new))
    assert bench.run(face.restore(branch.id)).state == state
    assert bench.run(face.save(thread="run", agent="write", append={"messages": ["b"]})).state["messages"][-1] == "b"
    bench.run(face.save(thread="list", agent="write", state=[1]))
    with bench.refused(bp.BadSetup, "need a dict to change, but the state is a list"):
        bench.run(face.save(thread="list", agent="write", **new))


def test_changes_belong_to_the_newest_state(bench: Bench) -> None:
    """Somebody else saved in between: what is new is added to theirs."""
    run = Thread(bench)
    run.save(changes={"messages": ["a" * 600] * 20})
    with bench.beside() as beside:
        Thread(beside).save(append={"messages": ["b" * 600]})
    made = run.save(append={"messages": ["c" * 600]})
    assert made.state["messages"][-2:] == ["b" * 600, "c" * 600]
    assert run.restore(made.id).state == made.state


def test_two_who_append_to_one_log_do_not_mix(bench: Bench) -> None:
    """Both began from the same checkpoint. The second one's bytes go to a new log."""
    run = Thread(bench)
    saved = _grown(run, 20)
    mine, theirs = copy.deepcopy(saved[-1][1]), copy.deepcopy(saved[-1][1])
    mine["messages"].append({"mine": "m" * 700})
    theirs["messages"].append({"theirs": "t" * 700})
    with bench.beside() as beside:
        other = Thread(beside)
        assert other.latest().state == saved[-1][1]
        one, two = run.save(mine), other.save(theirs)
    assert run.restore(one.id).state == mine
    assert run.restore(two.id).state == theirs


def test_a_base_that_is_gone_costs_a_whole_save(bench: Bench) -> None:
    run = Thread(bench)
    saved = _grown(run, 10)
    for id_, _ in saved:
        bench.do(c.Expire(id_))
    state = {**saved[-1][1], "round": 99}
    made = run.save(state)
    assert run.restore(made.id).state == state


def test_a_store_refuses_what_is_not_grounded(bench: Bench) -> None:
    """Nothing is written then, and the same checkpoint again answers what the first time did."""
    run = Thread(bench)
    saved = _grown(run, 20)
    base = open_row(bench.do(c.Restore(saved[-1][0]))).base
    state = {**saved[-1][1], "messages": [*saved[-1][1]["messages"], "x" * 600]}
    first = draft(Snapshot(step="step", state=state), thread="run", agent="write", base=base)
    commit = bench.do(c.Save("run", first.new))
    assert bench.do(c.Save("run", first.new)) == commit
    second = draft(Snapshot(step="step", state=state), thread="run", agent="write", base=base)
    before = bench.harness.dump()
    with pytest.raises(bp.BatonpassError, match="went on without this one"):
        bench.do(c.Save("run", second.new))
    assert bench.harness.dump() == before
    own = draft(Snapshot(step="step", state=state), thread="run", agent="write", base=base, sharing=Sharing.REFER)
    bench.do(c.Save("run", own.new))
    assert run.restore(own.new.id).state == state


def test_freeing_in_any_order_leaves_the_others_whole(bench: Bench) -> None:
    run = Thread(bench)
    saved = _grown(run, 24)
    alive = dict(saved)
    order = [id_ for id_, _ in saved[:-1]]
    random.Random(3).shuffle(order)
    for id_ in order:
        bench.do(c.Expire(id_))
        del alive[id_]
        for other in random.Random(id_).sample(sorted(alive), min(3, len(alive))):
            assert run.restore(other).state == alive[other]


def test_what_nobody_uses_is_freed(bench: Bench) -> None:
    """When a thread was cut short, when it went on without its beginning, and when it is gone."""
    run = Thread(bench)
    empty = _kept(bench)
    saved = _grown(run, 200)
    full = _kept(bench)
    for id_, _ in saved[100:]:
        bench.do(c.Expire(id_))
    assert _kept(bench) < 0.65 * full
    assert run.restore(saved[99][0]).state == saved[99][1]
    for id_, _ in saved[:100]:
        bench.do(c.Expire(id_))
    assert _kept(bench) < empty + 2000


def test_what_is_freed_is_no_other_threads(bench: Bench) -> None:
    first, second = Thread(bench), Thread(bench, "other")
    kept, cut = _grown(first, 60), _grown(second, 60)
    for id_, _ in cut[30:]:
        bench.do(c.Expire(id_))
    assert first.restore(kept[-1][0]).state == kept[-1][1]
    assert second.restore(cut[29][0]).state == cut[29][1]


def test_a_log_with_a_hole_goes_on(bench: Bench) -> None:
    """The middle of a transcript was cut out and freed. What is appended later is where it should be."""
    run = Thread(bench)
    saved = _grown(run, 26)
    state = saved[-1][1]
    state["messages"] = state["messages"][:5] + state["messages"][18:]
    cut = run.save(state).id
    for id_, _ in saved:
        bench.do(c.Expire(id_))
    chance = random.Random(9)
    later: list[tuple[str, Any]] = [(cut, copy.deepcopy(state))]
    for _ in range(200):
        state["messages"].append(message(chance))
        later.append((run.save(state).id, copy.deepcopy(state)))
    assert [run.restore(id_).state for id_, _ in later[::20]] == [state for _, state in later[::20]]


def test_an_append_does_not_run_over_what_lives_behind_a_hole(bench: Bench) -> None:
    """The window moved on, and the middle was freed. A client that goes back to the beginning appends to a new log."""
    run = Thread(bench)
    chance = random.Random(11)
    state: dict[str, Any] = {"messages": [message(chance, 900) for _ in range(30)]}
    early = run.save(copy.deepcopy(state)).id
    middle: list[str] = []
    for _ in range(150):
        state["messages"].append(message(chance, 900))
        middle.append(run.save(copy.deepcopy(state)).id)
    state["messages"] = state["messages"][-20:]
    late = (run.save(copy.deepcopy(state)).id, copy.deepcopy(state))
    for id_ in middle:
        bench.do(c.Expire(id_))
    back = run.restore(early)
    saved = [late, (early, back.state)]
    grown = copy.deepcopy(back.state)
    base = open_row(bench.do(c.Restore(early))).base
    for _ in range(60):
        grown["messages"].extend(message(chance, 900) for _ in range(3))
        for sharing in Sharing:
            made = draft(Snapshot(step="on", state=grown), thread="run", agent="write", base=base, sharing=sharing)
            try:
                bench.do(c.Save("run", made.new, branch=True))
            except bp.BatonpassError:
                continue
            base = made.nodes
            saved.append((made.new.id, copy.deepcopy(grown)))
            break
    assert [run.restore(id_).state == state for id_, state in saved] == [True] * 62


def test_changes_to_a_thread_that_was_deleted_begin_it_anew(bench: Bench) -> None:
    run = Thread(bench)
    run.save({"messages": ["x" * 9000]})
    with bench.beside() as beside:
        beside.run(beside.face().delete("run"))
    assert run.save(append={"messages": ["y"]}).state == {"messages": ["y"]}


def test_changes_go_on_from_what_can_be_seen(bench: Bench) -> None:
    """The newest checkpoint's time is over, and nobody has freed it yet."""
    run = Thread(bench)
    run.save({"messages": ["a"]})
    run.save({"messages": ["a", "b"]}, ttl=1)
    bench.clock.advance(1500)
    assert run.save(append={"messages": ["c"]}).state == {"messages": ["a", "c"]}


@pytest.mark.parametrize(
    "key", [float("nan"), (float("nan"), 1), 1.5, frozenset({1})], ids=["nan", "in", "float", "set"]
)
def test_a_large_value_below_any_key_comes_back(bench: Bench, key: Any) -> None:
    run = Thread(bench)
    id_ = run.save({"deep": {key: ["x" * 30_000], "other": 1}, "doc": "d" * 20_000}).id
    found = run.restore(id_).state["deep"]
    assert list(found.values()) == [["x" * 30_000], 1]


def test_ttl_frees_as_expire_does(bench: Bench) -> None:
    run = Thread(bench)
    empty = _kept(bench)
    _grown(run, 120, ttl=60)
    bench.clock.advance(61_000)
    for _ in range(3):
        bench.do(c.Reap(limit=50))
    assert _kept(bench) < empty + 2000

"""What changes inside of values, saved by clients that know nothing of the thread yet: one round trip, and only what is
new."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from batonpass.coordinator import commands as c
from tests.harness.bench import Bench
from tests.harness.texts import words
from tests.test_pieces import Chat, Note

_CHANCE = random.Random(3)


def _text() -> str:
    return words(_CHANCE, 300)


def _chat() -> dict[str, Any]:
    said: list[Any] = [{"role": "user", "text": _text()} for _ in range(60)]
    return {"chat": Chat("t", said, [Note(text=_text())]), "messages": said[:], "round": 1}


_CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "grows": lambda state: state["chat"].said.append({"role": "user", "text": _text()}),
    "its last": lambda state: state["chat"].said.__setitem__(-1, {"role": "user", "text": _text()}),
    "the middle": lambda state: state["chat"].said.__setitem__(30, {"role": "user", "text": _text()}),
    "a list's last": lambda state: state["messages"].__setitem__(-1, {"role": "user", "text": _text()}),
    "both": lambda state: (state["messages"].append({"of": _text()}), state["messages"].__setitem__(9, _text())),
}


def _saves(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[c.Save]:
    """The commands that save from here on."""
    sent: list[c.Save] = []
    for name in ("call", "acall"):
        made = getattr(bench.store, name)

        def counted(command: Any, made: Any = made) -> Any:
            if isinstance(command, c.Save):
                sent.append(command)
            return made(command)

        monkeypatch.setattr(bench.store, name, counted)
    return sent


def _size(save: c.Save) -> int:
    return len(save.checkpoint.state) + sum(len(data) for _, _, data in save.checkpoint.appends)


@pytest.mark.parametrize("how", _CHANGES)
@pytest.mark.parametrize("forked", [False, True])
def test_one_round_trip_each(bench: Bench, monkeypatch: pytest.MonkeyPatch, how: str, forked: bool) -> None:
    state, kept = _chat(), list[tuple[str, Any]]()
    first = bench.run(bench.face().save(thread="run", agent="write", state=state))
    if forked:  # the logs have grown since the checkpoint that is gone on from
        more = {**state, "messages": [*state["messages"], _text()], "chat": Chat("t", [*state["chat"].said, _text()])}
        bench.run(bench.face().save(thread="run", agent="write", state=more))
        bench.run(bench.face().fork(first.id, state=state))
    sent = _saves(bench, monkeypatch)
    for _ in range(12):
        _CHANGES[how](state)
        bench.run(bench.face().latest(thread="run"))
        made = bench.run(bench.face().save(thread="run", agent="write", state=state))
        kept.append((made.id, copy.deepcopy(state)))
    assert len(sent) <= 12 + 2 * forked
    assert max(map(_size, sent[3:])) < 4000
    assert [bench.run(bench.face().restore(id_)).state for id_, _ in kept] == [held for _, held in kept]


def test_nothing_is_left_of_it(bench: Bench) -> None:
    before = bench.harness.dump()
    state = _chat()
    for number in range(30):
        list(_CHANGES.values())[number % len(_CHANGES)](state)
        bench.run(bench.face().save(thread="run", agent="write", state=state))
    bench.run(bench.face().prune("run", keep_last=3))
    assert bench.run(bench.face().latest(thread="run")).state == state
    bench.run(bench.face().delete("run"))
    left = bench.harness.dump()
    assert {name for name in left if "event" not in name} == {name for name in before if "event" not in name}

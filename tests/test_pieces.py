"""Values that are changed anywhere inside: each checkpoint comes back from the spans that it names, and is sent only
what is new."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import random
import time
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.codec import pack
from batonpass.coordinator.coded.frames import unframe
from batonpass.coordinator.parts.framed import frames_of
from batonpass.coordinator.parts.nodes import Base, Branch, parts, value
from batonpass.coordinator.parts.same import shared_with
from batonpass.coordinator.parts.spans import Span
from batonpass.coordinator.parts.writer import Sharing
from batonpass.coordinator.refusals import Ungrounded
from batonpass.coordinator.snapshots import Draft, draft
from tests.harness.texts import words


@bp.state_type("pieces.note")
class Note(BaseModel):
    text: str
    tags: list[Any] = []


@bp.state_type("pieces.chat")
@dataclasses.dataclass
class Chat:
    title: str
    said: list[Any]
    notes: Any = dataclasses.field(default_factory=list)
    end: str = "end"


class Logs:
    """What a store does with logs, behind a codec or not. Its checkpoints are numbered: whether one writes anew what
    others hold depends on its id."""

    def __init__(self, codec: bp.Codec | None = None, first: int = 0) -> None:
        self.codec = codec
        self._numbers = itertools.count(first)
        self._logs: dict[str, bytes] = {}

    def take(self, made: Draft) -> int:
        """Appends what is new, and checks that all parts are in the logs. Returns how many bytes the checkpoint
        takes."""
        if any(len(self._logs.get(log, b"")) != at for log, at, _ in made.new.appends):
            raise Ungrounded
        for log, _, data in made.new.appends:
            self._logs[log] = self._logs.get(log, b"") + data
        for _, part in parts(made.nodes.state):
            held = [self._held(span) for span in part.spans]
            assert b"".join(held) + part.end == part.body
            assert part.frames == (frames_of(held) if self.codec else None)
        new = made.new
        return len(new.state) + len(new.spans) + sum(len(data) for _, _, data in new.appends)

    def _held(self, span: Span) -> bytes:
        stored = self._logs[span.log][span.first : span.last]
        return unframe(self.codec, span, stored) if self.codec else stored

    def save(self, state: Any, base: Base | None, sharing: Sharing = Sharing.APPEND) -> Draft:
        """A state as a checkpoint, which is not in the logs yet."""
        about, id_ = Snapshot(step="step", state=state), f"c{next(self._numbers):023}"
        return draft(
            about, thread="run", agent="write", base=base, sharing=sharing, checkpoint_id=id_, codec=self.codec
        )


_CODECS = [None, bp.Codec(encrypt={"now": bytes(16)}), bp.Codec(compress=True)]
by_codec = pytest.mark.parametrize("codec", _CODECS[:2], ids=["plain", "encrypted"])


_CHANCE = random.Random(7)
_SAID = [words(_CHANCE, 300) for _ in range(80)]


def _text(length: int = 300) -> str:
    return words(_CHANCE, length)


_GROWING: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "model": (Note(text="t", tags=_SAID[:]), lambda held: held.tags.append(_text())),
    "tuple": ([tuple(_SAID)], lambda held: held.__setitem__(0, (*held[0], _text()))),
    "text of a model": (Note(text=" ".join(_SAID)), lambda held: setattr(held, "text", held.text + _text())),
    "dataclass": (Chat("t", _SAID[:]), lambda held: held.said.append({"role": "user", "text": _text()})),
    "models in it": (Chat("t", [Note(text=each) for each in _SAID]), lambda held: held.said.append(Note(text=_text()))),
    "two lists": (
        Chat("t", _SAID[:40], _SAID[40:]),
        lambda held: (held.said.append(_text()), held.notes.insert(len(held.notes), _text())),
    ),
    "an item's list": ([{"of": _SAID[:]}, {"of": _SAID[:3]}], lambda held: held[0]["of"].append(_text())),
    "an item's item": ([[Chat("t", _SAID[:])], 1], lambda held: held[0][0].said.append(_text())),
    "nine lists": ([_SAID[at::9] for at in range(9)], lambda held: [each.append(_text(60)) for each in held]),
    "texts that begin alike": (
        [" ".join([*_SAID[:3], *_SAID[at : at + 20]]) for at in range(4)],
        lambda held: [held.__setitem__(at, held[at] + _text(60)) for at in range(4)],
    ),
    "edits in a text": (
        [" ".join(_SAID)],
        lambda held: held.__setitem__(
            0, "".join([held[0][:2500], _text(9), held[0][2509:20000], held[0][20001:], "."])
        ),
    ),
    "many keys": (
        {f"key {number}": {"of": [text]} for number, text in enumerate(_SAID)},
        lambda held: held["key 7"]["of"].append(_text()),
    ),
    "many small items": (
        [{"id": number, "name": f"n{number}", "ok": True} for number in range(3000)],
        lambda held: held[1500].update(id=_CHANCE.randrange(9**9)),
    ),
    "packed by others": (
        bytearray(msgpack.packb({"title": "t", "said": _SAID})),
        lambda held: held.__setitem__(slice(None), _longer(bytes(held))),
    ),
}


def _longer(packed: bytes) -> bytes:
    held = msgpack.unpackb(packed)
    return bytes(msgpack.packb({**held, "said": [*held["said"], _text()]}))


@by_codec
@pytest.mark.parametrize("kind", _GROWING)
def test_only_what_is_new_is_sent(kind: str, codec: bp.Codec | None) -> None:
    held, change = copy.deepcopy(_GROWING[kind])
    logs, base, sizes, spans = Logs(codec), None, list[int](), 0
    for _ in range(60):
        state = {"held": bytes(held) if isinstance(held, bytearray) else held, "round": 1}
        made = logs.save(state, base)
        sizes.append(logs.take(made))
        assert value(made.nodes.state) == state
        base = made.nodes
        spans = max(len(part.spans) for _, part in parts(base.state))
        change(held)
    assert max(sizes[1:]) < (40_000 if codec else 2500)  # at first, frames are cut where it changes
    assert max(sizes[4:]) < 2500 < 20_000 < sizes[0]
    assert spans < 40


_SCATTERED: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "edited text": (
        [" ".join(_SAID)],
        lambda held: held.__setitem__(0, f"{held[0][:900]} {_text()} {held[0][900:]}"),
    ),
    "newest line first": ([" ".join(_SAID)], lambda held: held.__setitem__(0, f"{_text()}\n{held[0]}")),
    "many lists": ([_SAID[at::40] * 5 for at in range(40)], lambda held: held[_CHANCE.randrange(12)].append(_text())),
    "window of a text": ([" ".join(_SAID)], lambda held: held.__setitem__(0, (held[0] + _text())[300:])),
    "window of frames": (
        [bytes(64) + _CHANCE.randbytes(400) + bytes(64) for _ in range(60)],
        lambda held: (held.pop(0), held.append(bytes(64) + _CHANCE.randbytes(400) + bytes(64))),
    ),
    "set": ({*_SAID}, lambda held: held.add(_text())),
    "one of many": (
        [Note(text=text) for text in _SAID],
        lambda held: setattr(held[_CHANCE.randrange(len(held))], "text", _text()),
    ),
}


@by_codec
@pytest.mark.parametrize("kind", _SCATTERED)
def test_what_has_changed_in_many_places_is_written_anew_now_and_then(kind: str, codec: bp.Codec | None) -> None:
    held, change = copy.deepcopy(_SCATTERED[kind])
    logs, base, sizes = Logs(codec), None, list[int]()
    for _ in range(60):
        made = logs.save({"held": held}, base)
        sizes.append(logs.take(made))
        base = made.nodes
        change(held)
    assert sum(sizes[1:]) < (20 if codec else 8) * sizes[0]  # of 59


def test_numbers_that_change_here_and_there() -> None:
    """They change in place, so that what is equal is beside each other, however many have changed."""
    held = [_CHANCE.random() for _ in range(100_000)]
    logs = Logs()
    made = logs.save({"held": held}, None)
    size = logs.take(made)
    for number, most in ((150, 150 * 120), (270, size // 2)):
        changed = [*held]
        for at in _CHANCE.sample(range(len(held)), number):
            changed[at] = _CHANCE.random()
        fresh = copy.deepcopy(logs)
        again = fresh.save({"held": changed}, made.nodes)
        assert fresh.take(again) < most
        assert value(again.nodes.state) == {"held": changed}


def test_a_history_from_which_each_third_message_is_dropped() -> None:
    """What stays is in many pieces, but with nothing new between them."""
    held = [{"role": ("user", "assistant", "tool")[at % 3], "text": f"{at} {_text(1500)}"} for at in range(300)]
    logs = Logs()
    made = logs.save({"held": held}, None)
    size = logs.take(made)
    again = logs.save({"held": [each for each in held if each["role"] != "tool"]}, made.nodes)
    assert logs.take(again) < size / 40


@pytest.mark.parametrize("width", range(1, 40))
def test_many_small_items_of_any_width(width: int) -> None:
    """They are taken together, some at a time, and there is no item in which all of these are."""
    held: list[Any] = [{"id": number, "name": "n" * (width + number % 3), "ok": True} for number in range(2000)]
    held[700] = {"large": [{"text": "x" * 600}] * 3}
    logs, base = Logs(), None
    for change in ({}, {"id": 7}, {"name": "other"}, {"more": "m" * 700}, {"more": "m" * 700 + "n"}):
        held = copy.deepcopy(held)
        held[1000].update(change)
        held[700]["large"][1].update(change)
        made = logs.save({"held": held, "tuple": tuple(held)}, base)
        logs.take(made)
        assert value(made.nodes.state) == {"held": held, "tuple": tuple(held)}
        base = made.nodes


def test_a_value_of_a_dict_is_the_same_only_if_all_of_it_is() -> None:
    held = {"a": "a" * 20_000, "b": ["b" * 20_000], "c": "c" * 20_000}
    logs = Logs()
    made = logs.save({"held": held}, None)
    logs.take(made)
    assert isinstance(made.nodes.state, Branch)
    written = {"c": held["c"], "a": "a" * 19_999 + "b", "b": held["b"], "new": "n" * 300, "small": 1}
    node = shared_with(pack(written), made.nodes.state.children["held"], 160)
    assert value(node) == written
    assert [path for path, _ in parts(node)] == [("c",), ("b",)]


def test_a_large_text_deep_inside() -> None:
    """Dicts are compared key by key, but each level takes some of Python's stack: there was a RecursionError."""
    logs, base = Logs(), None
    for text in (" ".join(_SAID), " ".join([*_SAID, "more"])):
        state: Any = {"text": text}
        for level in range(500):
            state = {"of": state, "level": level}
        made = logs.save(state, base)
        logs.take(made)
        assert pack(value(made.nodes.state)) == pack(state)
        base = made.nodes


def test_bytes_in_bytes_are_not_looked_into_without_end() -> None:
    """Each level costs time, and who sends them costs others that time."""
    logs, packed = Logs(), [bytes(600), bytes(599) + b"1"]
    for _ in range(6000):
        packed = [msgpack.packb(each) for each in packed]
    base, began = None, time.process_time()
    for each in packed:
        made = logs.save({"held": each}, base)
        logs.take(made)
        base = made.nodes
    assert time.process_time() - began < 2


_TEXTS = st.builds(lambda seed, length: words(random.Random(seed), length), st.integers(0, 30), st.integers(1, 3000))
_MANY = st.builds(
    lambda seed, count: [{"of": words(random.Random(seed + at), 1 + (seed + at) % 30)} for at in range(count)],
    st.integers(0, 9),
    st.integers(900, 1500),
)
_LEAVES = (
    st.none() | st.integers() | _TEXTS | st.binary(max_size=2000) | st.lists(st.integers(0, 9), max_size=2000) | _MANY
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
        | st.tuples(inner, inner)
        | st.builds(Note, text=_TEXTS, tags=st.lists(inner, max_size=4))
        | st.builds(Chat, _TEXTS, st.lists(inner, max_size=4), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), first=st.lists(_VALUES, min_size=2, max_size=6), codec=st.sampled_from(_CODECS))
def test_any_change_comes_back(data: st.DataObject, first: list[Any], codec: bp.Codec | None) -> None:
    logs, base = Logs(codec, data.draw(st.integers(0, 99))), None
    held = [Chat("long", _SAID[:60]), *first]
    for _ in range(data.draw(st.integers(2, 6))):
        state = {"held": held, "chat": Chat("t", held)}
        made = logs.save(state, base, data.draw(st.sampled_from(list(Sharing)[:2])))
        try:
            logs.take(made)
        except Ungrounded:  # another one went on where the base ends
            made = logs.save(state, base, Sharing.REFER)
            logs.take(made)
        assert value(made.nodes.state) == state
        if made.nodes.state.size and data.draw(st.integers(0, 4)):
            base = made.nodes
        held = copy.deepcopy(held)
        _changed(held, data)


def _changed(held: list[Any], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(held) - 1))
    inside = held[at].said if isinstance(held[at], Chat) else held[at]
    if isinstance(inside, list) and data.draw(st.booleans()):
        held = inside
        at = data.draw(st.integers(0, len(held)))
    match data.draw(st.sampled_from(["insert", "remove", "append", "move"])):
        case "insert":
            held.insert(at, data.draw(_VALUES))
        case "remove" if len(held) > 2:
            held.pop(at - 1)
        case "move" if len(held) > 2:
            held.append(held.pop(at - 1))
        case _:
            held.append(data.draw(_VALUES))

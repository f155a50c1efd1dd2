"""Places behind a codec: the same answers, nothing in clear, nothing that can be moved to another place."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.coded.codec import UNREAD
from batonpass.coordinator.coded.store import CodedStore
from batonpass.coordinator.parts.nodes import Base
from batonpass.coordinator.rows import Place, PlaceRow, Write
from batonpass.coordinator.snapshots import draft, open_checkpoint, open_summary
from tests.harness.bench import Bench
from tests.harness.places import large

_SECRET = "the-moon-is-made-of-cheese"
_CODECS: dict[str, dict[str, Any]] = {
    "encrypt": {"encrypt": {"k": b"k" * 32}},
    "sign": {"sign": {"k": b"k" * 32}},
    "compress": {"compress": True},
}


class Coded:
    """A framework that puts to one thread, through a codec."""

    def __init__(self, bench: Bench, **codec: Any) -> None:
        self._bench = bench
        self.codec = bp.Codec(**codec)
        self.store = CodedStore(bench.store, self.codec)
        self._base: Base | None = None

    def do(self, command: c.Command[Any]) -> Any:
        """Carry a command out."""
        return self._bench.each(lambda: self.store.call(command), lambda: self.store.acall(command))

    def put(self, key: str, state: Any, parent: str = "", *writes: Write, scope: str = "") -> None:
        """Commit a checkpoint."""
        made = draft(
            Snapshot(step="step", state=state),
            thread="run",
            agent="",
            base=self._base,
            codec=self.codec,
            place=Place(scope, key),
        )
        self._base = made.nodes
        self.do(c.Put(made.new, parent, writes=writes))

    def find(self, key: str, scope: str = "") -> PlaceRow:
        """What is at a place."""
        found: PlaceRow | None = self.do(c.Find("run", scope, key))
        assert found is not None
        return found


@pytest.mark.parametrize("codec", _CODECS.values(), ids=_CODECS)
def test_the_same_answers(bench: Bench, codec: dict[str, Any]) -> None:
    coded = Coded(bench, **codec)
    states: list[Any] = [large("a"), {"said": [*large("a")["said"], "m" * 300]}]
    coded.put("a", states[0])
    coded.do(c.PutWrites("run", "", "a", [Write("x", b"alone")]))
    coded.put("b", states[1], "a", Write("y", b"with the next"), Write("x", b"again", again=True))
    listed = coded.do(c.Places("run", whole=True))
    for row, found in zip(listed, (coded.find("b"), coded.find("a")), strict=True):
        assert open_summary(row.checkpoint) == open_summary(found.checkpoint)
        assert open_checkpoint(found.checkpoint).state == states.pop()
    written = sorted((write.name, write.data) for write in coded.find("a").writes)
    assert written == sorted((write.name, write.data) for write in listed[1].writes)
    assert written == [("x", b"again"), ("y", b"with the next")]
    assert [row.writes for row in coded.do(c.Walk("run", "", "b"))] == [[], listed[1].writes]


def test_nothing_is_kept_in_clear(bench: Bench) -> None:
    coded = Coded(bench, encrypt={"k": b"k" * 32})
    coded.put("a", {"said": [_SECRET] * 2000})
    coded.put("b", _SECRET, "a", Write("x", _SECRET.encode()))
    coded.do(c.PutWrites("run", "", "b", [Write("x", _SECRET.encode())]))
    assert _SECRET not in repr(bench.harness.dump())


@pytest.mark.parametrize("codec", [_CODECS["encrypt"], _CODECS["sign"]], ids=["encrypt", "sign"])
def test_a_write_is_bound_to_its_place_and_its_name(bench: Bench, codec: dict[str, Any]) -> None:
    coded = Coded(bench, **codec)
    for key, scope in (("a", ""), ("b", ""), ("a", "s")):
        coded.put(key, key, scope=scope)
    coded.do(c.PutWrites("run", "", "a", [Write("x", b"data")]))
    found = bench.do(c.Find("run", "", "a"))
    assert found is not None
    stored = found.writes[0].data
    for key, scope, name in (("b", "", "x"), ("a", "s", "x"), ("a", "", "y")):
        bench.do(c.PutWrites("run", scope, key, [Write(name, stored)]))
        data = {write.name: write.data for write in coded.find(key, scope).writes}
        assert data[name][:1] == UNREAD
    assert {write.name: write.data for write in coded.find("a").writes}["x"] == b"data"


def test_a_missing_key_is_named(bench: Bench) -> None:
    Coded(bench, encrypt={"k": b"k" * 32}).put("a", "a")
    with pytest.raises(bp.BadSetup, match="the key 'k'"):
        Coded(bench, encrypt={"other": b"o" * 32}).find("a")

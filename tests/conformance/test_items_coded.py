"""Items behind a codec: the same answers, no value in clear, nothing that can be moved to another name."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.coded.codec import UNREAD
from batonpass.coordinator.coded.store import CodedStore
from batonpass.coordinator.items import ItemChange
from tests.harness.bench import Bench
from tests.harness.items import Items, name

_SECRET = b"the-moon-is-made-of-cheese" * 20
_CODECS: dict[str, dict[str, Any]] = {
    "encrypt": {"encrypt": {"k": b"k" * 32}},
    "sign": {"sign": {"k": b"k" * 32}},
    "compress": {"compress": True},
}


def coded(bench: Bench, **codec: Any) -> Bench:
    """The same store behind a codec."""
    other = bench.beside()
    other.store = CodedStore(other.store, bp.Codec(**codec))
    return other


@pytest.mark.parametrize("codec", _CODECS.values(), ids=_CODECS)
def test_the_same_answers(bench: Bench, codec: dict[str, Any]) -> None:
    with coded(bench, **codec) as other:
        items = Items(other)
        items.put(name("a"), value=_SECRET, index=_SECRET)
        items.put(name("b"), value=b"short")
        items.delete(name("c"))
        assert [(row.value, row.index) for page in items.pages(indexed=True) for row in page] == [
            (_SECRET, _SECRET),
            (b"short", b""),
        ]
        row = items.row(name("a"))
        assert row is not None
        assert (row.value, items.row(name("c")), items.spaces()) == (_SECRET, None, [("a",), ("b",)])


def test_no_value_is_kept_in_clear(bench: Bench) -> None:
    with coded(bench, **_CODECS["encrypt"]) as other:
        Items(other).put(name("a"), value=_SECRET, index=_SECRET)
    assert _SECRET.decode()[:20] not in repr(bench.harness.dump())


@pytest.mark.parametrize("codec", [_CODECS["encrypt"], _CODECS["sign"]], ids=["encrypt", "sign"])
def test_a_value_is_bound_to_its_name(bench: Bench, codec: dict[str, Any]) -> None:
    with coded(bench, **codec) as other:
        Items(other).put(name("a"), value=_SECRET, index=_SECRET)
        [[stored]] = Items(bench).pages(indexed=True)
        elsewhere = (name("b"), name("a", key="other"), name("a", "k"))
        moved = [ItemChange(each, stored.value, stored.index) for each in elsewhere]
        bench.do(c.WriteItems((*moved, ItemChange(name("c"), stored.index, stored.value))))
        read = {row.name: (row.value, row.index) for page in Items(other).pages(indexed=True) for row in page}
        assert read.pop(name("a")) == (_SECRET, _SECRET)
        assert {value[:1] + index[:1] for value, index in read.values()} == {UNREAD * 2}

"""A search by meaning gives what an exact comparison of all vectors gives, as LangGraph's in-memory store does."""

from __future__ import annotations

import builtins
import random
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassStore

from .memories import Memory

pytestmark = pytest.mark.capability("langgraph")
DIMS = 16


def embed(texts: list[str]) -> list[list[float]]:
    """The same text has the same vector; texts that share words are near each other."""
    vectors: list[list[float]] = []
    for text in texts:
        words = [random.Random(word) for word in text.split()]
        vectors.append([sum(word.gauss(0, 1) for word in words) for _ in range(DIMS)])
    return vectors


INDEX: Any = {"dims": DIMS, "embed": embed, "fields": ["text"]}
WORDS = ["red", "green", "blue", "cat", "dog", "bird", "runs", "sleeps", "eats"]


@pytest.fixture(params=["sync", "async"])
def memory(url: str, request: pytest.FixtureRequest) -> Iterator[Memory]:
    with Memory(BatonpassStore.from_url(url, index=INDEX), request.param) as made:
        yield made


def some(count: int) -> list[PutOp]:
    pick = random.Random(count)
    return [
        PutOp(("docs", f"u{n % 3}"), f"{n:03}", {"text": " ".join(pick.choices(WORDS, k=4)), "n": n})
        for n in range(count)
    ]


def scored(items: Any) -> list[tuple[str, float | None]]:
    return [(item.key, item.score if item.score is None else round(item.score, 5)) for item in items]


@pytest.mark.parametrize(
    "asked", [{}, {"limit": 3}, {"limit": 5, "offset": 4}, {"filter": {"n": {"$lt": 40}}}, {"limit": 0}]
)
def test_the_nearest_come_first(memory: Memory, asked: dict[str, Any]) -> None:
    theirs = InMemoryStore(index=INDEX)
    ops = list({op.value["text"]: op for op in some(230) if op.value}.values())  # theirs takes each text once
    memory.batch(ops)
    theirs.batch(ops)
    for prefix in ((), ("docs",), ("docs", "u1"), ("none",)):
        found = memory.search(prefix, query="red cat sleeps", **asked)
        wanted = theirs.search(prefix, query="red cat sleeps", **asked)
        assert [score for _, score in scored(found)] == [score for _, score in scored(wanted)]
        assert set(scored(found)[:-1]) <= set(scored(theirs.search(prefix, query="red cat sleeps", limit=1000)))


def test_items_of_one_text(memory: Memory) -> None:
    memory.batch([PutOp(("a",), key, {"text": "blue bird"}) for key in "abc"])
    assert scored(memory.search(("a",), query="blue bird")) == [("a", 1.0), ("b", 1.0), ("c", 1.0)]


def test_what_has_no_text_comes_last(memory: Memory) -> None:
    memory.put(("a",), "0", {"text": "blue bird"}, index=False)
    memory.put(("a",), "1", {"other": "blue bird"})
    memory.put(("a",), "2", {"text": "red cat"})
    memory.put(("a",), "3", {"other": "blue bird", "text": "dog"}, index=["other", "text"])
    found = scored(memory.search(("a",), query="blue bird"))
    assert [key for key, _ in found] == ["3", "2", "0", "1"]
    assert (found[0][1], found[2][1]) == (1.0, None)
    assert [key for key, _ in scored(memory.search(("a",), query="blue bird", offset=3))] == ["1"]
    assert [key for key, _ in scored(memory.search(("a",)))] == ["0", "1", "2", "3"]


def test_a_new_value_has_new_vectors(memory: Memory) -> None:
    memory.put(("a",), "k", {"text": "blue bird"})
    memory.put(("a",), "k", {"text": "red cat"})
    assert scored(memory.search(("a",), query="red cat")) == [("k", 1.0)]
    memory.put(("a",), "k", {"text": "blue bird"}, index=False)
    assert scored(memory.search(("a",), query="red cat")) == [("k", None)]


def test_one_without_an_index_does_not_compare(url: str) -> None:
    store = BatonpassStore.from_url(url)
    store.put(("a",), "k", {"text": "red cat"})
    assert scored(store.search(("a",), query="red cat")) == [("k", None)]
    store.close()


def test_an_embedding_that_is_not_as_it_says(url: str) -> None:
    wrong: list[Any] = [[[1.0, 2.0]], [[float("nan")] * DIMS], [], [[1.0] * DIMS] * 2]
    for answer in wrong:
        index: Any = {**INDEX, "embed": lambda texts, given=answer: given}
        with BatonpassStore.from_url(url, index=index) as store:
            with pytest.raises(bp.BadSetup, match="the embedding gave"):
                store.put(("a",), "k", {"text": "red"})
            assert store.search(()) == []


def test_another_measure_is_refused(url: str) -> None:
    """LangGraph's Postgres and SQLite stores have others. The order would silently be another one."""
    distance: Any = {**INDEX, "distance_type": "l2"}
    with pytest.raises(bp.BadSetup, match="distance_type='l2', but this store compares by the cosine: leave it out"):
        BatonpassStore.from_url(url, index=distance)
    cosine: Any = {**INDEX, "distance_type": "cosine"}
    BatonpassStore.from_url(url, index=cosine).close()


def test_vectors_of_another_embedding_are_named(shared_url: str) -> None:
    with BatonpassStore.from_url(shared_url, index=INDEX) as store:
        store.put(("a",), "k", {"text": "red"})
    other: Any = {"dims": 2, "embed": lambda texts: [[1.0, 2.0] for _ in texts]}
    with BatonpassStore.from_url(shared_url, index=other) as store:
        assert len(store.search(("a",))) == 1
        with pytest.raises(bp.BadSetup, match=r"item 'k' under \('a',\) has vectors of 16 dimensions, not 2"):
            store.search(("a",), query="red")


def test_a_value_that_is_no_json_needs_fields(url: str) -> None:
    whole: Any = {"dims": DIMS, "embed": embed}
    with BatonpassStore.from_url(url, index=whole) as store:
        with pytest.raises(bp.BadSetup, match="name the fields"):
            store.put(("a",), "k", {"data": b"\0"})
        store.put(("a",), "k", {"data": b"\0", "text": "red"}, index=["text"])
        assert scored(store.search(("a",), query="red")) == [("k", 1.0)]


def test_without_numpy(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name == "numpy":
            raise ImportError(name)
        return imported(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(bp.MissingExtra, match="pip install numpy"):
        BatonpassStore.from_url(url, index=INDEX)

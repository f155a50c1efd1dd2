"""BatonpassStore: what is put comes back, on every store, from sync and from async code."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict
from uuid import UUID

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, PutOp, SearchOp

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassStore
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import open_blob, seal_blob
from batonpass.coordinator.items import SCHEDULES, ItemChange, ItemName

from .memories import Memory, told

pytestmark = pytest.mark.capability("langgraph")
HOSTILE = ["a", "a:b", "a\1", "a\2", "a\x7f", "*", "{a}", "é", "😀", " ", "..", "a.b", "a\0", "a\0b"]


@pytest.fixture(params=["sync", "async"])
def memory(url: str, request: pytest.FixtureRequest) -> Iterator[Memory]:
    with Memory(BatonpassStore.from_url(url), request.param) as made:
        yield made


def test_put_get_delete(memory: Memory) -> None:
    value = {"text": "hello", "when": dt.datetime.now(dt.UTC), "id": UUID(int=1), "pair": (1, {2}), "none": None}
    assert memory.get(("users", "ann"), "likes") is None
    memory.put(("users", "ann"), "likes", value)
    first = memory.get(("users", "ann"), "likes")
    assert told([first]) == [(("users", "ann"), "likes", value)]
    assert abs(first.created_at - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)
    memory.put(("users", "ann"), "likes", {"new": 1})
    again = memory.get(("users", "ann"), "likes")
    assert (again.value, again.created_at) == ({"new": 1}, first.created_at)
    assert again.updated_at >= first.updated_at
    memory.delete(("users", "ann"), "likes")
    memory.delete(("users", "ann"), "likes")
    assert memory.get(("users", "ann"), "likes") is None
    assert memory.list_namespaces() == []


def test_what_is_given_is_the_callers_own(memory: Memory) -> None:
    memory.put(("a",), "k", {"list": [1]})
    memory.get(("a",), "k").value["list"].append(2)
    assert memory.get(("a",), "k").value == {"list": [1]}


def test_a_batch_reads_before_it_writes(memory: Memory) -> None:
    memory.put(("a",), "k", {"n": 1})
    ops = [
        PutOp(("a",), "k", {"n": 2}),
        GetOp(("a",), "k"),
        PutOp(("a",), "new", {}),
        PutOp(("a",), "new", None),
        SearchOp(("a",)),
        GetOp(("a",), "none"),
        PutOp(("a",), "k", {"n": 3}),
    ]
    _, got, _, _, found, none, _ = memory.batch(ops)
    assert (told([got]), told(found), none) == ([(("a",), "k", {"n": 1})], [(("a",), "k", {"n": 1})], None)
    assert told(memory.search(("a",))) == [(("a",), "k", {"n": 3})]
    assert memory.batch([]) == []


def test_a_large_batch(memory: Memory) -> None:
    memory.batch([PutOp((f"a{n % 7}",), f"{n:04}", {"n": n}) for n in range(1234)])
    assert [item.value["n"] for item in memory.batch([GetOp((f"a{n % 7}",), f"{n:04}") for n in range(1234)])] == list(
        range(1234)
    )
    found = memory.search((), limit=2000)
    assert len(found) == 1234
    assert told(found[700:]) == told(memory.search((), limit=2000, offset=700))


def test_what_an_offset_skips_is_not_decoded(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paging through a large memory took time with the square of its size. With a filter, each has to be looked at."""
    memory.batch([PutOp(("a",), f"{n:03}", {"n": n}) for n in range(250)])
    decoded: list[str] = []

    def decode(data: bytes, *, of: str) -> Any:
        decoded.append(of)
        return open_blob(data, of=of)

    monkeypatch.setattr("batonpass.adapters.langgraph.store.operations.open_blob", decode)
    for prefix in ((), ("a",)):
        assert [item.value["n"] for item in memory.search(prefix, limit=5, offset=240)] == [*range(240, 245)]
    assert len(decoded) == 10
    late = memory.search(("a",), limit=5, offset=110, filter={"n": {"$gte": 100}})
    assert [item.value["n"] for item in late] == [*range(210, 215)]
    assert memory.search(("a",), offset=10**30) == memory.search((), offset=10**30) == []


def test_hostile_names_do_not_mix(memory: Memory) -> None:
    """Also those that LangGraph's own methods refuse, and its batch does not."""
    names = [((one, other), key) for one in HOSTILE for other in HOSTILE for key in HOSTILE[:4]]
    memory.batch([PutOp(namespace, key, {"of": [*namespace, key]}) for namespace, key in names])
    assert [item.value["of"] for item in memory.batch([GetOp(*each) for each in names])] == [
        [*namespace, key] for namespace, key in names
    ]
    [found] = memory.batch([SearchOp(("a",), limit=10_000)])
    assert {item.namespace for item in found} == {("a", other) for other in HOSTILE}


@pytest.mark.parametrize(
    ("op", "error", "match"),
    [
        (PutOp((), "k", {}), InvalidNamespaceError, "empty"),
        (PutOp((1,), "k", {}), InvalidNamespaceError, "strings"),  # type: ignore[arg-type]
        (PutOp((SCHEDULES, "defined"), "k", {}), InvalidNamespaceError, "Batonpass's own"),
        (GetOp((SCHEDULES, "defined"), "k"), InvalidNamespaceError, "Batonpass's own"),
        (SearchOp((SCHEDULES,)), InvalidNamespaceError, "Batonpass's own"),
        (PutOp(("\ud800",), "k", {}), bp.BadSetup, "half of a character"),
        (PutOp(("a",), "\ud800", {}), bp.BadSetup, "half of a character"),
        (PutOp(("a",), 1, {}), bp.BadSetup, "must be a text"),  # type: ignore[arg-type]
        (PutOp(("a",), "k", [1]), bp.BadSetup, "must be a dict"),  # type: ignore[arg-type]
        (PutOp(("a",), "k", {"x": [{"y": object()}]}), bp.Unserializable, r"value\['x'\]\[0\]\['y'\]"),
        (PutOp(("a",), "k", {}, ttl=-1), bp.BadSetup, "ttl"),
        (SearchOp(("a",), filter={"n": {"$like": 1}}), bp.BadSetup, r"\$like"),
        ("what", bp.BadSetup, "not an operation"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(op: Any, error: Any, match: str, memory: Memory) -> None:
    with pytest.raises(error, match=match):
        memory.batch([PutOp(("a",), "first", {}), op])
    assert memory.search(()) == []


def test_what_a_filter_compares_with_may_have_any_names(memory: Memory) -> None:
    memory.put(("a",), "k", {"schema": {"$ref": "x", "n": 1}})
    assert told(memory.search((), filter={"schema": {"$ne": {"$ref": "y"}}})) != []
    assert told(memory.search((), filter={"schema": {"$eq": {"$ref": "x", "n": 1}}})) != []
    assert memory.search((), filter={"schema": {"$eq": {"$ref": "y"}}}) == []


def test_what_is_damaged_is_named_and_hides_nothing(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with BatonpassStore.from_url(url) as store:
        store.put(("a",), "good", {"n": 1})
        for key, value in (("junk", b"\1 something else"), ("no dict", seal_blob([1], path="value")), ("empty", b"")):
            store._handles.store().call(c.WriteItems((ItemChange(ItemName(("a",), key), value),)))
            with pytest.raises(bp.Corrupted, match=f"the item '{key}' under"):
                store.get(("a",), key)
        assert [item.key for item in store.search(("a",))] == ["good"]
    assert "left out of a search: the item 'junk' under ('a',)" in caplog.text


# in graphs


class _State(TypedDict):
    seen: int


def remembering(store: BaseStore, side: str) -> Any:
    """A graph whose node counts how often a user came, in the store."""

    async def arun(state: _State, runtime: Runtime[None]) -> _State:
        assert runtime.store is not None
        item = await runtime.store.aget(("users", "ann"), "visits")
        seen = (item.value["count"] if item else 0) + 1
        await runtime.store.aput(("users", "ann"), "visits", {"count": seen})
        return {"seen": seen}

    def run(state: _State, runtime: Runtime[None]) -> _State:
        assert runtime.store is not None
        item = runtime.store.get(("users", "ann"), "visits")
        seen = (item.value["count"] if item else 0) + 1
        runtime.store.put(("users", "ann"), "visits", {"count": seen})
        return {"seen": seen}

    builder = StateGraph(_State)
    builder.add_node("count", run if side == "sync" else arun)
    builder.add_edge(START, "count")
    return builder.compile(store=store)


def test_a_graph_remembers_beyond_threads(url: str) -> None:
    store = BatonpassStore.from_url(url)
    assert remembering(store, "sync").invoke({"seen": 0}) == {"seen": 1}
    assert asyncio.run(remembering(store, "async").ainvoke({"seen": 0})) == {"seen": 2}
    assert remembering(store, "sync").invoke({"seen": 0}) == {"seen": 3}
    store.close()


# processes, threads, loops


_WRITES = """
import sys
from batonpass.adapters.langgraph import BatonpassStore
url, name = sys.argv[1:]
with BatonpassStore.from_url(url) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(40):
        store.put(("shared", name), str(number), {"of": name})
        store.put(("shared",), "last", {"of": name})
    assert len(store.search(("shared", name), limit=100)) == 40
"""


def test_two_processes(shared_url: str) -> None:
    with BatonpassStore.from_url(shared_url) as store:
        children = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITES, shared_url, name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("one", "two")
        ]
        for child in children:
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.communicate("\n", timeout=60)
            assert child.returncode == 0
        assert len(store.search(("shared",), limit=100)) == 81
        assert store.list_namespaces() == [("shared",), ("shared", "one"), ("shared", "two")]


def test_several_loops_and_threads_at_once(url: str) -> None:
    store = BatonpassStore.from_url(url)

    async def arun(number: int) -> int:
        await asyncio.gather(*(store.aput(("a", str(number)), str(n), {}) for n in range(20)))
        return len(await store.asearch(("a", str(number)), limit=100))

    def run(number: int) -> int:
        if number % 2:
            return asyncio.run(arun(number))
        for n in range(20):
            store.put(("a", str(number)), str(n), {})
        return len(store.search(("a", str(number)), limit=100))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(run, range(8))) == [20] * 8
    store.close()


def test_a_fork_has_handles_of_its_own(shared_url: str) -> None:
    store = BatonpassStore.from_url(shared_url)
    store.put(("a",), "parent", {})
    child = os.fork()
    if child == 0:
        try:
            store.put(("a",), "child", {})
            asyncio.run(store.aput(("a",), "async child", {}))
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert [item.key for item in store.search(("a",))] == ["async child", "child", "parent"]
    store.close()


def test_with_a_codec(shared_url: str) -> None:
    with BatonpassStore.from_url(shared_url, codec=bp.Codec(encrypt={"k": b"k" * 32})) as store:
        store.put(("a",), "k", {"secret": "cheese"})
        assert told(store.search(("a",))) == [(("a",), "k", {"secret": "cheese"})]
    with BatonpassStore.from_url(shared_url) as other, pytest.raises(bp.BadSetup, match="encrypted"):
        other.get(("a",), "k")


def test_a_search_with_a_wrong_key_finds_no_memory_empty(shared_url: str) -> None:
    """An agent would take it for the memory of somebody unknown. A damaged item among others is left out."""
    right, wrong = (bp.Codec(encrypt={"k": byte * 32}) for byte in (b"k", b"x"))
    with BatonpassStore.from_url(shared_url, codec=right) as store:
        store.put(("a",), "k", {"secret": "cheese"})
    with BatonpassStore.from_url(shared_url, codec=wrong) as other:
        with pytest.raises(bp.BadSetup, match="encrypted with another key 'k' than"):
            other.search(("a",))
        other.put(("a",), "l", {"secret": "ham"})
        assert [item.key for item in other.search(("a",))] == ["l"]

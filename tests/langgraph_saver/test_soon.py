"""A run with durability "async" on SQLite does not wait for the disk at each superstep, but before it ends."""

from __future__ import annotations

import asyncio
import errno
import operator
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Durability

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.saver import batching
from batonpass.adapters.langgraph.saver import saver as checkpointer
from batonpass.coordinator.sqlite import disk
from tests.harness.waiting import wait_until

pytestmark = [
    pytest.mark.capability("langgraph"),
    pytest.mark.skipif(not disk.SHARED, reason="SQLite waits by itself here"),
]
_NODES = "abcd"
_fdatasync = os.fdatasync


class Noted(TypedDict):
    trace: Annotated[list[str], operator.add]


class Disk:
    """A disk that can be stopped and broken. `seen` has what happened, in order."""

    def __init__(self) -> None:
        self.works = threading.Event()
        self.works.set()
        self.fails = False
        self.asked = 0
        self.seen: list[str] = []

    def fdatasync(self, file: int) -> None:
        self.asked += not self.works.is_set()
        assert self.works.wait(30)
        if self.fails:
            raise OSError(errno.EIO, "broken")
        _fdatasync(file)

    def start(self) -> None:
        self.seen.append("disk")
        self.works.set()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk()
    monkeypatch.setattr(os, "fdatasync", made.fdatasync)
    # However slow this machine is, no write is sent before its put, because on its own it would wait for the disk.
    monkeypatch.setattr(batching, "_MOMENT", 30.0)
    monkeypatch.setattr(checkpointer, "_TURNS", 1_000_000)
    yield made
    made.works.set()


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest, sqlite_url: str, slow: Disk) -> Iterator[Callable[[str | None], Future[Any]]]:
    """Runs a graph whose first node stops the disk, from sync or from async code, with a durability."""
    builder: Any = StateGraph(Noted)
    with BatonpassSaver.from_url(sqlite_url) as saver, ThreadPoolExecutor(1) as pool:
        for number, name in enumerate(_NODES):
            builder.add_node(name, _node(name, slow, saver))
            builder.add_edge(_NODES[number - 1] if number else START, name)
        graph = builder.compile(checkpointer=saver)

        def start(durability: str | None) -> Future[Any]:
            given: Any = ({"trace": []}, {"configurable": {"thread_id": "t"}})
            if request.param == "sync":
                return pool.submit(graph.invoke, *given, durability=durability)
            return pool.submit(lambda: asyncio.run(graph.ainvoke(*given, durability=durability)))

        yield start


def _node(name: str, slow: Disk, saver: BatonpassSaver) -> Callable[[Noted], dict[str, Any]]:
    def node(_: Noted) -> dict[str, Any]:
        if name == _NODES[0]:
            wait_until(lambda: _count(saver) == 2 and not saver._shared.batching._flying)  # the input, without writes
            slow.works.clear()
        slow.seen.append(name)
        return {"trace": [name]}

    return node


def _count(saver: BatonpassSaver) -> int:
    return len(list(saver.list({"configurable": {"thread_id": "t"}})))


def _kept(url: str) -> int:
    with BatonpassSaver.from_url(url) as saver:
        return _count(saver)


@pytest.mark.parametrize("durability", ["async", None])
def test_a_run_goes_on_while_the_disk_works_and_ends_when_that_has_all(
    durability: str | None, run: Callable[..., Future[Any]], slow: Disk, sqlite_url: str
) -> None:
    running = run(durability)
    wait_until(lambda: len(slow.seen) == len(_NODES) and _kept(sqlite_url) == len(_NODES) + 2 and slow.asked > 0)
    assert not running.done()
    slow.start()
    assert running.result(30) == {"trace": list(_NODES)}
    assert slow.seen == [*_NODES, "disk"]


def test_with_durability_sync_each_superstep_waits(run: Callable[..., Future[Any]], slow: Disk) -> None:
    running = run("sync")
    wait_until(lambda: slow.asked > 0)
    slow.start()
    running.result(30)
    assert slow.seen == [_NODES[0], "disk", *_NODES[1:]]


def test_a_disk_that_fails_fails_the_run(run: Callable[..., Future[Any]], slow: Disk) -> None:
    running = run("async")
    wait_until(lambda: slow.asked > 0)
    slow.fails = True
    slow.start()
    with pytest.raises(bp.Unreachable, match="may get lost"):
        running.result(30)


class Late(BatonpassSaver):
    """Its threads get to what tasks wrote when the put that follows has begun."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        _begun.add(config["configurable"].get("checkpoint_id"))
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        wait_until(lambda: config["configurable"]["checkpoint_id"] in _begun)
        super().put_writes(config, writes, task_id, task_path)


_begun: set[str] = set()


def _noted(_: Noted) -> dict[str, list[str]]:
    return {"trace": ["x"]}


@pytest.mark.parametrize("durability", ["async", "sync"])
def test_writes_that_come_after_their_put_has_begun_go_with_it(
    durability: Durability, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_MOMENT", 30.0)
    with Late.from_url(sqlite_url) as saver:
        monkeypatch.setattr(saver._shared, "put_writes", _alone)
        builder: Any = StateGraph(Noted)
        for before, name in pairwise((START, *_NODES)):
            builder.add_node(name, _noted)
            builder.add_edge(before, name)
        graph = builder.compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "t"}}
        assert len(graph.invoke({"trace": []}, config, durability=durability)["trace"]) == len(_NODES)
        assert _count(saver) == len(_NODES) + 2


@pytest.mark.parametrize("threads", [1, 2])
def test_writes_leave_a_thread_to_the_put(threads: int, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with `max_concurrency` waited, a moment in each superstep, for a put that had no thread left."""
    monkeypatch.setattr(batching, "_MOMENT", 30.0)
    with BatonpassSaver.from_url(sqlite_url) as saver, ThreadPoolExecutor(1) as pool:
        builder: Any = StateGraph(Noted)
        for name in _NODES[:2]:
            builder.add_node(name, _noted)
            builder.add_edge(START, name)
        graph = builder.compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "t"}, "max_concurrency": threads}
        assert pool.submit(graph.invoke, {"trace": []}, config).result(20) == {"trace": ["x", "x"]}


def _alone(*given: Any) -> None:
    raise AssertionError("the writes went alone")

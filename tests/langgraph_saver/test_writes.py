"""Pending writes: their order, which of two stays, and that they are kept once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.record.compact import (
    large_id,
    large_time,
    large_version,
    read_name,
    small_id,
    small_time,
    small_version,
    write_name,
)
from batonpass.adapters.langgraph.record.pending_writes import PackedWrite
from batonpass.adapters.langgraph.saver import batching
from batonpass.adapters.langgraph.saver.batching import Batch, Batching
from batonpass.coordinator.coded.codec import Codec
from batonpass.coordinator.commands import Find
from batonpass.coordinator.parts.body import Body

pytestmark = pytest.mark.capability("langgraph")


@pytest.fixture
def put(saver: BatonpassSaver, thread: str) -> Any:
    """The config of a checkpoint."""
    return saver.put({"configurable": {"thread_id": thread, "checkpoint_ns": ""}}, empty_checkpoint(), {}, {})


def pending(saver: BatonpassSaver, config: Any) -> Any:
    found = saver.get_tuple(config)
    assert found is not None
    return found.pending_writes


def test_they_come_in_the_order_in_which_they_are_applied(saver: BatonpassSaver, put: Any) -> None:
    """By path, then task, then index as a number: LangGraph 4.3's contract."""
    saver.put_writes(put, [("c", number) for number in range(12)], "z", "path a")
    saver.put_writes(put, [("c", "b")], "a", "path b")
    saver.put_writes(put, [("c", "none")], "m")
    saver.put_writes(put, [("c", "y")], "y", "path a")
    assert pending(saver, put) == [
        ("m", "c", "none"), ("y", "c", "y"), *(("z", "c", number) for number in range(12)), ("a", "c", "b")
    ]  # fmt: skip


def test_the_first_output_stays_and_the_last_of_what_is_special(saver: BatonpassSaver, put: Any) -> None:
    for number in (1, 2):
        saver.put_writes(put, [("c", number), (INTERRUPT, number), (RESUME, number)], "task")
    saver.put_writes(put, [(RESUME, 3), (RESUME, 4)], "task")
    assert sorted(pending(saver, put), key=str) == [
        ("task", INTERRUPT, 2), ("task", RESUME, 4), ("task", "c", 1)
    ]  # fmt: skip


def test_they_may_come_before_their_checkpoint(saver: BatonpassSaver, thread: str) -> None:
    checkpoint = empty_checkpoint()
    names = {"thread_id": thread, "checkpoint_ns": ""}
    saver.put_writes({"configurable": {**names, "checkpoint_id": checkpoint["id"]}}, [("c", 1)], "task")
    assert saver.get_tuple({"configurable": names}) is None
    saver.put({"configurable": names}, checkpoint, {}, {})
    assert pending(saver, {"configurable": names}) == [("task", "c", 1)]


@pytest.mark.parametrize("side", ["sync", "async"])
def test_with_the_put_that_follows_they_are_one_commit_and_kept_once(
    side: str, saver: BatonpassSaver, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saver._shared, "put_writes", _alone)
    monkeypatch.setattr(batching, "_MOMENT", 30.0)  # seconds: a busy machine may take its time between the two
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    before: Any = config
    held: list[Any] = [AIMessage("a long beginning " * 2000, id="0")]
    for number in range(4):
        checkpoint: Any = {**empty_checkpoint(), "id": str(uuid6()), "channel_values": {"m": held}}
        if number == 0:
            config = saver.put(config, checkpoint, {}, {})
        elif side == "sync":
            with ThreadPoolExecutor() as pool:
                noted = pool.submit(saver.put_writes, config, [("m", [held[-1]]), ("n", held[-1])], "task")
                while not saver._shared.batching._batches and not noted.done():
                    pass
                before, config = config, saver.put(config, checkpoint, {}, {})
                noted.result()
        else:

            async def both(given: Any = config, made: Any = checkpoint, last: Any = held[-1]) -> Any:
                writes = saver.aput_writes(given, [("m", [last]), ("n", last)], "task")
                return (await asyncio.gather(writes, saver.aput(given, made, {}, {})))[1]

            before, config = config, asyncio.run(both())
        held = [*held, AIMessage("a long answer " * 40, id=str(number))]
    assert pending(saver, before) == [("task", "m", [held[-2]]), ("task", "n", held[-2])]
    row = saver._shared.handles.store().call(Find(thread, "", before["configurable"]["checkpoint_id"]))
    assert row is not None
    assert [bool(write.spans) for write in row.writes] == [True, True]
    assert max(len(write.data) for write in row.writes) < 100


@pytest.mark.parametrize("codec", [None, Codec(encrypt={"k": b"k" * 32})], ids=["plain", "encrypted"])
def test_an_input_is_kept_once(codec: Codec | None, url: str, thread: str) -> None:
    """In the checkpoint that it made. What its task wrote refers to it. If another checkpoint is put there, that
    counts."""
    text = "a long question " * 20
    names = {"thread_id": thread, "checkpoint_ns": ""}

    def turn(text: str, id_: str, saver: BatonpassSaver) -> Any:
        values = {"__start__": {"text": text, "other": 1}}
        checkpoint: Any = {**empty_checkpoint(), "id": id_, "channel_values": values}
        return saver.put({"configurable": names}, checkpoint, {"source": "input"}, {"__start__": "1"})

    with BatonpassSaver.from_url(url, codec=codec) as saver:
        put = turn(text, first := str(uuid6()), saver)
        saver.put_writes(put, [("text", text), ("other", text)], "task")
        saver.put(put, {**empty_checkpoint(), "id": str(uuid6())}, {}, {})
        row = saver._shared.handles.store().call(Find(thread, "", first))
        assert row is not None
        assert sorted(len(write.data) > 100 for write in row.writes) == [False, True]
        assert pending(saver, put) == [("task", "text", text), ("task", "other", text)]
        turn("another", first, saver)
        assert pending(saver, put) == [("task", "text", "another"), ("task", "other", text)]


def _alone(*given: Any) -> None:
    raise AssertionError("the writes went alone")


NUMBER = f"{5:032}"
VERSIONS: list[Any] = [
    *(1, 2.5, "", "x", "1", f"{NUMBER}.0.1234567890123456", f"{NUMBER}.0.5", f"{NUMBER}.00000000000000.5"),
    *(f"{NUMBER}.nan", f"{NUMBER}.1e5", f"{NUMBER}.0.10", f"{10**32}.0.5", "\u0663" * 32 + ".0.5", f"-{1:031}.0.5"),
    *(f"{NUMBER}.", NUMBER),
]
TIMES = [
    *("", "x", "2026-11-21T11:23:00.123456+00:00", "2026-11-21T11:23:00+00:00", "2026-11-21", "2026-11-21T11:23:00"),
    *("2026-11-21T11:23:00+02:00", "0001-01-01T00:00:00+00:00"),
]
IDS = [
    *("", "x", "1f1e5a1b-7429-67e8-83e7-2bbadb5dc3f6", "1F1E5A1B-7429-67E8-83E7-2BBADB5DC3F6"),
    *("1f1e5a1b742967e883e72bbadb5dc3f6", "a b", "a=b", "=", " "),
]


@pytest.mark.parametrize("version", VERSIONS, ids=repr)
def test_versions_come_back(version: Any) -> None:
    assert large_version(small_version(version)) == version


@pytest.mark.parametrize("text", TIMES)
def test_times_come_back(text: str) -> None:
    assert large_time(small_time(text)) == text


@pytest.mark.parametrize("text", IDS)
def test_ids_come_back(text: str) -> None:
    assert large_id(small_id(text)) == text
    for index in (-4, 0, 12):
        assert read_name(write_name(index, text)) == (index, text)


def test_only_so_many_bytes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest, for the puts that follow them. Most threads that wait for an answer go on elsewhere, or never."""
    monkeypatch.setattr(batching, "_BYTES", 250)
    some = Batching()
    for number in range(4):
        write = PackedWrite("a0", "", "c", wrapped=False, body=Body("v", 1, b"x" * 100, 0))
        batch = Batch((f"t{number}", "", "c"), [write, write])
        with some.leaving(batch):
            pass
    assert [len(some.take((f"t{number}", "", "c"))[1]) for number in range(4)] == [0, 0, 1, 1]
    assert some._bytes == 0


def test_a_moment_is_longer_where_many_runs_wait() -> None:
    """Or threads that wait for the interpreter would be taken for some that do not come."""
    some = Batching()
    alone = some.moment
    waiting = [some.add((f"t{number}", "", "c"), []) for number in range(4) for _ in range(2)]
    assert some.moment == 4 * alone
    for batch in waiting:
        some.withdraw(batch)
    assert some.moment == alone

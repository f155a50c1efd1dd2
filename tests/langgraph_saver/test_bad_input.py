"""What a saver says to what it can't do."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver, BatonpassStore
from tests.harness.redis import RedisServer

from .graphs import Runner, chat, say

pytestmark = pytest.mark.capability("langgraph")


@pytest.mark.parametrize(
    "config", [{}, {"configurable": {}}, {"configurable": {"thread_id": ""}}, {"configurable": {"thread_id": None}}]
)
def test_a_config_without_a_thread(config: Any, saver: BatonpassSaver) -> None:
    for call in (
        saver.get_tuple,
        lambda given: saver.put_writes(given, [], "t"),
        lambda given: list(saver.list(given or {"configurable": {}})),
    ):
        with pytest.raises(bp.BadSetup, match="thread_id"):
            call(config)
    with pytest.raises(bp.BadSetup, match="thread_id"):
        asyncio.run(saver.aget_tuple(config))


@pytest.mark.parametrize("config", ["text", 7, ["thread_id"], {"configurable": None}, {"configurable": "text"}])
def test_what_is_no_config(config: Any, saver: BatonpassSaver, thread: str) -> None:
    named: Any = {"configurable": {"thread_id": thread}}
    for call in (
        lambda: saver.get_tuple(config),
        lambda: asyncio.run(saver.aget_tuple(config)),
        lambda: saver.put_writes(config, [], "t"),
        lambda: saver.put(config, empty_checkpoint(), {}, {}),
        lambda: list(saver.list(config)),
        lambda: list(saver.list(named, before=config)),
        lambda: saver.get_delta_channel_history(config=config, channels=[]),
    ):
        with pytest.raises(bp.BadSetup, match=r"does not name a thread: give a config like .*thread_id"):
            call()


@pytest.mark.parametrize("kind", [BatonpassSaver, BatonpassStore])
def test_an_address_in_place_of_a_store(kind: Any) -> None:
    with pytest.raises(bp.BadSetup, match=r"a text is not a store: .* use .from_url") as refused:
        kind("redis://:secret@localhost")
    assert "secret" not in str(refused.value)


def test_what_is_not_there_is_none(saver: BatonpassSaver, thread: str) -> None:
    names = {"thread_id": thread}
    assert saver.get_tuple({"configurable": names}) is None
    assert saver.get_tuple({"configurable": {**names, "checkpoint_id": "of somebody else"}}) is None
    Runner(chat(saver), thread, "sync").run(say("hello"))
    assert saver.get_tuple({"configurable": {**names, "checkpoint_id": "of somebody else"}}) is None
    assert saver.get_tuple({"configurable": {**names, "checkpoint_ns": "none"}}) is None
    saver.delete_thread("never was")
    saver.prune(["never was"])
    saver.delete_for_runs(["never was"])


def test_a_thread_that_is_no_text_of_ours(saver: BatonpassSaver) -> None:
    with pytest.raises(bp.BadSetup, match="half of a character"):
        saver.get_tuple({"configurable": {"thread_id": "\ud800"}})
    runner = Runner(chat(saver), 7, "sync")  # type: ignore[arg-type]
    runner.run(say("hello"))
    assert Runner(chat(saver), "7", "sync").state().values["turns"] == 1


def test_one_id_in_place_of_several(saver: BatonpassSaver, thread: str) -> None:
    one: Any = thread
    calls: list[Callable[[], object]] = [
        lambda: saver.prune(one),
        lambda: asyncio.run(saver.aprune(one, strategy="delete")),
        lambda: saver.delete_for_runs(one),
        lambda: asyncio.run(saver.adelete_for_runs(one)),
    ]
    for call in calls:
        with pytest.raises(bp.BadSetup, match=rf"_ids='{thread}', but it must be a list: .* give \['{thread}'\]"):
            call()


def test_no_thread_is_pruned_where_one_of_them_is_none(saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(chat(saver), thread, "sync")
    runner.run(say("hello"))
    with pytest.raises(bp.BadSetup, match="needs a thread"):
        saver.prune([thread, ""], strategy="delete")
    assert runner.history()


def test_bad_options() -> None:
    with pytest.raises(bp.BadSetup, match="on_conflict"):
        BatonpassSaver.from_url("memory://", on_conflict="ignore")  # type: ignore[arg-type]
    with pytest.raises(bp.BadSetup, match="ttl"):
        BatonpassSaver.from_url("memory://", ttl=-1)
    with pytest.raises(bp.BadSetup, match="postgres"):
        BatonpassSaver.from_url("postgres://x")


@pytest.mark.parametrize("table", ["checkpoint", "write"])
def test_what_is_damaged_is_named_and_hides_nothing(
    table: str, sqlite_url: str, thread: str, caplog: pytest.LogCaptureFixture
) -> None:
    with BatonpassSaver.from_url(sqlite_url) as saver:
        runner = Runner(chat(saver), thread, "sync")
        for text in ("one", "two"):
            runner.run(say(text))
        whole = list(saver.list(runner.config))
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as db, db:
            if table == "checkpoint":
                db.execute("UPDATE checkpoint SET native = CAST(native || x'00' AS BLOB) WHERE step_index = 5")
            else:
                db.execute(
                    "UPDATE write SET data = CAST(data || x'00' AS BLOB) WHERE place = (SELECT max(place) FROM write)"
                )
        damaged = 0 if table == "checkpoint" else 1
        saver._shared.renew()
        with pytest.raises(bp.Corrupted, match="not what was saved"):
            saver.get_tuple(whole[damaged].config)
        with caplog.at_level(logging.WARNING):
            left = list(saver.list(runner.config))
        assert [each.checkpoint["id"] for each in left] == [
            each.checkpoint["id"] for number, each in enumerate(whole) if number != damaged
        ]
        assert "left out of a list" in caplog.text
        assert saver.get_tuple(whole[3].config) is not None


def test_a_store_that_goes_away_in_a_run_says_what_is_safe(own_redis: RedisServer, thread: str) -> None:
    saver = BatonpassSaver.from_url(own_redis.url)
    runner = Runner(chat(saver), thread, "sync")
    runner.run(say("one"))
    own_redis.kill()
    with pytest.raises(bp.Unavailable, match="no Redis at"):
        runner.run(say("two"))
    own_redis.start()
    runner.run(say("two"))
    assert runner.state().values["turns"] >= 1
    saver.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_what_has_a_ttl_goes(kind: str, tmp_path: Any, thread: str) -> None:
    from tests.harness.stores import MemoryHarness, SqliteHarness

    harness = MemoryHarness() if kind == "memory" else SqliteHarness(tmp_path / "store.db")
    with BatonpassSaver(harness.store(), ttl=60) as saver:
        runner = Runner(chat(saver), thread, "sync")
        runner.run(say("hello"))
        assert runner.state().values
        harness.clock.advance(61_000)
        assert not runner.state().values
        assert runner.history() == []

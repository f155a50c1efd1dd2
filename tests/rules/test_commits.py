"""Rule 2: an operation happens as a whole or not at all, whatever fails in its middle."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis import scripts
from tests.harness.bench import Bench, new_checkpoint
from tests.harness.redis import RedisServer
from tests.harness.scripts import failing, watched, with_clock
from tests.harness.stores import Harness, RedisHarness, SqliteHarness, dumps
from tests.rules.redis_types import READS, TYPES
from tests.rules.scenes import ENDING, GROWING, REFUSALS, SCENES, Scene

each_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())


@pytest.fixture
def harness(redis_server: str) -> Iterator[RedisHarness]:
    made = RedisHarness(redis_server)
    yield made
    made.close()


def asked(harness: RedisHarness) -> list[tuple[str, str]]:
    """What the watched script asked the server for: command and key, the key without the prefix."""
    prefix = harness.prefix_with("log")
    entries: Any = harness.server.lrange(f"{prefix}log", 0, -1)
    harness.server.delete(f"{prefix}log")
    found = [entry.decode().split(" ") for entry in entries]
    return [(command, key.removeprefix(prefix)) for command, key in found]


def with_scripts(harness: RedisHarness, bench: Bench, wrapped: Any, command: c.Command[Any]) -> None:
    """Carry a command out with changed scripts."""
    harness.scripts = wrapped
    try:
        with bench.beside() as other:
            other.do(command)
    finally:
        harness.scripts = with_clock


@each_scene
def test_redis_when_a_call_fails(harness: RedisHarness, scene: Scene) -> None:
    """Each call of the script in turn, up to the first that writes. Those after it can't fail."""
    with Bench(harness, side="sync") as bench:
        command = scene(bench)
        for at in count(1):
            with bench.refused(bp.Unavailable, "PLANTED"):
                with_scripts(harness, bench, failing(at), command)
            if asked(harness)[-1][0] not in READS:
                break
        with_scripts(harness, bench, watched, command)
        calls = asked(harness)
        families = key_families()
        for name, key in calls:
            assert TYPES[name] in ("", families.get(re.sub(r"^(..?:).*", r"\1", key), "")), (name, key)
        flags = harness.server.execute_command("COMMAND INFO", next(name for name, _ in calls if name not in READS))
        may_be_refused = "denyoom" in str(flags)
        assert may_be_refused == (scene in GROWING.values())


def key_families() -> dict[str, str]:
    """The keys that base.lua declares, with their types."""
    header = Path(scripts.__file__).with_name("lua") / "lib" / "base.lua"
    declared = re.findall(r"(?:--|  ) {2,}(\S{1,2}:|\w+)(?:<[^>]+>)? +(hash|list|zset|stream)", header.read_text())
    assert len(declared) >= 14
    return dict(declared)


@pytest.mark.parametrize("scene", REFUSALS.values(), ids=REFUSALS.keys())
def test_redis_refuses_before_it_writes(harness: RedisHarness, scene: Scene) -> None:
    with Bench(harness, side="sync") as bench:
        command = scene(bench)
        with bench.refused(bp.BatonpassError):
            with_scripts(harness, bench, watched, command)
        assert {name for name, _ in asked(harness)} <= READS


def test_redis_without_memory(own_redis: RedisServer) -> None:
    """What grows is refused, and nothing has changed. What ends something works, and then there is room again."""
    with ExitStack() as stack, own_redis.client() as server:
        # Each looks at its own keys alone.
        harnesses = {name: stack.enter_context(closing(RedisHarness(own_redis.url))) for name in SCENES}
        benches = {name: stack.enter_context(Bench(harness, side="sync")) for name, harness in harnesses.items()}
        commands = {name: scene(benches[name]) for name, scene in SCENES.items()}
        server.config_set("maxmemory", 1)
        before = dumps(server, harnesses)
        for name in GROWING:
            with pytest.raises(bp.Overloaded, match="nothing was written"):
                benches[name].do(commands[name])
        for name in ENDING:
            benches[name].do(commands[name])
        kept = dumps(server, harnesses)
        assert {name for name in kept if kept[name] != before[name]} == set(ENDING)
        server.config_set("maxmemory", 0)
        for name in GROWING:
            benches[name].do(commands[name])


def test_redis_for_a_user_who_may_not_publish(own_redis: RedisServer) -> None:
    """Without the wake-up an event is late, not half a commit."""
    with own_redis.client() as server:
        server.execute_command("ACL SETUSER", "limited", "on", ">secret", "~bp:*", "resetchannels", "&bp:*", "+@all")
    harness = RedisHarness(own_redis.url.replace("://", "://limited:secret@"))
    with Bench(harness, side="sync") as bench, own_redis.client() as server:
        server.execute_command("ACL SETUSER", "limited", "resetchannels")
        fence = bench.start()
        bench.do(c.Complete(fence, b"result", new_checkpoint()))
        assert bench.state(fence.job_id) == ("completed", "")
    harness.close()


@each_scene
def test_sqlite_when_it_is_interrupted(tmp_path: Path, scene: Scene) -> None:
    """At every few steps that SQLite takes for the transaction, its end included, until it has run through."""
    harness: Harness = SqliteHarness(tmp_path / "store.db")
    with Bench(harness, side="sync") as bench, closing(sqlite3.connect(tmp_path / "store.db")) as beside:
        command = scene(bench)
        before = harness.dump()
        untouched = commits(beside)
        connection = bench.store._writing._connection  # type: ignore[attr-defined]
        interruptions = 0
        while True:
            interrupt(connection, interruptions)
            try:
                bench.do(command)
                break
            except bp.Unreachable:
                connection.set_progress_handler(None, 0)
                if commits(beside) != untouched:
                    # SQLite asks a last time when the commit is done. Then it is there, and a repetition finds it.
                    left = harness.dump()
                    assert left != before
                    bench.do(command)
                    assert harness.dump() == left
                    break
                interruptions += 1
        connection.set_progress_handler(None, 0)
        assert interruptions > 3
        assert harness.dump() != before


def commits(beside: sqlite3.Connection) -> int:
    """A number that changes with every commit of another connection."""
    number: int = beside.execute("PRAGMA data_version").fetchone()[0]
    return number


def interrupt(connection: sqlite3.Connection, after: int) -> None:
    """Interrupt the connection once, after so many times seven of its virtual machine's steps."""
    steps = count()
    connection.set_progress_handler(lambda: next(steps) == after, 7)

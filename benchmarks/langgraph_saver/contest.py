"""Contest: the savers that are compared, and the times that they took in turns."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from batonpass.adapters.langgraph import BatonpassSaver
from benchmarks.langgraph_saver.bare import BareRedis, BareSqlite
from benchmarks.places import Places
from benchmarks.timing import Comparison, Effort

Savers = Mapping[str, BaseCheckpointSaver[Any]]

IN_MEMORY = "InMemorySaver"
ASYNC_SQLITE = "AsyncSqliteSaver"
SQLITE = "SqliteSaver"
ASYNC_POSTGRES = "AsyncPostgresSaver"
BARE_REDIS = "a bare SET on Redis"
BARE_SQLITE = "a bare INSERT on SQLite"
OURS_MEMORY = "ours in memory"
OURS_SQLITE = "ours on SQLite"
OURS_REDIS = "ours on Redis"
OURS = (OURS_MEMORY, OURS_SQLITE, OURS_REDIS)
# What keeping things there costs at the least, measured in the same run.
FLOORS = {OURS_SQLITE: BARE_SQLITE, OURS_REDIS: BARE_REDIS}


@dataclass(frozen=True)
class Contest:
    """Where it is held, with how much effort, and the URL of a Postgres database, if there is one."""

    places: Places
    effort: Effort
    postgres: str = ""

    @asynccontextmanager
    async def savers(self) -> AsyncGenerator[Savers]:
        """All that have an async side, each on a store of its own."""
        async with AsyncExitStack() as stack:
            theirs = AsyncSqliteSaver.from_conn_string(str(self.places.sqlite_file("theirs")))
            found: dict[str, BaseCheckpointSaver[Any]] = {
                IN_MEMORY: InMemorySaver(),
                ASYNC_SQLITE: await stack.enter_async_context(theirs),
            }
            if self.postgres:
                saver = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(self.postgres))
                await saver.setup()
                found[ASYNC_POSTGRES] = saver
            for name, url, namespace in self._ours():
                ours = BatonpassSaver.from_url(url, namespace=namespace)
                found[name] = await stack.enter_async_context(ours)
            yield found

    @contextmanager
    def sync_savers(self) -> Generator[Savers]:
        """All that have a sync side, each on a store of its own."""
        with ExitStack() as stack:
            theirs = SqliteSaver.from_conn_string(str(self.places.sqlite_file("theirs")))
            found: dict[str, BaseCheckpointSaver[Any]] = {
                IN_MEMORY: InMemorySaver(),
                SQLITE: stack.enter_context(theirs),
            }
            for name, url, namespace in self._ours():
                found[name] = stack.enter_context(BatonpassSaver.from_url(url, namespace=namespace))
            yield found

    @asynccontextmanager
    async def bare(self) -> AsyncGenerator[Savers]:
        """What any saver on a server or a disk adds to InMemorySaver, at the least."""
        async with (
            aclosing(BareRedis(self.places.redis_url, self.places.namespace())) as on_redis,
            aclosing(BareSqlite(self.places.sqlite_file("bare"))) as on_sqlite,
        ):
            yield {BARE_REDIS: on_redis, BARE_SQLITE: on_sqlite}

    @contextmanager
    def sync_bare(self) -> Generator[Savers]:
        """`bare` for sync code."""
        with (
            closing(BareRedis(self.places.redis_url, self.places.namespace())) as on_redis,
            closing(BareSqlite(self.places.sqlite_file("bare"))) as on_sqlite,
        ):
            yield {BARE_REDIS: on_redis, BARE_SQLITE: on_sqlite}

    def sqlite_url(self) -> tuple[str, Path]:
        """A new file of ours: its URL and itself."""
        path = self.places.sqlite_file("ours")
        return f"sqlite:///{path}", path

    def _ours(self) -> list[tuple[str, str, str | None]]:
        """Name, URL and namespace of each of our stores."""
        return [
            (OURS_MEMORY, "memory://", None),
            (OURS_SQLITE, self.sqlite_url()[0], None),
            (OURS_REDIS, self.places.redis_url, self.places.namespace()),
        ]


@dataclass
class Times:
    """The seconds that each took for each call, by rounds. Calls of one turn are made one after the other."""

    rounds: list[dict[str, list[float]]] = field(default_factory=list[dict[str, list[float]]])
    _chance: random.Random = field(default_factory=lambda: random.Random(7))

    def begin_round(self) -> None:
        """What is noted from now on is of a new round."""
        self.rounds.append({})

    def turn(self, names: Mapping[str, object]) -> list[str]:
        """The names in an order that is another each time."""
        return self._chance.sample(sorted(names), len(names))

    def note(self, name: str, seconds: float) -> None:
        """One call has taken so long."""
        self.rounds[-1].setdefault(name, []).append(seconds)

    def compare(self, ours: str, floor: str) -> Comparison:
        """One beside another, round by round."""
        comparison = Comparison()
        for each in self.rounds:
            comparison.add_round(each[ours], each[floor])
        return comparison

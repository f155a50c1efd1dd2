"""Following the events while connections break, servers restart and many write: none is left out, none comes twice."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.calls import Call
from batonpass.coordinator.calls.events import Patience, Reader
from batonpass.coordinator.store import Store
from batonpass.coordinator.urls import open_store
from tests.harness.bench import new_checkpoint, new_job
from tests.harness.cluster import Cluster
from tests.harness.namespaces import namespaces
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until

pytestmark = [
    pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore"),
    pytest.mark.timeout(90),
]


class Following:
    """A thread that follows all events of a store, from either side."""

    def __init__(self, url: str, side: str) -> None:
        self.found: list[bp.Event] = []
        self.errors: list[Exception] = []
        self._url, self._side = url, side
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Following:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with bp.connect(self._url) as coordinator:
            coordinator.save(thread="end", agent="end", state=1)  # whoever waits sees that it is over
        self._thread.join()

    def _run(self) -> None:
        try:
            self._sync() if self._side == "sync" else asyncio.run(self._async())
        except Exception as error:
            self.errors.append(error)

    def _sync(self) -> None:
        with bp.connect(self._url) as coordinator:
            for event in coordinator.events(follow=True):
                if self._stop.is_set():
                    return
                self.found.append(event)

    async def _async(self) -> None:
        async with bp.connect(self._url) as coordinator:
            events: Any = coordinator.events(follow=True)
            async for event in events:
                if self._stop.is_set():
                    await events.aclose()
                    return
                self.found.append(event)


@contextmanager
def writers(url: str, number: int) -> Iterator[list[int]]:
    """Threads that each save to a thread of theirs and submit jobs, as fast as they can, while the block runs."""
    written, stop = [0] * number, threading.Event()

    def write(mine: int) -> None:
        store = open_store(url)
        store.open()
        while not stop.is_set():
            saved = c.Save(f"thread {mine}", new_checkpoint(written[mine], thread=f"thread {mine}"))
            for command in (saved, new_job()):
                patiently(store, command, stop)
            written[mine] += 1
        store.close()

    threads = [threading.Thread(target=write, args=(mine,), daemon=True) for mine in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield written
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def wait_for(written: list[int], enough: int) -> None:
    wait_until(lambda: sum(written) > enough)


def patiently(store: Store, command: Any, stop: threading.Event) -> None:
    """Repeat it until it is acknowledged. When the test is over, try once."""
    while True:
        try:
            store.call(command)
            return
        except bp.Unavailable:
            assert not stop.is_set()


def check(url: str, follower: Following, written: list[int]) -> None:
    """All came that there are, in order within each thread, as often as they were written."""
    with bp.connect(url) as coordinator:
        kept = list(coordinator.events())
    wait_until(lambda: len(follower.found) >= len(kept) or follower.errors, what="events were left out")
    assert not follower.errors
    assert len({event.id for event in follower.found}) == len(follower.found) == len(kept)
    for subject in {event.subject for event in kept}:
        assert ids(follower.found, subject) == ids(kept, subject)
    for mine, number in enumerate(written):
        assert len(ids(kept, f"thread {mine}")) == number


def ids(events: list[bp.Event], subject: str) -> list[str]:
    return [event.id for event in events if event.subject == subject]


@pytest.mark.parametrize("side", ["sync", "async"])
def test_the_server_restarts(own_redis: RedisServer, side: str, caplog: pytest.LogCaptureFixture) -> None:
    """Once at once, once after the client has given it up."""
    url = own_redis.url
    with Following(url, side) as follower:
        with writers(url, 3) as written:
            for given_up in (False, True):
                wait_for(written, sum(written) + 60)
                own_redis.kill()
                if given_up:
                    wait_until(lambda: follower.errors or "events are late" in caplog.text)
                own_redis.start()
            wait_for(written, 200)
        check(url, follower, written)
        assert follower.found == sorted(follower.found, key=lambda event: [int(part) for part in event.id.split("-")])


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_busy_store_is_asked_seldom(redis_url: str, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    page = Reader.page

    def counted(reader: Reader) -> Call[list[bp.Event]]:
        looks.append(time.monotonic())
        return page(reader)

    monkeypatch.setattr(Reader, "page", counted)
    with Following(redis_url, side) as follower:
        with writers(redis_url, 1) as written:
            wait_for(written, 500)
        taken, number = looks[-1] - looks[0], len(looks)
        check(redis_url, follower, written)
    assert number < 100 + taken * 100, "50 looks a second"


@pytest.fixture(scope="module", params=["redis", "cluster"])
def long_ago(request: pytest.FixtureRequest) -> Iterator[tuple[str, bp.Event, bp.Event]]:
    """A store with many events, and its last two: of a job, and of a thread."""
    client: Any
    if request.param == "redis":
        url = request.getfixturevalue("redis_server")
        client = redis.Redis.from_url(url)
    else:
        nodes = request.getfixturevalue("three_nodes")
        url, client = nodes.url, nodes.client()
    with client, namespaces(url, client) as namespace, bp.connect(made := namespace()) as coordinator:
        for _ in range(1200):
            coordinator.store.call(new_job())
        coordinator.save(thread="last", agent="a", state=1)
        *_, job, last = coordinator.events()
        yield made, job, last


@pytest.mark.parametrize("only", ["all", "a job", "a type"])
@pytest.mark.parametrize("side", ["sync", "async"])
async def test_who_comes_from_far_behind_does_not_rest(
    long_ago: tuple[str, bp.Event, bp.Event], side: str, only: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where few of the events are wanted, so that no page is full, and where each partition gives its share."""
    url, job, last = long_ago
    wanted: Any = {"all": {}, "a job": {"job": job.subject}, "a type": {"types": "checkpoint.*"}}[only]
    end, rests = job if only == "a job" else last, list[Patience]()

    def rest(patience: Patience) -> float:
        rests.append(patience)
        return 0.0

    monkeypatch.setattr(Patience, "rest", rest)
    if side == "sync":
        with bp.connect(url) as coordinator:
            assert any(event.id == end.id for event in coordinator.events(follow=True, **wanted))
    else:
        async with bp.connect(url) as another:
            events: Any = another.events(follow=True, **wanted)
            async for event in events:
                if event.id == end.id:
                    break
            await events.aclose()
    assert len(rests) <= 1, "it may rest before the last of several partitions"


@pytest.mark.parametrize("side", ["sync", "async"])
def test_connections_of_a_cluster_are_killed(three_nodes: Cluster, cluster_place: Callable[[], str], side: str) -> None:
    """Of those who wait as well as of those who ask; jobs in all partitions."""
    url = cluster_place()

    def kill() -> None:
        for node in three_nodes.nodes:
            node.ask("CLIENT", "KILL", "TYPE", "normal")
            node.ask("CLIENT", "KILL", "TYPE", "pubsub")

    with Following(url, side) as follower:
        with writers(url, 3) as written:
            for round_ in range(20):
                wait_for(written, 3 * round_)
                kill()
        check(url, follower, written)


@pytest.mark.parametrize("lost", [True, False], ids=["writes lost", "nothing lost"])
def test_a_replica_whose_clock_is_behind_takes_over(redis_server: str, lost: bool) -> None:
    """Its events come after those that a follower has seen, although they are from an earlier time. If what the
    follower saw last is lost, it is told so. So is one that comes back with an old cursor."""
    url = f"{redis_server}?namespace=behind-{lost}"
    with bp.connect(url) as coordinator, bp.connect(url) as other, redis.Redis.from_url(redis_server) as connection:
        server: Any = connection
        coordinator.save(thread="t", agent="a", state=1)
        key = next(server.scan_iter(match=f"*behind-{lost}*:events", count=1000))
        replicated = server.dump(key)
        ahead = int(server.time()[0]) * 1000 + 60_000
        server.xadd(key, {"type": "ahead", "subject": "t"}, id=f"{ahead}-5")
        seen = list(coordinator.events())
        assert seen[-1].type == "ahead"
        follower = coordinator.events(after=seen[0].cursor, follow=True)
        assert next(follower).type == "ahead"
        if lost:
            server.restore(key, 0, replicated, replace=True)
            early = other.save(thread="t", agent="a", state="early")
            with bp.connect(url) as later, pytest.raises(bp.Rewound, match="is not in the store") as told:
                next(later.events(after=seen[-1].cursor))
            with bp.connect(url) as later:
                again = list(later.events(after=told.value.first_available))
                assert [event.data["checkpoint"] for event in again] == [seen[0].data["checkpoint"], early.id]
            assert next(follower).data["checkpoint"] == early.id
            assert next(follower).type == "batonpass.store.rewound"
        for number in range(3):
            made = other.save(thread="t", agent="a", state=number)
            assert next(follower).data["checkpoint"] == made.id


@pytest.mark.parametrize("which", [{}, {"types": "checkpoint.*"}, {"thread": "t"}], ids=["all", "a type", "a thread"])
def test_what_it_writes_before_that_is_noticed_is_not_missed(redis_server: str, which: dict[str, Any]) -> None:
    """Its events have positions before the last one that a follower saw, even a position that another event had."""
    url = f"{redis_server}?namespace=early-{len(which)}-{secrets.token_hex(3)}"
    with bp.connect(url) as coordinator, redis.Redis.from_url(redis_server) as connection:
        server: Any = connection
        coordinator.save(thread="t", agent="a", state=1)
        key = next(server.scan_iter(match=f"*{url.partition('=')[2]}*:events", count=1000))
        replicated = server.dump(key)
        ahead = int(server.time()[0]) * 1000 + 60_000

        def written(kind: str, *places: int) -> list[str]:
            event = {"type": f"batonpass.checkpoint.{kind}", "subject": "t"}
            return [server.xadd(key, event, id=f"{ahead + each}-0").decode() for each in places]

        lost = written("lost", 1, 3, 5)
        follower = coordinator.events(follow=True, **which)
        assert [next(follower).id for _ in range(4)][1:] == lost
        server.restore(key, 0, replicated, replace=True)
        early = written("early", 2, 3, 4)
        found = [next(follower) for _ in range(3 if which else 4)]
        assert [event.id for event in found[:3]] == early
        assert [event.type for event in found[3:]] == ["batonpass.store.rewound"][: len(found) - 3]
        made = coordinator.save(thread="t", agent="a", state=2)
        after = next(follower)
        assert after.data["checkpoint"] == made.id
        with pytest.raises(bp.Rewound) as told:  # who kept the cursor of one that came late
            list(coordinator.events(after=found[0].cursor))
        again = coordinator.events(after=told.value.first_available, types="checkpoint.*")
        assert [event.id for event in again][-4:] == [*early, after.id]

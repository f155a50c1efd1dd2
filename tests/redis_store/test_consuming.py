"""Consumers of a group that die, on a server that restarts while others write: every event is done at least once."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest

import batonpass as bp
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until
from tests.redis_store.test_following import wait_for, writers

pytestmark = [
    pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore"),
    pytest.mark.timeout(90),
]


class Consumers:
    """Threads that note what they have done. Each dies after some events, without a word, and another one comes."""

    def __init__(self, url: str, dies_after: int) -> None:
        self.done: list[bp.Event] = []
        self.died = 0
        self._url, self._dies_after = url, dies_after
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(3)]

    def __enter__(self) -> Consumers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with bp.connect(self._url) as coordinator:
            for number in range(20):  # something for each, so that they see that it is over
                coordinator.save(thread=f"end {number}", agent="end", state=1)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        with bp.connect(self._url) as coordinator:
            while not self._stop.is_set():
                consumer = coordinator.consume("g", lease=2.0, batch=7)
                for number, event in enumerate(consumer):
                    if self._stop.is_set():
                        consumer.close()
                        return
                    self.done.append(event)
                    if number == self._dies_after:
                        self.died += 1
                        break  # what it holds comes again when its lease is over


def go_through(url: str, server: RedisServer | None) -> None:
    with Consumers(url, 10) as consumers:
        with writers(url, 2) as written:
            wait_for(written, 30)
            if server:
                server.kill()
                server.start()
            wait_for(written, 60)
        with bp.connect(url) as coordinator:
            kept = {event.id for event in coordinator.events()}
            wait_until(lambda: kept <= {event.id for event in list(consumers.done)}, what="events were left out")
        assert {event.id for event in consumers.done} == kept
        assert consumers.died > 5
        twice = sum(count - 1 for count in Counter(event.id for event in consumers.done).values())
        assert twice <= 7 * (consumers.died + 6)  # at most a batch for each death


def test_consumers_die_and_the_server_restarts(own_redis: RedisServer) -> None:
    go_through(own_redis.url, own_redis)


def test_consumers_of_a_file_die(tmp_path: Path) -> None:
    go_through(f"sqlite:///{tmp_path / 'events.db'}", None)

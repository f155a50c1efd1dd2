"""Handing a job on: the last checkpoint, the end of this delivery and the next one in one commit."""

from __future__ import annotations

import redis

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.outcome import Finished
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import drive
from batonpass.coordinator.snapshots import close_snapshot
from batonpass.workers.outcomes import ending
from benchmarks.agents import Topic, app, pass_on
from benchmarks.holding import held
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.states import states
from benchmarks.timing import Effort, compare


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """Beside a raw SET of the state's bytes."""
    url = places.redis_url
    final = Snapshot(step="last", state=states(1)[0])
    data = close_snapshot(final, thread="run-001", agent="pass").state
    outcome = Finished(bp.Handoff("start", Topic(number=1)), final)
    with bp.connect(url, namespace=places.namespace(), app=app) as coordinator, redis.Redis.from_url(url) as client:
        jobs = [held(coordinator.store, pass_on) for _ in range(effort.calls * (effort.rounds + 1))]
        book = Book(app)

        def hand_off(number: int) -> None:
            session, envelope = jobs[number]
            session.write(drive(coordinator.store, ending(book, pass_on, envelope, session, outcome)))

        comparison = compare(effort, hand_off, lambda n: client.set(f"{places.mark}:{n}", data))
    return [Result.compared("hand off with a 4 KB state, Redis, sync / SET", comparison)]

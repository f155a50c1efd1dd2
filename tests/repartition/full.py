"""A namespace with something of everything in it, made by the model's moves, what its readers are answered, and its
end."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

from batonpass.contracts.names import home, mint, partition_of
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import JobRow
from tests.harness.bench import Bench, fence_of
from tests.harness.stores import RedisHarness
from tests.model.answers import comparable
from tests.model.moves import make
from tests.model.pausing import WEIGHTED
from tests.model.stores import MODEL
from tests.model.world import COPIES, ENDED, FREE, HALF, NAMES, QUEUES, RUNS, STEP, THREADS, Picks, World, of_queue

ALL = 5000


class OfUsers(World):
    """Does what the public face lets users do: all of a job's is in one partition."""

    def ask(self, command: c.Command[Any]) -> Any:
        if isinstance(command, c.Submit) and command.origin and home(command.thread) != partition_of(command.origin):
            command.thread = command.job_id
        elif isinstance(command, c.Redrive) and command.tip:
            command = replace(command, tip="")
        elif isinstance(command, c.Spawn):
            command = replace(command, fan=f"f{command.fence.job_id[1:3]}{command.fan[3:]}")
        return super().ask(command)


def fill(bench: Bench, steps: int, seed: int, **others: Bench) -> World:
    """Make so many moves in a store, and in others that answer the same."""
    world, chance = OfUsers({MODEL: bench, **others}, Counter()), random.Random(seed)
    for _ in range(steps):
        make(chance.choice(WEIGHTED), world, Picks(chance.getrandbits(256)))
        world.rows = bench.do(c.ListJobs(ALL))
    return world


def leave(harness: RedisHarness) -> None:
    """Take the tests' own keys away, and workers whose presence is of the tests' clock."""
    for key in list(harness.server.scan_iter(match=f"bp:{{{harness.own}*", count=1000)):
        if key.endswith(b":clock") or b"}:p:" in key:
            harness.server.delete(key)


def answers(world: World, bench: Bench) -> dict[str, object]:
    """The answers of all commands that read. Jobs and events of several partitions have no order among them."""
    found: dict[str, object] = {}

    def ask(command: c.Command[Any]) -> Any:
        answer = bench.do(command)
        found[repr(command)] = comparable(answer)
        return answer

    for thread in [*THREADS, FREE, *COPIES, *world.jobs]:
        for row in ask(c.Timeline(thread, ALL)):
            ask(c.Restore(row.id))
        for row in ask(c.Timeline(thread, ALL, named=True)):
            assert row.name in NAMES
        ask(c.Export(thread))
        ask(c.Latest(thread))
        for place in [row.place for row in ask(c.Places(thread, None, limit=ALL, whole=True))]:
            ask(c.Find(thread, place.scope, place.key))
            ask(c.Find(thread, place.scope))
        found[f"events of {thread}"] = _told(bench, c.Events(subject=thread, limit=ALL))
        found[f"about {thread}"] = _told(bench, c.Events(limit=ALL, which=c.Which(thread=thread)))
    for command in (c.Threads(ALL), c.Inbox(ALL), c.Declared(), c.Pauses(), c.ListItems(indexed=True), c.ListSpaces()):
        ask(command)
    for run in RUNS:
        ask(c.OfRun(run))
    for row in bench.do(c.ListJobs(ALL)):
        found[row.id] = (comparable(row), comparable(bench.do(c.ReadStream(row.id))))
        if row.fan:
            ask(c.ReadOutcomes(row.id, row.fan))
    found["dead"] = {row.id for row in bench.do(c.ListJobs(ALL, dead=True))}
    found["events"] = sorted(map(repr, _told(bench, c.Events(limit=ALL))))
    found["groups"] = sorted((row.name, row.lag, row.about) for row in bench.do(c.ListGroups()))
    return found


def _told(bench: Bench, command: c.Events) -> list[object]:
    """All pages, without the rows that only say how far was looked."""
    found: list[object] = []
    while rows := bench.do(command):
        found += [comparable(row) for row in rows if row.fields]
        if rows[-1].position == command.after:
            break
        command = replace(command, after=rows[-1].position)
    return found


def end_all(bench: Bench) -> list[JobRow]:
    """Let every job come to its end, under limits; those that did not."""
    limits = {queue: c.Limits(of_queue("0" * 32, queue), concurrency=1) for queue in QUEUES}
    left: list[JobRow] = []
    for paused in bench.do(c.Pauses()):
        bench.do(c.ResumeAgent(paused.agent, tuple(QUEUES)))
    for _ in range(200):
        bench.clock.advance(STEP)
        bench.do(c.Reap(limit=500))
        leases = tuple(mint("l") for _ in range(50))
        for delivery in bench.do(c.Claim("w", tuple((queue, HALF) for queue in QUEUES), leases, limits)):
            bench.do(c.Complete(fence_of(delivery), b"last"))
        left = [row for row in bench.do(c.ListJobs(ALL)) if row.state not in ENDED]
        for row in left:
            if row.state == "input_required":
                bench.do(c.AnswerJob(row.id, b"1", row.asked))
        if not left:
            break
    return left

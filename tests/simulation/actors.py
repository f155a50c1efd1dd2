"""Actors: workers and clients as generators that yield commands and are sent the answers, or yield naps (in ticks).

One that crashes is closed, and never heard of again. One that is paused continues later, with what it believed then.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from batonpass.contracts.errors import BatonpassError, Fenced, Unreachable
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Delivery
from tests.harness.bench import fence_of
from tests.simulation.makers import QUEUES, Makers

Acting = Generator[c.Command[Any] | int, Any, Any]
LEASE_MS = 600
POISON_NAP = 20
LOOK = 12  # ticks that an idle worker sleeps if nothing wakes it


def insist(command: c.Command[Any], random: Random) -> Acting:
    """Repeat a command until there is an answer. In the end, give up, like a process that is killed."""
    for _ in range(5):
        try:
            return (yield command)
        except Unreachable:
            yield random.randrange(1, 4)
    raise Unreachable("gave up")


class Worker:
    """Claims, works step by step, and ends its deliveries in every way there is."""

    def __init__(self, makers: Makers, random: Random, name: str) -> None:
        self._make = makers
        self._random = random
        self.name = name

    def act(self) -> Acting:
        """For ever."""
        while True:
            try:
                yield from self._look()
            except BatonpassError:
                continue  # fenced, or out of patience: on to the next

    def _look(self) -> Acting:
        if self._random.random() < 0.2:
            yield c.Reap(worker=self.name, queues=QUEUES, presence=1_000)
        queues = [(queue, LEASE_MS) for queue in QUEUES]
        self._random.shuffle(queues)
        wanted = self._random.choice([1, 1, 2, 3])
        # After a lost reply other leases are asked for: those that were given run out.
        deliveries: Sequence[Delivery] = yield c.Claim(
            self.name, tuple(queues), tuple(self._make.id("l") for _ in range(wanted))
        )
        if not deliveries:
            yield LOOK
        held = [fence_of(delivery) for delivery in deliveries]
        for delivery in deliveries:
            fence = fence_of(delivery)
            try:
                yield from self._deliver(delivery, held)
            except Fenced:
                held[:] = [each for each in held if each != fence]
                yield from self._excuse(fence)
            except Unreachable:
                if not self._make.is_poison(fence.job_id):
                    yield from self._excuse(fence)
                raise

    def _deliver(self, delivery: Delivery, held: list[c.Fence]) -> Acting:
        """One hop: the steps that are not recorded yet, then its end."""
        fence, thread = fence_of(delivery), delivery.job.thread
        if self._make.is_poison(delivery.job.id):
            yield POISON_NAP
            raise Unreachable("the job killed its worker")
        for number in range(self._random.randrange(4)):
            if (step := f"s{number}") in delivery.journal:
                continue
            if self._random.random() < 0.4:
                yield self._random.randrange(1, 12)  # the work itself
            record = {step: self._make.id("e").encode()}
            if self._random.random() < 0.6:
                new = self._make.checkpoint(thread, ttl=self._random.choice([0, 0, 0, 700]))
                yield from insist(c.Save(thread, new, fence, records=record), self._random)
            else:
                yield from insist(c.Record(fence, record), self._random)
            if self._random.random() < 0.3:
                yield from self._beat(held)
        yield from insist(self._ending(delivery, fence), self._random)

    def _excuse(self, fence: c.Fence) -> Acting:
        """Some have kept trying to renew their leases."""
        if self._random.random() < 0.5:
            with suppress(Fenced):
                yield from insist(c.Release(fence, cut_off=True), self._random)

    def _beat(self, held: list[c.Fence]) -> Acting:
        told = yield c.Heartbeat(tuple((fence, LEASE_MS) for fence in held))
        for fence, answer in zip(list(held), told, strict=True):
            if answer and self._random.random() < 0.7:  # else the agent does not look, and goes on as a zombie
                held.remove(fence)

    def _ending(self, delivery: Delivery, fence: c.Fence) -> c.Command[Any]:
        make, chance = self._make, self._random.random()
        last = make.checkpoint(delivery.job.thread) if self._random.random() < 0.6 else None
        if chance < 0.08 and make.may_spawn:
            return make.spawn(fence, last)
        if chance < 0.35:
            return c.Complete(fence, make.id("r").encode(), last)
        if chance < 0.6 and delivery.job.hop < 5:
            return c.HandOff(fence, make.target(), last)
        if chance < 0.7:
            timeout = self._random.choice([0, 0, 50, 400])
            escalation = self._random.choice(["", "100 lead", "100 lead\n200 boss"])
            return c.Suspend(
                fence,
                b"sure?",
                last,
                timeout=timeout,
                otherwise=self._random.choice([b"", b"maybe"]),
                escalation=escalation,
            )
        if chance < 0.74:
            return c.Sleep(fence, self._random.choice([0, 50, 400]), last)
        if chance < 0.8:
            return c.Fail(fence, "boom", "", retry_in=self._random.choice([0, 50, 400]))
        if chance < 0.9:
            return c.Release(fence, "it died" if chance < 0.85 else "")
        ends = [("failed", "attempts"), ("failed", "unanswered"), ("failed", "children"), ("rejected", "no")]
        state, reason = self._random.choice(ends)
        return c.Fail(fence, "boom", reason, state=state)


class Client:
    """Submits, answers, cancels, and writes to threads that no job runs on."""

    def __init__(self, makers: Makers, random: Random) -> None:
        self._make = makers
        self._random = random

    def act(self) -> Acting:
        """For ever."""
        while True:
            try:
                yield from insist(self._wish(), self._random)
            except BatonpassError:
                continue
            yield self._random.randrange(1, 10)

    def _wish(self) -> c.Command[Any]:
        make, chance = self._make, self._random.random()
        if chance < 0.32:
            return make.submit()
        if chance < 0.5:
            job = make.job("input_required")
            return c.AnswerJob(job, self._random.choice([b"yes", b"no"]), make.asked(job))
        if chance < 0.54:
            return c.Cancel(make.job())
        if chance < 0.56:
            return c.Redrive(make.job("failed"))
        if chance < 0.62:
            return c.Expire(make.known_checkpoint())
        if chance < 0.75:
            thread = self._random.choice(["t0", "t1", "t2"])
            parent = make.known_checkpoint() if self._random.random() < 0.4 else ""
            new = make.checkpoint(thread, ttl=self._random.choice([0, 300]))
            return c.Save(thread, new, parent=parent, branch=self._random.random() < 0.5)
        return make.question()

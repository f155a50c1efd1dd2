"""One seed: some workers and clients, whose every step the seed chooses, and what must be true at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from batonpass.contracts.errors import BatonpassError
from batonpass.coordinator import commands as c
from tests.model.growing import Growing
from tests.simulation.actors import Acting, Client, Worker
from tests.simulation.known import ENDED, Violation
from tests.simulation.ledger import Coverage
from tests.simulation.makers import Makers
from tests.simulation.server import Server

OPERATIONS, WORKERS, CLIENTS, KINDS = 300, (4, 8), 3, 3


@dataclass
class Result:
    """What a seed came to."""

    operations: int
    steps: int
    workers: int
    faults: Counter[str]


class Actor:
    """An actor and when it acts again."""

    def __init__(self, name: str, make: Callable[[str], Acting]) -> None:
        self.name = name
        self.asleep_until = 0
        self._make = make
        self._lives = 0
        self.start()

    def start(self) -> None:
        """A new life: nothing is remembered."""
        self._lives += 1
        self._acting = self._make(f"{self.name}.{self._lives}")
        self._next = next(self._acting)

    def step(self, server: Server) -> None:
        """Say the next command, or fall asleep."""
        if isinstance(self._next, int):
            self.asleep_until = server.tick + self._next
            self._next = self._acting.send(None)
            return
        try:
            answer = server.ask(self._next, f"{self.name}.{self._lives}")
        except BatonpassError as error:
            self._next = self._acting.throw(error)
        else:
            self._next = self._acting.send(answer)


def simulate(seed: int, coverage: Coverage, say: Callable[[str], None] | None = None) -> Result:
    """Run a seed; `Violation` if the store breaks a promise."""
    random = Random(seed)
    growing = Growing()
    server = Server(random, growing, coverage, say)
    makers = Makers(random, growing, lambda: server.ledger)
    workers = [Actor(f"w{n}", lambda name: Worker(makers, random, name).act()) for n in range(random.randint(*WORKERS))]
    clients = [Actor(f"c{n}", lambda name: Client(makers, random).act()) for n in range(CLIENTS)]
    server.woken = lambda: _wake(workers, random)
    _live(server, workers, clients, random)
    result = Result(server.operations, server.tick, len(workers), server.faults.struck)
    _drain(server, workers)
    return result


def _wake(workers: list[Actor], random: Random) -> None:
    """One that sleeps."""
    random.choice(workers).asleep_until = 0


def _live(server: Server, workers: list[Actor], clients: list[Actor], random: Random) -> None:
    actors = [*workers, *clients]
    audited = 0
    while server.operations < OPERATIONS or len(server.faults.struck) < KINDS:
        fault = server.pass_time()
        actor = random.choice(actors)
        if fault == "crash":
            actor.start()
        elif fault == "pause":
            actor.asleep_until = server.tick + random.randrange(20, 120)
        if actor.asleep_until <= server.tick:
            actor.step(server)
        if server.operations >= audited + 100:
            audited = server.operations
            server.audit()
        if server.tick > 100 * OPERATIONS:
            raise Violation("nothing happens any more")


def _drain(server: Server, workers: list[Actor]) -> None:
    """Without faults every job comes to its end, and what is over is freed."""
    server.calm()
    for _ in range(400):
        server.pass_time()
        due = server.carry_out(c.Reap()).next_due
        jobs = server.ledger.jobs
        if server.ledger.ended:
            break
        for job in list(jobs.values()):
            if job.state == "input_required":
                server.carry_out(c.AnswerJob(job.id, b"yes"))
        for worker in workers:
            worker.step(server)
        if due > 0 and not any(job.place == "ready" for job in jobs.values()):
            server.now += due
    else:
        left = [(job.id, job.place) for job in server.ledger.jobs.values() if job.state not in ENDED]
        raise Violation(f"jobs that never end: {left}")
    server.now += 10_000
    if server.carry_out(c.Reap()).next_due != -1:
        raise Violation("every job has ended, and something is due")
    if timed := [id_ for id_, kept in server.ledger.kept.items() if kept[1]]:
        raise Violation(f"checkpoints that are over and still kept: {timed}")
    server.audit()

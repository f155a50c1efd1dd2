"""Chaos: workers of two versions under load, somebody is killed every second, and so is the server now and then.

    python -m tests.storm.chaos --store redis --seconds 600 --kills 1000 --jobs 20000 [--seed 1]

It goes on for that long, and until there were so many kills and jobs.
Afterwards no job is lost, none ended twice, no finished step ran again, every effect has at most one recorded outcome,
and after pruning nothing is left in the store. What happened is told by a log that the agents sync themselves, not by
the store.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import batonpass as bp
from tests.harness.leftovers import leftovers, unowned
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until
from tests.kills.harness import Zygote
from tests.rules.test_acknowledged import ROOT
from tests.sqlite.beside import sound
from tests.storm import wheel
from tests.storm.chaos_app import app
from tests.storm.chaos_judge import Evidence, Verdict, judge
from tests.storm.chaos_load import Load
from tests.storm.chaos_workers import Counts, Crew

WORKERS, LEASE = 3, 1.0
JOBS, KILLS = 20_000 / 600, 1.0  # a second, as long as the workers keep up
_RESTART = 60.0  # every so many seconds


@dataclass(frozen=True)
class Length:
    """How long a run goes on: until all of it is reached."""

    seconds: float
    kills: int = 0
    jobs: int = 0
    restarts: int = 0

    def reached(self, seconds: float, kills: int, jobs: int, restarts: int) -> bool:
        lasted = seconds >= self.seconds
        return lasted and kills >= self.kills and jobs >= self.jobs and restarts >= self.restarts


@dataclass
class Report:
    """What a run consisted of."""

    verdict: Verdict
    evidence: Evidence
    counts: Counts
    restarts: int
    jobs: int
    versions: int
    seconds: float

    @property
    def kills(self) -> int:
        return self.counts.kills

    def __str__(self) -> str:
        verdict, evidence = self.verdict, self.evidence
        letters = ", ".join(f"{number} because {why}" for why, number in verdict.dead.items()) or "none"
        extra = len(evidence.stale) + len(evidence.repeated)
        cut_off = sum(count - 1 for count in evidence.ran.values()) - extra
        return (
            f"{self.kills} kills ({self.counts.workers} workers, {self.counts.children} of their processes), "
            f"{self.restarts} restarts of the server, workers of {self.versions} versions; "
            f"{self.jobs} jobs acknowledged: {verdict.completed} completed, dead letters: {letters}; "
            f"{len(evidence.finished)} steps finished, {len(evidence.repeated)} ran again "
            f"({cut_off} cut off in the middle and run again, {len(evidence.stale)} begun by who had lost its lease); "
            f"{sum(map(len, evidence.paid.values()))} effects happened, "
            f"{sum(map(bool, evidence.recorded.values()))} recorded; "
            f"{evidence.raised} attempts raised, {evidence.hung} hung; {len(verdict.problems)} problems; with 95 % "
            f"confidence a kill does harm in fewer than 1 of {self.kills / 3:.0f} cases; {self.seconds:.0f} s"
        )


def chaos(
    url: str, folder: Path, parents: list[Zygote], *, length: Length, seed: int, server: RedisServer | None = None
) -> Report:
    """The whole of it; the store's end is left to be looked at."""
    choose = random.Random(seed)
    began = time.monotonic()
    crew = Crew(url, folder, parents, choose, LEASE)
    load = Load(url, JOBS)
    try:
        load.start()
        crew.start(WORKERS)
        wait_until(crew.at_work, timeout=60, what="the first worker")
        restarts = _strike(crew, load, server, choose, length)
        load.stop()
        with bp.connect(url, app=app) as coordinator:
            jobs = [coordinator.job(job.id) for job in load.jobs]
            waiting = list(jobs)
            wait_until(lambda: _settled(crew, waiting), timeout=60 + length.seconds / 5, what="jobs that do not end")
        assert crew.versions_at_work == len(parents), "workers of one version have done nothing"
    except AssertionError as error:
        raise AssertionError(f"{error}\n{crew.said()}") from error
    finally:
        try:
            load.stop()
        finally:
            crew.end()
    evidence = Evidence().read(crew.log)
    with bp.connect(url, app=app) as coordinator:
        verdict = judge(evidence, [coordinator.job(job.id) for job in load.jobs])
        verdict.problems += unowned(url)
        coordinator.prune_jobs(older_than=0)
        verdict.problems += leftovers(url)
    return Report(verdict, evidence, crew.counts, restarts, len(load.jobs), len(parents), time.monotonic() - began)


def _strike(crew: Crew, load: Load, server: RedisServer | None, choose: random.Random, length: Length) -> int:
    """Kill somebody every second, and the server at times. Returns how often it killed the server."""
    began = time.monotonic()
    every = min(_RESTART, length.seconds / 2)
    next_restart = every * choose.uniform(0.1, 0.9)
    struck = restarted = 0
    while not length.reached(now := time.monotonic() - began, crew.counts.kills, len(load.jobs), restarted):
        if server and now > next_restart:
            server.kill()
            time.sleep(choose.uniform(0, 0.5))
            server.start()
            restarted += 1
            next_restart = every * (restarted + choose.uniform(0.1, 0.9))
        if now * KILLS > struck + 1:
            crew.strike()
            struck += 1
        crew.look_after()
        time.sleep(0.02)
    return restarted


def _settled(crew: Crew, waiting: list[bp.SyncJob[bp.Contract]]) -> bool:
    crew.look_after()
    while waiting and waiting[-1].info().state.ended:
        waiting.pop()
    return not waiting


@contextmanager
def versions(folder: Path, store: str, other: str | None = None) -> Iterator[list[Zygote]]:
    """The parents of this version's workers, and of those of another commit: the last that changed what is stored."""
    modules = ["tests.storm.chaos_app", "batonpass.cli", "batonpass.workers.process"]
    parents = [Zygote(modules, ROOT)]
    try:
        if commit := other or wheel.commit(store):
            parents.append(Zygote(modules, ROOT, wheel.unpacked(commit, folder)))
        yield parents
    finally:
        for parent in parents:
            parent.close()


def on_sqlite(folder: Path, parents: list[Zygote], length: Length, seed: int) -> Report:
    """On a new file, which is whole afterwards."""
    file = folder / "store.db"
    report = chaos(f"sqlite:///{file}", folder, parents, length=length, seed=seed)
    assert sound(file)
    return report


def on_redis(folder: Path, parents: list[Zygote], length: Length, seed: int) -> Report:
    """On a server of its own, which is killed too."""
    server = RedisServer(folder, "--appendfsync", "always")
    server.start()
    try:
        return chaos(server.url, folder, parents, length=length, seed=seed, server=server)
    finally:
        server.close()


def main() -> None:
    """Run it; what must not be is an error."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm.chaos", description=main.__doc__)
    parser.add_argument("--store", choices=["sqlite", "redis"], required=True)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--kills", type=int, default=0, help="go on until there were so many")
    parser.add_argument("--jobs", type=int, default=0, help="go on until so many were submitted")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--beside", metavar="COMMIT", help="the other version (the last that changed what is stored)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="batonpass-chaos-") as name:
        (older := Path(name) / "older").mkdir()
        (folder := Path(name) / "run").mkdir()
        with versions(older, asked.store, asked.beside) as parents:
            run = on_sqlite if asked.store == "sqlite" else on_redis
            report = run(folder, parents, Length(asked.seconds, asked.kills, asked.jobs), asked.seed)
    sys.stdout.write(f"{asked.store}, seed {asked.seed}: {report}\n")
    sys.exit("\n".join(report.verdict.problems[:20]) or 0)


if __name__ == "__main__":
    main()

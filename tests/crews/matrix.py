"""SIGKILL at every model call, every tool call and every write of crews and flows: all of it, or a sample.

python -m tests.crews.matrix --store sqlite [--agents react native]

Each agent first runs undisturbed. Then, once for each point, its worker is killed there and another one finishes the
job: the same result, nothing finished ran again, no more model calls repeated than were in flight.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from uuid import uuid4

from tests.apps import crewai_app
from tests.crews import app as crewai_steps
from tests.harness.redis import RedisServer
from tests.kills.harness import Run, Zygote
from tests.kills.test_kills import killed, undisturbed
from tests.rules.test_acknowledged import ROOT

AGENTS: dict[str, ModuleType] = {agent: module for module in (crewai_steps, crewai_app) for agent in module.INPUT}
MODULES = [crewai_steps.__name__, crewai_app.__name__]
_AT_ONCE = 6


def kills(
    agent: str, zygote: Zygote, new_url: Callable[[], str], folder: Path, sample: int = 0
) -> tuple[int, list[str]]:
    """How many kills there were (all, or `sample` of them, spread over the run), and what was wrong."""
    module = AGENTS[agent]
    baseline, writes = undisturbed(Run(zygote, new_url(), folder / "calm", module, agent))
    points = [f"in:{label}" for label in baseline]
    points += [f"{when}:{n}" for n in range(1, writes + 1) for when in ("before", "after")]
    if sample:
        points = [points[place * (len(points) - 2) // (sample - 1)] for place in range(sample)]

    def kill_at(point: str) -> str | None:
        run = Run(zygote, new_url(), folder / point.replace(":", "-").replace(" ", "-"), module, agent)
        problem = killed(run, point, baseline)
        return f"{agent}, {point}: {problem}\n{run.output()}" if problem else None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return len(points), [problem for problem in pool.map(kill_at, points) if problem]


def main() -> None:
    """Run the matrix on one store; ends with 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crews.matrix", description=main.__doc__)
    parser.add_argument("--store", choices=["sqlite", "redis"], required=True)
    parser.add_argument("--agents", nargs="*", choices=[*AGENTS], default=[*AGENTS])
    asked = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="batonpass-kills-") as name:
        folder, zygote = Path(name), Zygote(MODULES, ROOT)
        server = RedisServer(folder, "--appendfsync", "no") if asked.store == "redis" else None

        def new_url() -> str:
            return f"{server.url}?namespace={uuid4().hex}" if server else f"sqlite:///{folder / uuid4().hex}.db"

        try:
            if server:
                server.start()
            for agent in asked.agents:
                began = time.monotonic()
                count, problems = kills(agent, zygote, new_url, folder / agent)
                failed |= bool(problems)
                sys.stdout.write(
                    "\n".join([*problems, f"{agent}, {asked.store}: {count} kills, {len(problems)} problems, "])
                    + f"{time.monotonic() - began:.0f} s\n"
                )
                sys.stdout.flush()
        finally:
            zygote.close()
            if server:
                server.close()
    sys.exit(failed)


if __name__ == "__main__":
    main()

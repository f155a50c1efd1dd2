"""`make storm`: every long run, one after the other, each in a process of its own. Some minutes to an hour.

python -m tests.storm                  all of them
python -m tests.storm model kills-redis
python -m tests.storm chaos-redis --seconds 60   (for runs that take seconds)
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from tests.kills.matrix import APPS, STORES

# Each ends with something else than 0 if it finds what must not be.
RUNS = {
    "variants": "pytest --all-variants --numprocesses 2 --dist worksteal --quiet",
    "model": "tests.model --examples 2000 --steps 50",
    "simulation": "tests.simulation --seeds 100000",
    "fuzz": "tests.fuzz --records 1000000",
    "kills-sqlite": "tests.storm.kills --store sqlite --kills 200",
    "kills-redis": "tests.storm.kills --store redis --kills 200",
    "kills-saver-sqlite": "tests.langgraph_saver.matrix --store sqlite",
    "kills-saver-redis": "tests.langgraph_saver.matrix --store redis",
    "plays-saver-sqlite": "tests.langgraph_saver.plays --store sqlite --plays 1000",
    "plays-saver-redis": "tests.langgraph_saver.plays --store redis --plays 1000",
    **{
        f"kills-{kind}-{store}": f"tests.kills.matrix --kind {kind} --store {store}"
        for kind in APPS
        for store in STORES
    },
    "chaos-sqlite": "tests.storm.chaos --store sqlite --seconds 600 --kills 1000 --jobs 20000",
    "chaos-redis": "tests.storm.chaos --store redis --seconds 600 --kills 1000 --jobs 20000",
    "freeze-sqlite": "tests.storm.freeze --store sqlite --tries 200 --seconds 30",
    "freeze-redis": "tests.storm.freeze --store redis --tries 200 --seconds 30",
    "children-sqlite": "tests.storm.children --store sqlite",
    "children-redis": "tests.storm.children --store redis",
    "redis-loss": "tests.storm.redis_loss --kills 20 --cuts 200",
}


def main() -> None:
    """Run what is asked for, tell how each ended."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.storm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", metavar="run", help=f"some of: {', '.join(RUNS)}")
    parser.add_argument("--seconds", type=float, help="how long the chaos runs take, instead of 600 and 1,000 kills")
    arguments = parser.parse_args()
    asked: list[str] = arguments.runs
    if arguments.seconds is not None:
        chaos = f"--seconds {arguments.seconds} --kills 0 --jobs 0"
        RUNS.update({name: f"{run} {chaos}" for name, run in RUNS.items() if "chaos" in name})
    if unknown := set(asked) - set(RUNS):
        parser.error(f"there is no {', '.join(sorted(unknown))}, but: {', '.join(RUNS)}")
    ends: list[str] = []
    failed = False
    for name in asked or RUNS:
        say(f"== {name}: python -m {RUNS[name]}")
        began = time.monotonic()
        code = subprocess.run([sys.executable, "-m", *RUNS[name].split()]).returncode
        failed |= code != 0
        ends.append(f"{name:<23}{'passed' if code == 0 else f'FAILED ({code})':<14}{time.monotonic() - began:7.0f} s")
    say("\n".join(["== all", *ends]))
    sys.exit(failed)


def say(text: str) -> None:
    """A line at once, whatever the run that follows writes."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

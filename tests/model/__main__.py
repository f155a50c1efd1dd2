"""`python -m tests.model --examples 2000 --steps 50`: the long run, with what it consisted of."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.harness.cluster import some_cluster
from tests.harness.ram import ram_folder
from tests.harness.redis import some_server
from tests.model.running import never_done, run_examples, table
from tests.model.stores import Stores


def main() -> None:
    """Run, print, and end with 1 if a command was never carried out. A difference is raised as it is found."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--fixed", type=int, metavar="N", help="the examples of this number, the same every time")
    parser.add_argument("--no-cluster", dest="cluster", action="store_false", help="without a Redis Cluster")
    asked = parser.parse_args()
    logging.getLogger("batonpass.store").disabled = True  # to it forged leases look like a store that went back in time
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        quick = stack.enter_context(ram_folder())
        for name in ("redis", "cluster"):
            (folder / name).mkdir()
        redis = stack.enter_context(some_server(folder / "redis"))
        cluster = stack.enter_context(some_cluster(folder / "cluster")) if asked.cluster else None
        stores = Stores(quick, redis=redis, cluster=cluster)
        tally = run_examples(stores, asked.examples, asked.steps, fixed=asked.fixed)
    where = "SQLite, Redis, a cluster" if asked.cluster else "SQLite, Redis"
    head = f"{asked.examples} examples x {asked.steps} steps on {where}: no difference from the model"
    sys.stdout.write(f"{head}\n{table(tally)}\n  {time.monotonic() - began:.0f} s\n")
    if missing := never_done(tally):
        sys.exit(f"never carried out: {', '.join(sorted(missing))}")


if __name__ == "__main__":
    main()

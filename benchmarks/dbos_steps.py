"""Steps of DBOS, for `steps.py`. A process of its own without anything of ours: DBOS may live in another environment.

python dbos_steps.py DATABASE WORKFLOWS STEPS: prints the seconds that each workflow took, after some that don't count.
"""

from __future__ import annotations

import importlib
import logging
import sys
import time
from typing import Any


def main(path: str, workflows: int, steps: int) -> None:
    """Run workflows one after the other."""
    library: Any = importlib.import_module("dbos")  # which is not there where types are checked
    library.DBOS(config={"name": "steps", "system_database_url": f"sqlite:///{path}", "log_level": "CRITICAL"})

    def word(number: int) -> str:
        return str(number % 10) * 1000

    step = library.DBOS.step()(word)

    def sizes() -> int:
        return sum(len(step(number)) for number in range(steps))

    workflow = library.DBOS.workflow()(sizes)
    logging.disable()
    library.DBOS.launch()
    for number in range(workflows + 3):
        start = time.perf_counter()
        assert workflow() == 1000 * steps
        if number >= 3:
            print(time.perf_counter() - start)
    library.DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

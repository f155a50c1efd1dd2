"""A worker of another queue, in a process of its own: it marks each job if it was given marks, else says when it began.

python -m benchmarks.queue_worker NAME URL QUEUE
"""

from __future__ import annotations

import asyncio
import sys
import time
from functools import partial

from benchmarks.agents import say
from benchmarks.noop import SLOTS, Marks, shared_marks
from benchmarks.queues import by_name


def main(name: str, url: str, queue: str) -> None:
    """Run what is sent there until killed."""
    marks: Marks | None = shared_marks()

    def handle(number: int) -> None:
        if marks is not None:
            marks.add(number)
        else:
            say(str(time.time_ns()))

    asyncio.run(by_name(name).work(url, queue, handle, partial(say, "ready"), SLOTS))


if __name__ == "__main__":
    main(*sys.argv[1:])

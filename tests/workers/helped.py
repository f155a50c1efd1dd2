"""The app of the tests of helpers: processes that agents fork off their own, and end."""

from __future__ import annotations

import multiprocessing
import time

import batonpass as bp

from .agents import Done, Task

app = bp.App("helped-tests")
_LONG = 60.0


def ended_helper() -> Done:
    helper = multiprocessing.get_context("fork").Process(target=time.sleep, args=(2 * _LONG,))
    helper.start()
    helper.terminate()
    helper.join(_LONG)
    helper.kill()
    return Done(words=[str(helper.exitcode)])


@app.agent("process", accepts=Task, returns=Done, isolation="process")
def in_process(task: Task) -> Done:
    return ended_helper()


@app.agent("thread", accepts=Task, returns=Done)
def in_thread(task: Task) -> Done:
    return ended_helper()


@app.agent("task", accepts=Task, returns=Done)
async def in_task(task: Task) -> Done:
    return ended_helper()

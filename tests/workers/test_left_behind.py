"""A thread whose code goes on after its attempt has ended is counted, and a process with too many is replaced."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from concurrent.futures import Future

import anyio
import pytest

import batonpass as bp
from batonpass.workers import threads

from .agents import Done, Task, app
from .families import times
from .processes import DEADLINE, Desk
from .serving import Ask, Reply, only, serving


@pytest.mark.timeout(240)
def test_a_process_with_too_many_threads_left_behind_begins_anew(desk: Desk) -> None:
    """Another job that runs there is given back at its checkpoint and goes on after that. One thread does not keep the
    process from ending. It begins in the folder where it began first, wherever an agent has moved it."""
    worker = desk.serving("steps,moves,lingers,lingers-elsewhere", "--threads-left", "2", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        folder = coordinator.submit("moves", Task(text=""), returns=Done).result(timeout=DEADLINE).words
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        desk.wait_for("a:two")
        for number, name in enumerate(("lingers", "lingers-elsewhere"), 1):
            with pytest.raises(bp.JobFailed, match="took longer than its timeout of 3 s"):
                coordinator.submit(name, Task(text=name)).result(timeout=DEADLINE)
            worker.wait_for(f"left behind (now {number} in all)")
        worker.wait_for("process restarts")
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == ["a:one", "a:two", "a:three"]
        assert [event.type for event in coordinator.events(job=job.id)].count("batonpass.job.released") == 1
        assert worker.said().count(" serves ") == 2
        assert coordinator.submit("moves", Task(text=""), returns=Done).result(timeout=DEADLINE).words == folder
        again = coordinator.submit("lingers", Task(text="again"))
        with pytest.raises(bp.JobFailed):
            again.result(timeout=DEADLINE)
        times(desk, "again", 1)
        worker.send(signal.SIGTERM)
        assert worker.exit_code() == 0
    assert desk.ran() == Counter(["a:one", "a:two", "a:three", "lingers", "lingers-elsewhere", "again"])


async def test_threads_that_end_soon_are_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_MOMENT", 0.1)
    left, short, long = threads.LeftBehind(1), Future[None](), Future[None]()

    def leave(future: Future[None]) -> None:
        calls = threads.Calls()
        calls.note(future)
        left.take("a job", calls)

    leave(short)
    short.set_result(None)
    with anyio.move_on_after(0.3) as waiting:
        await left.full()
    assert waiting.cancelled_caught
    leave(long)
    with anyio.fail_after(20):
        await left.full()
    assert left.number == 1


async def test_what_is_left_behind_begins_nothing_more() -> None:
    goes_on, ran, ended = threading.Event(), list[str](), list[type[BaseException]]()

    def lingers(ask: Ask, ctx: bp.SyncContext) -> Reply:
        goes_on.wait(DEADLINE)
        try:
            ctx.step("late", ran.append, "late")
        except BaseException as error:
            ended.append(type(error))
        return Reply(text="late")

    async with serving(only(lingers, timeout=3.0, retries=1)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        try:
            with pytest.raises(bp.JobFailed):
                await job.result(timeout=DEADLINE)
        finally:
            goes_on.set()
        with anyio.fail_after(DEADLINE):
            while not ended:
                await anyio.sleep(0.01)
    assert (ended, ran) == ([bp.Fenced], [])

"""If an agent raises something that is no `Exception`, its own attempt fails and the worker goes on with other jobs."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

import batonpass as bp
from batonpass.workers.underway import Underway

from .agents import Done, Task, app
from .families import wait_for_end, who
from .processes import Desk
from .serving import DEADLINE, Ask, Reply, kinds, only, reached, serving


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Untouchable(Exception):
    def __bool__(self) -> bool:
        raise RuntimeError("no bool")


class Elsewhere(Exception):
    """Like the errors of some clients, which look up attributes that they don't have."""

    def __getattr__(self, name: str) -> str:
        raise KeyError(name)


class Untold(Exception):
    @property
    def response(self) -> object:
        raise RuntimeError("there was none")


class Orphan(Exception):
    @property
    def __cause__(self) -> None:  # type: ignore[override]
        raise RuntimeError("no cause")


RAISED: list[tuple[BaseException, str]] = [
    (SystemExit(3), "SystemExit: 3"),
    (KeyboardInterrupt(), "KeyboardInterrupt"),
    (GeneratorExit(), "GeneratorExit"),
    (asyncio.CancelledError(), "CancelledError"),
    (BaseException("odd"), "BaseException: odd"),
    (BaseExceptionGroup("two", [SystemExit(1), ValueError()]), "BaseExceptionGroup: two (2 sub-exceptions)"),
    (Unspeakable(), "Unspeakable: (its text can't be read: RuntimeError)"),
    (Leaving(), "Leaving: (its text can't be read: SystemExit)"),
    (Untouchable("odd"), "Untouchable: odd"),
    (Elsewhere("odd"), "Elsewhere: odd"),
    (Untold("odd"), "Untold: odd"),
    (Orphan("odd"), "Orphan: (it can't be described: RuntimeError)"),
    (ValueError("a" * 9000 + "b" * 9000), "ValueError: " + "a" * 4988 + " ... " + "b" * 5000),
]


@pytest.fixture
def ctrl_c_is_in_hand() -> Iterator[None]:
    """As in a worker process, where `KeyboardInterrupt` can only be the agent's own."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_is_in_hand")
@pytest.mark.parametrize("runs", ["async", "sync"])
async def test_it_is_a_failure_of_the_attempt(runs: str) -> None:
    async def waits(ask: Ask) -> Reply:
        if ask.text:
            await release.wait()
            return Reply(text=ask.text)
        raise RAISED[ask.number][0]

    def blocks(ask: Ask) -> Reply:
        raise RAISED[ask.number][0]

    release = asyncio.Event()
    retries = bp.Retry(attempts=2, first=0.001)
    app = only(waits, retries=retries)
    app.agent("sync", accepts=Ask, returns=Reply, retries=retries)(blocks)
    async with serving(app) as coordinator:
        other = await coordinator.submit("a", Ask(text="goes on"), returns=Reply)
        for number, (_, told) in enumerate(RAISED):
            job = await coordinator.submit("a" if runs == "async" else "sync", Ask(number=number))
            info = await reached(job, bp.JobState.FAILED)
            if isinstance(RAISED[number][0], GeneratorExit) and runs == "sync":
                told = "RuntimeError: GeneratorExit"
            place = r"( \(tests/workers/test_no_exception.py:\d+ in \w+\))?"
            assert re.fullmatch(re.escape(told) + place, str(info.error))
            assert info.reason == "attempts"
        release.set()
        assert (await other.result(timeout=10)).text == "goes on"
        assert await kinds(coordinator, other) == ["job.submitted", "job.started", "job.completed"]


async def test_what_nobody_expected_of_one_job_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        monkeypatch.undo()
        raise RuntimeError("a mistake of ours")

    async def fails_once(ask: Ask) -> Reply:
        if ask.text:
            await release.wait()
        elif not seen:
            seen.append(1)
            raise ValueError
        return Reply(text=ask.text)

    seen, release = list[int](), asyncio.Event()
    monkeypatch.setattr("batonpass.workers.running.single", broken)
    async with serving(only(fails_once, lease=1.0)) as coordinator:
        other = await coordinator.submit("a", Ask(text="goes on"), returns=Reply)
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == ""
        assert (await job.info()).crashes == 1
        release.set()
        assert (await other.result(timeout=DEADLINE)).text == "goes on"
        assert (await kinds(coordinator, other)).count("job.started") == 1


async def test_ctrl_c_and_what_cancels_the_task_are_not() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert Underway(None).stopped_by(KeyboardInterrupt())
    finally:
        signal.signal(signal.SIGINT, before)
    here = Underway(None)
    here.cancel()
    with pytest.raises(asyncio.CancelledError) as canceled:
        await asyncio.sleep(0)
    assert here.stopped_by(canceled.value)
    assert here.caught()
    assert not here.stopped_by(asyncio.CancelledError())
    assert not here.stopped_by(GeneratorExit())
    assert await asyncio.to_thread(here.stopped_by, GeneratorExit())


@pytest.mark.parametrize("where", ["agent", "step"])
async def test_an_agent_that_cancels_its_own_task(where: str, store_url: str) -> None:
    """Such as by a time limit of its own. That is a failed attempt, whose error has a policy like any other."""

    async def limits_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        await asyncio.sleep(60)

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        if ctx.attempt == 1:
            await (ctx.step("limits", limits_itself) if where == "step" else limits_itself())
        await asyncio.sleep(0)
        return Reply(text=str(ctx.attempt))

    async with serving(only(agent, retries=bp.Retry(attempts=2, first=0.001)), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "2"
        assert (await kinds(coordinator, job)).count("job.retrying") == 1


def test_neither_is_it_in_a_task_of_a_framework(desk: Desk) -> None:
    worker = desk.serving("leaves-in-task,steps")
    with bp.connect(desk.url, app=app) as coordinator:
        other = coordinator.submit("steps", Task(text="a"), returns=Done)
        desk.wait_for("a:two")
        job = coordinator.submit("leaves-in-task", Task())
        with pytest.raises(bp.JobFailed, match="SystemExit: 3"):
            job.result(timeout=DEADLINE)
        desk.open_gate("two")
        assert other.result(timeout=DEADLINE).words == ["a:one", "a:two", "a:three"]
    assert desk.ran()["a:two"] == 1
    worker.wait_for("in its own task")
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0


@pytest.mark.parametrize("agent", ["forks", "forks-thread"])
def test_a_copy_of_the_worker_does_not_go_on(agent: str, desk: Desk) -> None:
    worker = desk.serving(agent)
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit(agent, Task(), returns=Done)
        assert job.result(timeout=DEADLINE).words == [str(worker.pid)]
        copy = who(desk, "copied")
        wait_for_end(copy)
        worker.wait_for("the copy ends")
        assert coordinator.submit(agent, Task(), returns=Done).result(timeout=DEADLINE).words == [str(worker.pid)]


def test_a_worker_whose_loop_is_broken_ends(sqlite_url: str) -> None:
    """A process of its own: the others of these tests end without Python's last steps, where it would stay."""

    options = ("worker", "tests.workers.agents:app", "--agents", "breaks-loop", "--store", sqlite_url)
    with bp.connect(sqlite_url, app=app) as coordinator:
        coordinator.submit("breaks-loop", Task())
    worker = subprocess.Popen([sys.executable, "-m", "batonpass", *options], stderr=subprocess.DEVNULL)
    try:
        assert worker.wait(DEADLINE) != 0
    finally:
        worker.kill()

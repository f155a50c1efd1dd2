"""During a deploy: a worker with the older code gets a job that one with the newer code has begun."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypedDict

import anyio
import pytest
from langgraph.types import interrupt

import batonpass as bp
from batonpass.coordinator.live_workers import has_other
from batonpass.coordinator.rows import JobRow
from batonpass.testing import asked
from batonpass.workers import aside, claiming, leaving

from ..apps.langgraph_app import in_order
from .serving import DEADLINE, Ask, Reply, kinds, only


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks again without the wait."""
    monkeypatch.setattr(aside, "_FIRST", 0.05)
    monkeypatch.setattr(claiming, "_ASIDE_LOOK", 0.02)


def release(version: int, ran: list[str], isolation: str, app_version: str = "") -> bp.App:
    """A release of the app, whose agent asks in the middle."""

    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("before", ran.append, "before")
        answer = await ctx.ask("and?", answer=Ask)
        return Reply(text=f"{answer.text} at attempt {ctx.attempt}, version {version}")

    made = only(run, state_version=version, isolation=isolation)
    made.version = app_version
    return made


@pytest.mark.parametrize("isolation", ["task", "process"])
async def test_it_leaves_a_newer_state_to_newer_ones(
    isolation: str, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It was a dead letter."""
    ran: list[str] = []
    older, newer = (release(version, ran, isolation) for version in (1, 2))
    async with bp.connect(store_url) as coordinator:
        async with newer.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with older.worker(coordinator), busy(newer, coordinator) as go:
            await job.answer(Ask(text="yes"))
            await left(caplog)
            go.set()
            assert (await job.result(timeout=DEADLINE)).text == "yes at attempt 1, version 2"
        assert "job.failed" not in await kinds(coordinator, job)
    assert "it does not go on with it, and another worker may: checkpoint" in caplog.text
    assert "this program is older: update it" in caplog.text
    assert ran == ["before"]


@pytest.mark.parametrize("versions", ["11", "12"])
async def test_it_parks_a_newer_state_that_no_other_can_read(
    versions: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a deploy was rolled back: such jobs must not keep the others waiting. Two workers of different versions
    leave it to each other a few times only."""
    monkeypatch.setattr(leaving, "_LEAVES", 2)
    older, other = (release(1, [], "task", version) for version in versions)
    newer = release(2, [], "task")
    async with bp.connect(store_url) as coordinator:
        async with newer.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with older.worker(coordinator), other.worker(coordinator):
            await job.answer(Ask(text="yes"))
            with pytest.raises(bp.JobFailed, match="this program is older: update it"):
                await job.result(timeout=DEADLINE)
        await coordinator.redrive(job.id)
        async with newer.worker(coordinator):
            assert (await job.result(timeout=DEADLINE)).text == "yes at attempt 1, version 2"


@asynccontextmanager
async def busy(app: bp.App, coordinator: bp.Coordinator) -> AsyncIterator[anyio.Event]:
    """A worker of the app that is there, but takes nothing else until the event is set."""
    go, held = anyio.Event(), anyio.Event()

    @app.agent("hold", accepts=Ask, returns=bp.State)
    async def hold(ask: Ask) -> bp.State:
        held.set()
        await go.wait()
        return bp.State()

    async with app.worker(coordinator, concurrency=1):
        await coordinator.submit("hold", Ask())
        await held.wait()
        yield go


async def left(caplog: pytest.LogCaptureFixture, times: int = 1) -> None:
    with anyio.fail_after(DEADLINE):
        while caplog.text.count("this worker leaves it to others") < times:
            await anyio.sleep(0.01)


class Asked(TypedDict):
    text: str
    number: int


def graphs(*added: str, version: str = "") -> bp.App:
    """A release of the app whose graph has these nodes, which ask, before its last one."""

    def asks(state: Any) -> Any:
        return {"text": interrupt("and?")}

    def make() -> Any:
        return in_order(dict.fromkeys(added, asks) | {"last": lambda state: state}, Asked)

    made = bp.App("graphs", version=version)
    made.langgraph("a", accepts=Ask, returns=Reply, leave=lambda result: Reply(text=result["text"]))(make)
    return made


def functions(word: str) -> bp.App:
    """A release of the app whose agent gives its step this argument."""

    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        said = await ctx.step("say", str.lower, word)
        await ctx.ask("and?")
        return Reply(text=said)

    return only(run)


@pytest.mark.capability("langgraph")
@pytest.mark.parametrize(
    ("newer", "older", "why"),
    [
        (lambda: graphs("added"), graphs, "continues at node 'added', which the graph no longer has"),
        (lambda: functions("YES"), lambda: functions("No"), "is recorded with other arguments"),
    ],
    ids=["a node", "a step"],
)
async def test_it_leaves_what_it_can_not_go_on_with_to_newer_ones(
    newer: Callable[[], bp.App],
    older: Callable[[], bp.App],
    why: str,
    store_url: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As when the newer code has a node more: it was a dead letter, with the newer worker beside it."""
    new = newer()
    async with bp.connect(store_url) as coordinator:
        async with new.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with older().worker(coordinator), busy(new, coordinator) as go:
            await job.answer("yes")
            await left(caplog)
            go.set()
            assert (await job.result(timeout=DEADLINE)).text == "yes"
        assert "job.failed" not in await kinds(coordinator, job)
    assert why in caplog.text


@pytest.mark.capability("langgraph")
async def test_the_newest_has_the_last_word(store_url: str) -> None:
    """The node was removed: an older workers leave the job to the newest, and that parks it."""
    async with bp.connect(store_url) as coordinator:
        async with graphs("added").worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with graphs().worker(coordinator), graphs().worker(coordinator):
            await job.answer("yes")
            with pytest.raises(bp.JobFailed, match="continues at node 'added'"):
                await job.result(timeout=DEADLINE)


async def test_other_jobs_of_its_queue_are_served_meanwhile(
    store_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One job in a hundred that does not fit kept all workers but the newest from the others."""
    monkeypatch.setattr(aside, "_FIRST", 2 * DEADLINE)
    newer = counted("YES")
    async with bp.connect(store_url) as coordinator:
        async with newer.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with counted("No", questions=0).worker(coordinator), busy(newer, coordinator) as go:
            await job.answer("yes")
            await left(caplog)
            for _ in range(20):
                other = await coordinator.submit("a", Ask(), returns=Reply)
                assert (await other.result(timeout=DEADLINE)).text == "No"
            go.set()
            assert (await job.result(timeout=DEADLINE)).text == "YES"
        assert caplog.text.count("this worker leaves it to others") == 1


async def test_a_job_that_came_further_is_left_alone_too(
    store_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint of its step was not known where it was left: it was run again at once, once."""
    monkeypatch.setattr(aside, "_FIRST", 2 * DEADLINE)
    ran: list[str] = []

    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        ran.append(ask.text)
        if ask.text == "well":
            return Reply(text="well")
        await ctx.step("before", str)
        raise bp.Unreachable("the archive is away")

    app = only(run)
    async with bp.connect(store_url) as coordinator, app.worker(coordinator):
        await coordinator.submit("a", Ask(text="away"))
        await left(caplog)
        for _ in range(5):
            other = await coordinator.submit("a", Ask(text="well"), returns=Reply)
            assert (await other.result(timeout=DEADLINE)).text == "well"
    assert ran.count("away") == 1


async def test_a_queue_with_none_but_such_jobs_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the worker would claim them and give them back all the time."""
    monkeypatch.setattr(aside, "_FIRST", 2 * DEADLINE)
    leaves, one, good = aside.Aside(), JobRow("one", queue="q"), JobRow("good", queue="q")
    leaves.put(one, "job")
    for _ in range(2):
        assert leaves.meets(one)
        assert not leaves.among("q")
        assert not leaves.meets(good)
    assert leaves.meets(one)
    assert leaves.meets(one)
    assert leaves.among("q") == {"q"}
    assert not leaves.meets(good)  # of a claim made before
    assert not leaves.among("q")


async def test_a_queue_rests_when_all_such_jobs_have_been_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind forty of them may be others: if it rested after each, those waited for minutes."""
    monkeypatch.setattr(aside, "_FIRST", 2 * DEADLINE)
    leaves, jobs = aside.Aside(), [JobRow(str(number), queue="q") for number in range(40)]
    for job in jobs:
        leaves.put(job, "job")
    for job in jobs:
        assert leaves.meets(job)
        assert not leaves.among("q")
    assert leaves.meets(jobs[0])
    assert leaves.among("q") == {"q"}


@pytest.mark.parametrize("further", [{"hop": 2, "queue": "other"}, {"tip": "c"}, {"asked": 1}])
async def test_a_job_that_has_come_further_is_not_left_alone(further: Any) -> None:
    """Another worker has gone on with it since."""
    leaves = aside.Aside()
    leaves.put(JobRow("one", queue="q", hop=1), "job")
    assert leaves.meets(JobRow("one", queue="q", hop=1))
    assert not leaves.meets(replace(JobRow("one", queue="q", hop=1), **further))


def counted(word: str, questions: int = 1) -> bp.App:
    """A release of the app whose agent spends, and gives its step this argument, before it asks."""

    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        ctx.spend(tokens=10)
        await ctx.step("say", str.lower, word)
        for number in range(questions):
            await ctx.ask(f"{number}?")
        return Reply(text=word)

    return only(run)


@pytest.mark.capability("langgraph")
async def test_the_newest_leaves_it_to_an_older_one_of_another_version(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The node was removed: the workers of the older version, as long as there are any, finish what is in it."""
    older, newer = graphs("added", version="1"), graphs(version="2")
    async with bp.connect(store_url) as coordinator:
        async with older.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with busy(older, coordinator) as go, newer.worker(coordinator):
            await job.answer("yes")
            await left(caplog)
            go.set()
            assert (await job.result(timeout=DEADLINE)).text == "yes"


def calling(word: str, call: str) -> bp.App:
    """A release of the app whose agent asks so, or makes such a child."""
    app = bp.App("older-workers")

    @app.agent("child", accepts=Ask, returns=Reply)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await ctx.ask("child?"))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        if call == "ask":
            await ctx.ask(f"{word}?")
        else:
            await ctx.fan_out([ctx.hand_off("child", Ask(text=word))])
        return Reply(text=word)

    return app


@pytest.mark.parametrize("call", ["ask", "fan_out"])
async def test_one_that_asks_otherwise_or_has_other_children(
    store_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """It was parked by the older worker, after a minute in which it held one of its slots."""
    monkeypatch.setattr("batonpass.workers.context.counted.OWN_PATIENCE", 0.1)
    newer = calling("yes", call)
    async with bp.connect(store_url) as coordinator:
        async with newer.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            with anyio.fail_after(DEADLINE):
                while not (waiting := await coordinator.inbox()):
                    await anyio.sleep(0.01)
        async with calling("no", call).worker(coordinator), busy(newer, coordinator) as go:
            await coordinator.answer(waiting[0].job, "yes")
            await left(caplog)
            go.set()
            assert (await job.result(timeout=DEADLINE)).text == "yes"


async def test_it_does_not_leave_a_job_for_ever(
    store_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the newer worker takes nothing, for example. What each run has spent counts. A redrive counts anew."""
    monkeypatch.setattr(leaving, "_LEAVES", 3)
    newer = counted("YES")
    async with bp.connect(store_url) as coordinator:
        async with newer.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with counted("No").worker(coordinator), busy(newer, coordinator) as go:
            await job.answer("yes")
            with pytest.raises(bp.JobFailed, match="is recorded with other arguments"):
                await job.result(timeout=DEADLINE)
            assert (await job.info()).spent.tokens == 10 * (1 + leaving._LEAVES + 1)
            await coordinator.redrive(job.id)
            await left(caplog, leaving._LEAVES + 1)
            go.set()
            assert (await job.result(timeout=DEADLINE)).text == "YES"


async def test_a_job_that_comes_further_may_be_left_as_often_again(
    store_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving, "_LEAVES", 2)
    monkeypatch.setattr(aside, "_FIRST", 1.0)  # so that the newer one has seconds
    newer = counted("YES", questions=3)
    async with bp.connect(store_url) as coordinator:
        async with newer.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with counted("No").worker(coordinator):
            for number in range(3):
                async with busy(counted("YES", questions=3), coordinator) as go:
                    await job.answer("yes")
                    await left(caplog, number + 1)
                    go.set()
                    await (asked(job) if number < 2 else job.result(timeout=DEADLINE))


async def test_a_store_that_does_not_tell_who_is_newer(
    store_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster, one node that is away is enough. It was a dead letter."""
    newer, told = counted("YES"), []

    def unsure(*about: Any) -> bool:
        told.append(about)
        if len(told) == 1:
            raise bp.Unreachable("a node is away")
        return has_other(*about)

    monkeypatch.setattr(leaving, "has_other", unsure)
    async with bp.connect(store_url) as coordinator:
        async with newer.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with counted("No").worker(coordinator, lease=0.5), busy(newer, coordinator) as go:
            await job.answer("yes")
            await left(caplog)
            go.set()
            assert (await job.result(timeout=DEADLINE)).text == "YES"
    assert "given up until its lease expires: " in caplog.text

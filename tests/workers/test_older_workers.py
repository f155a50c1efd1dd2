"""During a deploy: a worker with the older code gets a job that one with the newer code has begun."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypedDict

import anyio
import pytest
from langgraph.types import interrupt

import batonpass as bp
from batonpass.testing import asked
from batonpass.workers import aside, claiming, running

from ..apps.langgraph_app import in_order
from .serving import DEADLINE, Ask, Reply, kinds, only


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks again without the wait."""
    monkeypatch.setattr(aside, "_FIRST", 0.05)
    monkeypatch.setattr(claiming, "_ASIDE_LOOK", 0.02)


def release(version: int, ran: list[str], isolation: str) -> bp.App:
    """A release of the app, whose agent asks in the middle."""

    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("before", ran.append, "before")
        answer = await ctx.ask("and?", answer=Ask)
        return Reply(text=f"{answer.text} at attempt {ctx.attempt}, version {version}")

    return only(run, state_version=version, isolation=isolation)


@pytest.mark.parametrize("isolation", ["task", "process"])
async def test_it_leaves_the_job_to_newer_ones(
    isolation: str, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It was a dead letter."""
    ran: list[str] = []
    older, newer = (release(version, ran, isolation) for version in (1, 2))
    async with bp.connect(store_url) as coordinator:
        async with newer.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        with caplog.at_level(logging.ERROR, "batonpass.worker"):
            async with older.worker(coordinator):
                await job.answer(Ask(text="yes"))
                with anyio.fail_after(DEADLINE):
                    while (await kinds(coordinator, job)).count("job.released") < 2:
                        await anyio.sleep(0.01)
                async with newer.worker(coordinator):
                    assert (await job.result(timeout=DEADLINE)).text == "yes at attempt 1, version 2"
        assert "job.failed" not in await kinds(coordinator, job)
    if isolation == "task":
        assert "this worker leaves it to others for 0.05 s, it can't read it: checkpoint" in caplog.text
        assert "this program is older: update it" in caplog.text
        assert ran == ["before"]


class Asked(TypedDict):
    text: str
    number: int


def graphs(*added: str) -> bp.App:
    """A release of the app whose graph has these nodes, which ask, before its last one."""

    def asks(state: Any) -> Any:
        return {"text": interrupt("and?")}

    def make() -> Any:
        return in_order(dict.fromkeys(added, asks) | {"last": lambda state: state}, Asked)

    made = bp.App("graphs")
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
    go, held, new = anyio.Event(), anyio.Event(), newer()

    @new.agent("hold", accepts=Ask, returns=bp.State)
    async def hold(ask: Ask) -> bp.State:
        held.set()
        await go.wait()
        return bp.State()

    async with bp.connect(store_url) as coordinator:
        async with new.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with older().worker(coordinator), new.worker(coordinator, concurrency=1):
            await coordinator.submit("hold", Ask())
            await held.wait()  # the newer worker is there, and takes nothing else
            await job.answer("yes")
            with anyio.fail_after(DEADLINE):
                while "this worker leaves it to others" not in caplog.text:
                    await anyio.sleep(0.01)
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


async def test_two_that_hope_for_each_other_park_it_in_the_end(store_url: str) -> None:
    """A deploy that was rolled back: the worker that began last has the older code, and can't read the state. What each
    run has spent counts."""

    def made(version: int, word: str) -> bp.App:
        async def run(ask: Ask, ctx: bp.Context) -> Reply:
            ctx.spend(tokens=10)
            await ctx.step("say", str.lower, word)
            await ctx.ask("and?")
            return Reply(text="never")

        return only(run, state_version=version)

    async with bp.connect(store_url) as coordinator:
        async with made(2, "YES").worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        async with made(2, "No").worker(coordinator), made(1, "YES").worker(coordinator):
            await job.answer("yes")
            with pytest.raises(bp.JobFailed, match="is recorded with other arguments"):
                await job.result(timeout=DEADLINE)
        assert (await job.info()).spent.tokens == 10 * (1 + running._LEAVES + 1)

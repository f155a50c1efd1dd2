"""A failed job's thread is taken back, and the job redriven: teams, flows and plain functions. (For graphs, and what is
refused, see langgraph_jobs/test_taken_back.py.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from autogen_agentchat.teams import RoundRobinGroupChat

import batonpass as bp
from batonpass.testing import serving

from .apps import autogen_kit, crewai_kit
from .apps.autogen_app import Draft, says, speaker
from .apps.crewai_app import Topic


async def fails(job: bp.Job[Any]) -> None:
    with pytest.raises(bp.JobFailed, match="is down"):
        await job.result(timeout=60)


@pytest.mark.capability("autogen")
@pytest.mark.usefixtures("log")
async def test_a_teams_members_speak_again(store_url: str) -> None:
    spoke: list[str] = []
    down = [True]

    def member(name: str) -> Callable[..., Any]:
        answer = says(name)

        def speaks(*given: Any) -> Any:
            spoke.append(name)
            if name == "D" and down:
                raise OSError("D is down")
            return answer(*given)

        return speaks

    def factory() -> Any:
        return RoundRobinGroupChat([speaker(name, member(name)) for name in "ABCD"], max_turns=4)

    async with serving(autogen_kit.only(factory, retries=1), url=store_url) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        await fails(job)
        assert spoke == ["A", "B", "C", "D"]
        down.clear()
        spoke.clear()
        first, *_ = [each for each in reversed(await coordinator.timeline(thread=job.id)) if each.step == "A"]
        await coordinator.rollback(job.id, to=first.id)
        await coordinator.redrive(job.id)
        await job.result(timeout=60)
        assert spoke == ["B", "C", "D"]


@pytest.mark.capability("crewai")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # CrewAI uses deprecated parts of itself
async def test_a_flows_methods_run_again(store_url: str) -> None:
    from crewai import Flow
    from crewai.flow import listen, start

    ran: list[str] = []
    down = [True]

    class Trail(Flow[dict[str, Any]]):
        @start()
        def one(self) -> None:
            ran.append("one")

        @listen(one)
        def two(self) -> None:
            ran.append("two")

        @listen(two)
        def three(self) -> str:
            ran.append("three")
            if down:
                raise OSError("it is down")
            return '{"text": "done"}'

    async with serving(crewai_kit.only(Trail, retries=1), url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await fails(job)
        down.clear()
        ran.clear()
        [first] = [each for each in await coordinator.timeline(thread=job.id) if each.step == "one"]
        await coordinator.rollback(job.id, to=first.id)
        await coordinator.redrive(job.id)
        await job.result(timeout=60)
        assert ran == ["two", "three"]


async def test_a_plain_functions_steps_do_not_run_again(store_url: str) -> None:
    """It goes on from what they have returned, wherever its thread's tip is."""
    ran: list[str] = []
    down = [True]
    app = bp.App("plain")

    @app.agent("a", accepts=bp.State, returns=bp.State, retries=1)
    def plain(state: bp.State, ctx: bp.SyncContext) -> bp.State:
        for name in ("one", "two"):
            ctx.step(name, lambda name=name: ran.append(name))
        if down:
            raise OSError("it is down")
        return state

    async with serving(app, url=store_url) as coordinator:
        job = await coordinator.submit("a", {"n": 1})
        await fails(job)
        down.clear()
        oldest = (await coordinator.timeline(thread=job.id))[-1]
        await coordinator.rollback(job.id, to=oldest.id)
        await coordinator.redrive(job.id)
        await job.result(timeout=60)
        assert ran == ["one", "two"]

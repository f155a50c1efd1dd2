"""Another payload for a framework's agent that has begun is taken where it counts, and refused elsewhere.

It used to be accepted everywhere, and the job failed again with the first payload.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from autogen_agentchat.teams import RoundRobinGroupChat
from crewai import Flow
from crewai.flow import listen, start

import batonpass as bp
from batonpass.testing import serving

from .apps import autogen_kit, crewai_kit, langgraph_kit
from .apps.autogen_app import Draft, says, speaker
from .apps.crewai_app import Small
from .apps.crewai_app import Topic as Subject
from .apps.crewai_kit import Crews
from .apps.langgraph_app import Topic

pytestmark = [
    pytest.mark.capability("autogen"),
    pytest.mark.capability("crewai"),
    pytest.mark.capability("langgraph"),
    pytest.mark.usefixtures("log"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


def refuse(*said: object) -> Any:
    if "bad" in str(said):
        raise ValueError("not that")
    return "good"


def graph() -> bp.App:
    """Fails in its first node: its input is a checkpoint."""
    made = langgraph_kit.graph(lambda state: {"notes": [refuse(state)]})
    return langgraph_kit.only(lambda: made, retries=1)


def team() -> bp.App:
    """B fails where A has spoken."""

    def factory() -> Any:
        return RoundRobinGroupChat([speaker("A", says("x")), speaker("B", refuse)], max_turns=2)

    return autogen_kit.only(factory, retries=1)


class Two(Small, Flow[dict]):  # type: ignore[type-arg]
    """Fails in its second method."""

    @start()
    def one(self) -> None: ...

    @listen(one)
    def two(self) -> str:
        return str(refuse(self.state))


def flow() -> bp.App:
    return crewai_kit.only(Two, retries=1)


async def failed(coordinator: bp.Coordinator, given: type[bp.Contract]) -> bp.Job[Any]:
    job = await coordinator.submit("a", given.model_validate({"text": "bad"}))
    with pytest.raises(bp.JobFailed, match="not that"):
        await job.result(timeout=60)
    return job


@pytest.mark.parametrize(("make", "given"), [(graph, Topic), (team, Draft), (flow, Subject)])
async def test_one_that_would_change_nothing_is_refused(make: Callable[[], bp.App], given: type[bp.Contract]) -> None:
    async with serving(make()) as coordinator:
        job = await failed(coordinator, given)
        before = await job.info()
        with pytest.raises(bp.BadSetup, match="another payload would change nothing: change the state") as refused:
            await coordinator.redrive(job.id, payload={"text": "fine"})
        assert await job.info() == before
        assert f"batonpass fork {before.checkpoint_id} --agent a --payload" in str(refused.value)


async def test_a_graph_goes_on_with_its_state_as_it_is_told_to() -> None:
    async with serving(graph()) as coordinator:
        job = await failed(coordinator, Topic)
        await coordinator.redrive(job.id, changes={"text": "fine"})
        assert "good" in str(await job.result(timeout=60))


async def test_a_crew_with_finished_tasks_takes_no_other(crews: Crews) -> None:
    """The next task's prompt would have it, beside the output of the first task, which is about the old one."""
    crews.script["second"] = refuse
    app = crewai_kit.only(lambda: crews.crew(crews.task("first"), crews.task("second")), retries=1)
    async with serving(app) as coordinator:
        job = await failed(coordinator, Subject)
        with pytest.raises(bp.BadSetup, match="has finished task 'first' with the payload that it has") as refused:
            await coordinator.redrive(job.id, payload={"text": "fine"})
        assert "--set 'tasks.first.raw=" in str(refused.value)


async def test_a_crew_that_has_finished_no_task_is_given_it(crews: Crews) -> None:
    crews.script["first"] = refuse
    async with serving(crewai_kit.only(lambda: crews.crew(crews.task("first")), retries=1)) as coordinator:
        job = await failed(coordinator, Subject)
        await coordinator.redrive(job.id, payload={"text": "fine"})
        assert "good" in str(await job.result(timeout=60))

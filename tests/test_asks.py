"""asks=: who is asked by agents of frameworks, for how long, and what happens when nobody answers."""

from __future__ import annotations

from typing import Any

import pytest
from crewai import Flow
from crewai.flow import human_feedback, listen, start

import batonpass as bp
from batonpass.testing import serving

from .apps import autogen_app, langgraph_app
from .apps.crewai_app import Article, Small, Topic
from .apps.crewai_kit import Crews, Note
from .apps.kit import question

pytestmark = [
    pytest.mark.capability("langgraph", "crewai", "autogen"),
    pytest.mark.usefixtures("log"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Approved(Small, Flow[dict]):  # type: ignore[type-arg]
    @start()
    @human_feedback(message="fine?")
    def write(self) -> Note:
        return Note(text="A")

    @listen(write)
    def tell(self) -> str:
        return f"said {self.human_feedback_history[-1].feedback}"


def agents(asks: bp.Asks) -> bp.App:
    """One of each framework that asks."""
    app = bp.App("asks")
    graph, team = langgraph_app.app["ask"], autogen_app.refund
    app.langgraph("langgraph", accepts=graph.accepts, returns=graph.returns, asks=asks)(graph.fn)
    app.crewai("crewai", accepts=Topic, returns=Article, asks=asks)(Approved)
    app.autogen("autogen", accepts=team.accepts, returns=team.returns, asks=asks)(team.fn)
    return app


GIVEN: dict[str, dict[str, Any]] = {
    "langgraph": langgraph_app.INPUT["ask"],
    "crewai": {"text": "rain"},
    "autogen": {"text": "a refund"},
}


@pytest.mark.parametrize("kind", GIVEN)
async def test_others_are_asked_and_then_the_default_is_taken(kind: str) -> None:
    app = agents(bp.Asks(timeout=0.05, assignee="ann", escalate=[("lead", 0.05)], default="yes"))
    async with serving(app) as coordinator:
        job = await coordinator.submit(kind, GIVEN[kind])
        assert "yes" in str((await job.result(timeout=30)).model_dump())
        told = [event async for event in coordinator.events(job=job.id)]
    asked = [event.data["assignee"] for event in told if event.type.endswith(("suspended", "escalated"))]
    assert asked[:2] == ["ann", "lead"]


@pytest.mark.parametrize("default", ["shorter", ""])
async def test_a_task_takes_its_default_once(crews: Crews, default: str) -> None:
    """A text tells CrewAI what to do better: it would ask about the next output, take the default again, and so on
    forever."""
    crews.script["a"] = lambda said: "short" if "shorter" in said else "a long story"
    app = bp.App("asks")
    asks = bp.Asks(timeout=0.05, default=default)
    app.crewai("a", accepts=Topic, returns=Article, asks=asks)(
        lambda: crews.crew(crews.task("a", human_input=True), crews.task("b"))
    )
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert (await job.result(timeout=30)).text == "out of b"
        told = [event.type async for event in coordinator.events(job=job.id)]
    assert told.count("batonpass.job.suspended") == 1
    assert crews.ran == (["a", "a", "b"] if default else ["a", "b"])


@pytest.mark.parametrize("kind", GIVEN)
async def test_without_a_default_the_job_is_a_dead_letter_that_asks_again(kind: str) -> None:
    async with serving(agents(bp.Asks(timeout=0.05))) as coordinator:
        job = await coordinator.submit(kind, GIVEN[kind])
        with pytest.raises(bp.JobFailed, match=f"nobody answered job {job.id} in time: it asked") as failed:
            await job.result(timeout=30)
        assert failed.value.reason == "unanswered"
        events = coordinator.events(job=job.id)
        assert [event.type async for event in events].count("batonpass.job.suspended") == 1
    async with serving(agents(bp.Asks(timeout=3600))) as coordinator:
        job = await coordinator.submit(kind, GIVEN[kind])
        await question(job)
        [item] = await coordinator.inbox()
        assert item.due_at is not None
        assert 3590 < (item.due_at - item.asked_at).total_seconds() <= 3600


@pytest.mark.parametrize(
    ("asks", "words"), [(bp.Asks(default="no"), "need a timeout="), (bp.Asks(timeout=-1, default="no"), "timeout")]
)
async def test_what_can_not_be_meant_is_said_when_a_worker_starts(asks: bp.Asks, words: str) -> None:
    with pytest.raises(bp.BadSetup, match=f"'langgraph', asks=: .*{words}"):
        async with serving(agents(asks)):
            pass


def test_a_plain_function_says_it_with_each_question() -> None:
    with pytest.raises(bp.BadSetup, match=r"ctx\.ask"):
        bp.App("plain").agent("a", accepts=Topic, returns=Article, asks=bp.Asks())(lambda topic: topic)

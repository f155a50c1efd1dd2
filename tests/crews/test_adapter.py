"""The CrewAI adapter through the real thing: a worker, a store, crews and flows with a scripted model."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from crewai import Crew, Flow
from crewai.events import CrewKickoffFailedEvent, crewai_event_bus
from crewai.flow import listen, or_, start
from crewai.tools import tool

import batonpass as bp
from batonpass.adapters.crewai import CrewAIAdapter
from batonpass.testing import serving

from ..apps.crewai_app import ANSWERS, EXPECTED, INPUT, PARALLEL, STEPS, Article, Facts, Small, Topic, app
from ..apps.crewai_kit import Crews, Note, Two, failure, only, result, returning
from ..apps.kit import checkpoints, labels, question, until

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itsel
    pytest.mark.usefixtures("log"),
]


TIMELINES = {
    "pair": ["pair.facts", "pair.outline", "pair.article"],
    "async": ["async.north", "async.south", "async.merge"],
    "line": ["one", "two", "three"],
    "join": ["a", "b", "merge", "judge", "ship"],
    "ask": ["draft", "review (asks)", "review", "publish"],
    "cycle": ["one", "turn", "turn", "turn", "stop"],
    "again": ["once", "once", "once"],
}


@pytest.mark.parametrize("name", STEPS)
async def test_each_shape_gives_its_result_and_a_checkpoint_per_unit(name: str, tmp_path: Path, log: Path) -> None:
    async with serving(app, f"sqlite:///{tmp_path}/jobs.db") as coordinator:
        job = await coordinator.submit(name, INPUT[name])
        if name in ANSWERS:
            await question(job)
            await job.answer(ANSWERS[name])
        done = await job.result(timeout=30)
        assert done.model_dump() == EXPECTED[name]
        steps = [each.step for each in await checkpoints(coordinator, job)]
        in_order = sorted if name in PARALLEL else list
        assert in_order(labels(log)) == in_order(STEPS[name])
        assert in_order(steps) == in_order(TIMELINES[name])


async def test_the_state_of_a_checkpoint_is_readable() -> None:
    async with serving(app) as coordinator:
        job = await coordinator.submit("pair", INPUT["pair"])
        await job.result(timeout=30)
        facts, outline, _ = (await checkpoints(coordinator, job))[-1].state["tasks"].items()
        typed = {"topic": "queues", "facts": ["fast", "fair"]}
        assert facts == ("pair.facts", {"raw": json.dumps(typed), "pydantic": typed})
        assert outline == ("pair.outline", {"raw": "OUTLINE of 2 facts"})
        job = await coordinator.submit("join", INPUT["join"])
        await job.result(timeout=30)
        last = (await checkpoints(coordinator, job))[-1]
        assert {**last.state, "id": ""} == {"id": "", "text": "queues", "a": "A", "b": "B", "merged": "A+B"}
        assert last.framework == "crewai"


async def test_a_job_visits_an_agent_three_times_with_fresh_state() -> None:
    async with serving(app) as coordinator:
        job = await coordinator.submit("again", {"n": 0})
        assert (await job.result(timeout=30)).n == 3
        assert (await job.info()).path == ("again", "again", "again")
        assert [each.state["n"] for each in await checkpoints(coordinator, job)] == [0, 1, 2]


async def test_a_canceled_crew_stops_at_its_next_call(crews: Crews) -> None:
    stopped = threading.Event()
    looked: list[str] = []

    @tool("look")
    def look(at: str) -> str:
        """Looks at something."""
        looked.append(at)
        return "seen"

    def say(said: str) -> str:
        for _ in range(1000):
            try:
                bp.current().check()
            except bp.Canceled:
                break
            time.sleep(0.01)
        return 'Thought: t\nAction: look\nAction Input: {"at": "x"}'

    crews.script["a"] = say
    async with serving(only(lambda: crews.crew(crews.task("a", tools=[look])))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await until(lambda: bool(crews.ran))
        with crewai_event_bus.scoped_handlers():
            crewai_event_bus.on(CrewKickoffFailedEvent)(lambda source, event: stopped.set())
            assert await job.cancel()
            await until(stopped.is_set)
    assert crews.ran == ["a"]
    assert not looked


async def test_an_error_that_a_race_swallows_ends_the_flow_at_once() -> None:
    ran: list[str] = []

    class Racing(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def begin(self) -> None: ...

        @listen(begin)
        def left(self) -> Any:
            return object()  # can't be saved

        @listen(begin)
        async def right(self) -> None:
            await asyncio.sleep(60)

        @listen(or_(left, right))
        def end(self) -> None:
            ran.append("end")

    failed = await failure(Racing)
    assert failed.reason == "refused"
    assert "result of method 'left'" in failed.error
    assert not ran


async def test_results_that_fit_become_the_contract(crews: Crews) -> None:
    note = Note(text="x")
    for value in (Article(text="x"), "x", '{"text": "x"}', '```json\n{"text": "x"}\n```\n', {"text": "x"}, note):
        assert await result(returning(value)) == Article(text="x")
    crews.script["facts"] = '{"topic": "t", "facts": []}'
    typed = await result(lambda: crews.crew(crews.task("facts", output_pydantic=Facts)), returns=Facts)
    assert typed == Facts(topic="t", facts=[])
    parsed = await result(lambda: crews.crew(crews.task("facts", output_json=Facts)), returns=Facts)
    assert parsed == typed
    chosen = await result(returning(1), leave=lambda value, ctx: Article(text=f"{value} of {ctx.agent}"))
    assert chosen == Article(text="1 of a")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "did its last method forget return?"),
        (5, "ended with int"),
        ("plain text", "requires a, b"),
        ({"a": "x"}, "b: Field required"),
    ],
)
async def test_results_that_do_not_fit_are_violations(value: Any, said: str) -> None:
    failed = await failure(returning(value), returns=Two)
    assert failed.reason == "contract"
    assert said in failed.error


async def test_a_factory_that_gives_something_else_is_refused(crews: Crews) -> None:
    class Project:
        def crew(self) -> None: ...

    alone = "Agent: give it a Task in a Crew, or call its kickoff() in a method of a Flow"
    cases = {
        "int": lambda: 5,
        "Project: call its .crew()": Project,
        "the class Flow: call it": lambda: Flow,
        alone: lambda: crews.task("t").agent,
    }
    for said, factory in cases.items():
        failed = await failure(factory)
        assert failed.reason == "refused"
        assert failed.error == f"the factory of agent 'a' must return a CrewAI Crew or Flow, not {said}"
    failed = await failure(returning("x"), enter=lambda payload, ctx: 5)
    assert "kickoff takes a dict of inputs" in failed.error
    failed = await failure(lambda: Crew(agents=[crews.task("t").agent], tasks=[]))
    assert (failed.reason, "returned a crew without tasks" in failed.error) == ("refused", True)


async def test_a_next_that_finds_nothing_fails_the_job(crews: Crews) -> None:
    """A StopIteration from a thread can't reach the coroutine that awaits it: the job used to stay working forever."""

    class Finds(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def find(self) -> str:
            return next(iter(list[str]()))

    crews.script["t"] = lambda said: next(iter(()))
    cases: dict[str, Any] = {"method 'find'": Finds, "Model.call": lambda: crews.crew(crews.task("t"))}
    for name, factory in cases.items():
        failed = await failure(factory, retries=1)
        assert failed.reason == "attempts"
        assert f"{name} raised StopIteration" in failed.error


async def test_factories_get_the_context_and_are_held_open(crews: Crews) -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def factory(ctx: bp.Context) -> AsyncIterator[Crew]:
        seen.append(f"open {ctx.agent}")
        yield crews.crew(crews.task("t", async_execution=True))
        seen.append("closed")

    crews.script["t"] = lambda said: f"hop {bp.current().hop}, {seen}"
    assert (await result(factory)).text == "hop 0, ['open a']"
    assert seen == ["open a", "closed"]


def test_a_missing_or_old_crewai_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crewai.hooks.dispatch", None)
    with pytest.raises(bp.BadSetup, match=r"1\.15\.6 or newer"):
        CrewAIAdapter()
    monkeypatch.setitem(sys.modules, "crewai", None)
    with pytest.raises(bp.MissingExtra, match=r"pip install 'batonpass\[crewai\]'"):
        CrewAIAdapter()


async def test_a_flow_may_return_a_handoff_that_its_code_does_not_name() -> None:
    made = bp.App("two")
    attempts: list[Any] = []

    class Sends(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def send(self) -> Any:
            return bp.Handoff("b", Article(text="for b"))

    def leave(handoff: Any) -> Any:
        attempts.append(handoff)
        if len(attempts) == 1:
            raise OSError("no network")
        return handoff

    made.crewai("a", accepts=Topic, returns=Topic, hands_to={"b": Article}, leave=leave)(Sends)
    made.agent("b", accepts=Article, returns=Article)(lambda article: article)
    assert await made.run("a", Topic(text="rain"), timeout=20) == Article(text="for b")
    assert attempts == [bp.Handoff("b", Article(text="for b"))] * 2

"""The LangGraph adapter through the real thing: a worker, a store, graphs with a scripted model."""

from __future__ import annotations

import asyncio
import operator
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, TypedDict

import anyio
import pytest
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy, Send, interrupt
from pydantic import BaseModel

import batonpass as bp
from batonpass.coordinator.blobs import seal_blob
from batonpass.coordinator.commands import AnswerJob
from batonpass.testing import crash_everywhere, serving

from ..apps.kit import checkpoints, labels, question
from ..apps.langgraph_app import ANSWERS, EXPECTED, INPUT, STEPS, Topic, Words, app
from ..apps.langgraph_kit import failure, graph, only, result

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.usefixtures("log")]

TIMELINES = {
    "line": ["input", "first", "second", "third"],
    "fan": ["input", "split", "left, right", "join"],
    "ask": ["input", "draft", "person asks", "person asks", "person", "publish"],
    "gate": ["input", "draft", "before publish", "publish"],
    "react": ["input", "agent", "tools", "agent"],
    "nested": ["input", "before", "part", "after"],
    "twice": ["input", "work", "close", "input", "work", "close"],
    "lend": ["input", "before", "away hands off", "look", "away", "after"],
}


class Report(bp.Contract, name="langgraph_tests.report"):
    body: str


class Item(BaseModel):
    name: str


class Typed(TypedDict, total=False):
    text: str
    items: list[Item]
    notes: Annotated[list[str], operator.add]


class Loose(Words, total=False):
    anything: Any


class Yes(BaseModel):
    yes: bool


@pytest.mark.parametrize("name", STEPS)
async def test_each_shape_gives_its_result_and_a_checkpoint_per_superstep(name: str, tmp_path: Path, log: Path) -> None:
    async with serving(app, f"sqlite:///{tmp_path}/jobs.db") as coordinator:
        job = await coordinator.submit(name, INPUT[name])
        for answer in ANSWERS.get(name, []):
            await question(job)
            await job.answer(answer)
        done = await job.result(timeout=30)
        assert done.model_dump() == EXPECTED[name]
        assert sorted(labels(log)) == sorted(STEPS[name])
        assert [each.step for each in await checkpoints(coordinator, job)] == TIMELINES[name]


async def test_the_state_of_a_checkpoint_is_readable() -> None:
    async with serving(app) as coordinator:
        job = await coordinator.submit("react", INPUT["react"])
        await job.result(timeout=30)
        last = (await checkpoints(coordinator, job))[-1]
        kinds = [(message["type"], message["content"]) for message in last.state["messages"]]
        assert kinds == [("human", "rain"), ("ai", ""), ("tool", "4"), ("ai", "it has 4 letters")]
        assert last.framework == "langgraph"


async def test_questions_take_their_own_answers() -> None:
    async with serving(app) as coordinator:
        job = await coordinator.submit("ask", INPUT["ask"])
        assert await question(job) == {"question": "who approves?", "about": "rain"}
        await job.answer("Ada")
        assert await question(job) == "sure?"
        await job.answer(None)
        assert (await job.result(timeout=20)).notes[1] == "approved by Ada, None"


async def test_an_answer_is_not_used_twice_when_the_attempt_fails_after_it() -> None:
    failing = [True]

    def person(state: Any) -> Any:
        first = interrupt("first?")
        if failing:
            failing.clear()
            raise OSError("no network")
        return {"notes": [first, interrupt("second?")]}

    async with serving(only(lambda: graph(person))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        for asked, answer in (("first?", "one"), ("second?", "two")):
            assert await question(job) == asked
            await job.answer(answer)
        assert (await job.result(timeout=20)).notes == ["one", "two"]


def asking(name: str) -> Any:
    return lambda state: {"notes": [f"{name} {interrupt(name)}"]}


async def test_parallel_interrupts_are_answered_by_their_ids() -> None:
    def factory() -> Any:
        made = StateGraph(Words)
        for name in ("left", "right"):
            made.add_node(name, asking(name))
            made.add_edge(START, name)
        return made

    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        asked = await question(job)
        assert sorted(asked.values()) == ["left", "right"]
        await job.answer({name: value.upper() for name, value in asked.items()})
        assert (await job.result(timeout=20)).notes == ["left LEFT", "right RIGHT"]


async def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    def person(state: Any) -> Any:
        return {"notes": [str(interrupt("yes?", response_schema=Yes).yes)]}

    app = only(lambda: graph(person), asks=bp.Asks(assignee="ann", timeout=3600, escalate="lead"))
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await question(job)
        [first] = await coordinator.inbox()
        with pytest.raises(bp.ContractViolation, match="'perhaps' is not of type 'object'"):
            await job.answer("perhaps")
        # An older client sends one that nobody has checked.
        await coordinator.store.acall(AnswerJob(job.id, seal_blob("perhaps", path="answer")))
        with anyio.fail_after(10):
            while not [item for item in await coordinator.inbox() if item.error]:
                await anyio.sleep(0.01)
        assert await question(job) == "yes?"
        [second] = await coordinator.inbox()
        assert (second.assignee, second.due_at, second.escalation) == ("ann", first.due_at, (("lead", 3600.0),))
        await job.answer({"yes": True})
        assert (await job.result(timeout=20)).notes == ["True"]


def paused_between(where: str) -> bp.App:
    def first(state: Any) -> Any:
        return {"notes": ["first"]}

    def second(state: Any) -> Any:
        return {"notes": ["second"]}

    stop: dict[str, Any] = {where: ["second" if where == "interrupt_before" else "first"]}
    return only(lambda: graph(first, second).compile(**stop))


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
async def test_a_breakpoint_waits_for_a_person(where: str) -> None:
    async with serving(paused_between(where)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert await question(job) == {"paused_before": ["second"]}
        await job.answer("go")
        assert (await job.result(timeout=20)).notes == ["first", "second"]


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
def test_no_crash_gets_a_job_past_a_breakpoint(where: str) -> None:
    asked: list[Any] = []

    def answer(item: bp.InboxItem) -> str:
        asked.append(item.question)
        return "go"

    crashes = crash_everywhere(paused_between(where), "a", Topic(text="rain"), answer=answer)
    assert any("Suspend" in crash.at for crash in crashes)
    assert asked == [{"paused_before": ["second"]}] * len(crashes)


async def test_a_node_whose_routing_failed_runs_again() -> None:
    failing, runs = [True], []

    def first(state: Any) -> Any:
        runs.append("first")
        return {"notes": ["first"]}

    def last(state: Any) -> Any:
        return {"notes": ["last"]}

    def route(state: Any) -> str:
        if failing:
            failing.clear()
            raise OSError("no network")
        return "last"

    def factory() -> Any:
        made = graph(first)
        made.add_node("last", last)
        made.add_conditional_edges("first", route, ["last"])
        return made

    assert (await result(factory)).notes == ["first", "last"]
    assert runs == ["first", "first"]


async def test_what_a_node_did_stays_when_two_attempts_fail_beside_it() -> None:
    """The record of the second node may not take the place of the first one's."""
    ran: Counter[str] = Counter()
    over = {name: asyncio.Event() for name in ("one", "two")}

    async def one(state: Any) -> Any:
        ran["one"] += 1
        over["one"].set()
        return {"notes": ["one"]}

    async def two(state: Any) -> Any:
        ran["two"] += 1
        if ran["two"] == 1:
            await over["one"].wait()
            raise OSError("no network")
        over["two"].set()
        return {"notes": ["two"]}

    async def three(state: Any) -> Any:
        ran["three"] += 1
        await over["two"].wait()
        if ran["three"] == 2:
            raise OSError("no network")
        return {"notes": ["three"]}

    made = StateGraph(Words)
    for node in (one, two, three):
        made.add_node(node.__name__, node)
        made.add_edge(START, node.__name__)
    done = await result(lambda: made, retries=bp.Retry(first=0.001))
    assert sorted(done.notes) == ["one", "three", "two"]
    assert ran == {"one": 1, "two": 2, "three": 3}


async def test_declared_types_come_back_in_the_next_attempt() -> None:
    failing, seen = [True], []

    def first(state: Any) -> Any:
        return {"items": [Item(name="one")]}

    def second(state: Any) -> Any:
        if failing:
            failing.clear()
            raise OSError("no network")
        seen.extend(state["items"])
        return {"notes": [state["items"][0].name]}

    assert (await result(lambda: graph(first, second, state=Typed))).notes == ["one"]
    assert seen == [Item(name="one")]


async def test_types_that_could_not_be_restored_are_refused_at_save() -> None:
    def undeclared(state: Any) -> Any:
        return {"anything": [Item(name="one")]}

    failed = await failure(lambda: graph(undeclared, state=Loose))
    assert failed.reason == "refused"
    assert "'anything'[0] is a" in failed.error
    assert "name the type in the graph's state schema" in failed.error

    class Local(BaseModel):
        name: str

    class Declared(Words, total=False):
        local: Local

    Declared.__annotations__["local"] = Local

    def local(state: Any) -> Any:
        return {"local": Local(name="one")}

    assert "top level of its module" in (await failure(lambda: graph(local, state=Declared))).error


async def test_sends_are_one_superstep() -> None:
    def split(state: Any) -> Any:
        return {"notes": ["split"]}

    def work(state: Any) -> Any:
        return {"notes": [state["text"]]}

    def factory() -> Any:
        made = graph(split)
        made.add_node("work", work)
        made.add_conditional_edges("split", lambda state: [Send("work", {"text": each}) for each in "xyz"], ["work"])
        return made

    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert (await job.result(timeout=20)).notes == ["split", "x", "y", "z"]
        assert [each.step for each in await checkpoints(coordinator, job)] == ["input", "split", "work x3"]


async def test_a_functional_graph_keeps_its_tasks() -> None:
    failing, runs = [True], []

    @task
    async def one(text: str) -> str:
        runs.append("one")
        return text + "1"

    @task
    def two(text: str) -> str:
        runs.append("two")
        if failing:
            failing.clear()
            raise OSError("no network")
        return text + "2"

    @entrypoint()
    async def flow(given: dict[str, Any]) -> dict[str, Any]:
        return {"notes": [await two(await one(given["text"]))]}

    assert (await result(lambda: flow)).notes == ["rain12"]
    assert runs == ["one", "two", "two"]


async def test_nodes_know_their_job() -> None:
    def sync_node(state: Any) -> Any:
        return {"notes": [bp.current().job_id]}

    async def async_node(state: Any) -> Any:
        return {"notes": [await bp.current().step("name", lambda: bp.current().agent, key="node")]}

    async with serving(only(lambda: graph(sync_node, async_node))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert (await job.result(timeout=20)).notes == [job.id, "a"]


async def test_a_canceled_job_stops_its_graph_at_once() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def slow(state: Any) -> Any:
        started.set()
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()
        return {}

    def factory() -> Any:
        made = StateGraph(Words)
        made.add_node("slow", slow, retry_policy=RetryPolicy())
        made.add_edge(START, "slow")
        return made

    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with anyio.fail_after(20):
            await started.wait()
            await job.cancel()
            await stopped.wait()
        with pytest.raises(bp.JobCanceled):
            await job.result(timeout=30)

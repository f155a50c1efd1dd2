"""How a graph's interrupts are answered: several at once, told apart by their ids, and those of LangChain."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

import batonpass as bp

from ..apps.kit import question
from ..apps.langgraph_app import Topic, Words
from ..apps.langgraph_kit import graph, only
from ..workers.serving import DEADLINE, serving

pytestmark = pytest.mark.capability("langgraph")


class Amount(BaseModel):
    euros: int


class Payment(BaseModel):
    amount: Amount


def asking(name: str, **options: Any) -> Any:
    return lambda state: {"notes": [f"{name} {interrupt(name, **options)}"]}


def both(**options: Any) -> Any:
    made = StateGraph(Words)
    for name, said in (("left", options), ("right", {})):
        made.add_node(name, asking(name, **said))
        made.add_edge(START, name)
    return made


async def asked(coordinator: bp.Coordinator) -> bp.InboxItem:
    with anyio.fail_after(DEADLINE):
        while not (items := await coordinator.inbox()):
            await anyio.sleep(0.01)
    return items[0]


async def test_an_answer_for_none_of_them_is_refused() -> None:
    async with serving(only(both)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        ids = {name: key for key, name in (await asked(coordinator)).question.items()}
        for answer in ("both", {}, {"left": "1"}, {ids["left"]: "1", "right": "2"}):
            with pytest.raises(bp.ContractViolation):
                await job.answer(answer)
        await job.answer({ids["left"]: "1"})
        item = await next_to(coordinator, {ids["right"]: "right"})
        with pytest.raises(bp.ContractViolation):
            await coordinator.answer(item.id, "2")
        await coordinator.answer(item.id, {ids["right"]: "2"})
        assert (await job.result(timeout=DEADLINE)).notes == ["left 1", "right 2"]


async def next_to(coordinator: bp.Coordinator, question: Any) -> bp.InboxItem:
    """The inbox item of a question, once it is asked."""
    with anyio.fail_after(DEADLINE):
        while (item := await asked(coordinator)).question != question:
            await anyio.sleep(0.01)
    return item


async def test_what_is_left_of_several_is_answered_by_its_id_too() -> None:
    """Whoever answers in a loop would otherwise give the last node {id: False}, which is no refusal. What is asked
    after them is a question of its own."""

    def twice(state: Any) -> Any:
        return {"notes": [f"right {interrupt('pay?')!r} {interrupt('sure?')!r}"]}

    def made() -> Any:
        graph = StateGraph(Words)
        graph.add_node("left", asking("left"))
        graph.add_node("right", twice)
        graph.add_edge(START, "left")
        graph.add_edge(START, "right")
        return graph

    async with serving(only(made)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        ids = {name: key for key, name in (await asked(coordinator)).question.items()}
        await job.answer({ids["left"]: False})
        item = await next_to(coordinator, {ids["pay?"]: "pay?"})
        assert item.schema is not None
        assert list(item.schema["properties"]) == [ids["pay?"]]
        await coordinator.answer(item.id, {ids["pay?"]: False})
        item = await next_to(coordinator, "sure?")
        await coordinator.answer(item.id, {"yes": False})
        assert (await job.result(timeout=DEADLINE)).notes == ["left False", "right False {'yes': False}"]


def around(part: Any) -> Any:
    made = StateGraph(Words)
    made.add_node("part", part)
    made.add_edge(START, "part")
    return made


@pytest.mark.parametrize("stop", [{"interrupt_before": ["act"]}, {"interrupt_after": ["ask"]}], ids=["before", "after"])
@pytest.mark.parametrize("deep", [False, True], ids=["", "deep"])
async def test_a_breakpoint_of_a_part_is_not_its_answered_question(stop: dict[str, Any], deep: bool) -> None:
    def ask(state: Any) -> Any:
        return {"notes": [interrupt("who?")]}

    def act(state: Any) -> Any:
        return {"notes": ["acts"]}

    part = graph(ask, act).compile(**stop)
    async with serving(only(lambda: around(around(part).compile() if deep else part))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert await question(job) == "who?"
        await job.answer("Ada")
        assert await question(job, "who?") == {"paused_before": ["part"]}
        await job.answer("go")
        assert (await job.result(timeout=DEADLINE)).notes == ["Ada", "acts"]


async def test_each_is_checked_by_its_own_schema() -> None:
    async with serving(only(lambda: both(response_schema=Payment))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        ids = {name: key for key, name in (await asked(coordinator)).question.items()}
        with pytest.raises(bp.ContractViolation, match="'much' is not of type 'integer'"):
            await job.answer({ids["left"]: {"amount": {"euros": "much"}}})
        await job.answer({ids["left"]: {"amount": {"euros": 7}}, ids["right"]: "2"})
        assert (await job.result(timeout=DEADLINE)).notes == ["left amount=Amount(euros=7)", "right 2"]


async def test_a_default_is_the_answer_to_each() -> None:
    async with serving(only(both, asks=bp.Asks(timeout=0.01, default="no"))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert (await job.result(timeout=DEADLINE)).notes == ["left no", "right no"]


async def test_a_default_that_is_no_answer_ends_the_job() -> None:
    asks = bp.Asks(timeout=0.01, default="no")
    async with serving(only(lambda: both(response_schema=Payment), asks=asks)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed, match=r"nobody answered .* default='no' of asks= does not answer") as failed:
            await job.result(timeout=DEADLINE)
        assert failed.value.reason == "unanswered"


async def test_decisions_that_langchains_middleware_would_raise_at_are_refused() -> None:
    """The middleware would raise at each attempt, so that a slip would end the job."""
    review = {"action_name": "pay", "allowed_decisions": ["approve", "edit", "reject"]}
    request = {"action_requests": [{"name": "pay", "args": {"n": 7}}] * 2, "review_configs": [review] * 2}

    def person(state: Any) -> Any:
        return {"notes": [decision["type"] for decision in interrupt(request)["decisions"]]}

    async with serving(only(lambda: graph(person))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert (await asked(coordinator)).options == ("approve", "edit", "reject")
        one, other = {"type": "approve"}, {"type": "reject", "message": "no"}
        wrong: list[tuple[Any, str]] = [
            ("yes", "'yes' is not one of ['approve', 'reject']"),
            ("edit", "'edit' is not one of ['approve', 'reject']"),
            (one, "decisions: Field required"),
            ({"decisions": [one]}, "is too short"),
            ({"decisions": [one, {"type": "respond"}]}, "'respond' is not one of"),
            ({"decisions": [one, {"type": "edit"}]}, "edited_action: Field required"),
            ({"decisions": [one, {"type": "edit", "edited_action": {"name": "pay"}}]}, "args: Field required"),
        ]
        for answer, why in wrong:
            with pytest.raises(bp.ContractViolation) as told:
                await job.answer(answer)
            assert why in str(told.value)
        await job.answer({"decisions": [one, other]})
        assert (await job.result(timeout=DEADLINE)).notes == ["approve", "reject"]


@pytest.mark.parametrize("word", ["approve", "reject"])
async def test_a_word_decides_all_that_langchains_middleware_asks(word: str) -> None:
    """The inbox shows the word among the options."""
    review = {"action_name": "pay", "allowed_decisions": ["approve", "reject"]}
    request = {"action_requests": [{"name": "pay", "args": {"n": 7}}] * 2, "review_configs": [review] * 2}

    def person(state: Any) -> Any:
        return {"notes": [decision["type"] for decision in interrupt(request)["decisions"]]}

    async with serving(only(lambda: graph(person))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert word in (await asked(coordinator)).options
        await job.answer(word)
        assert (await job.result(timeout=DEADLINE)).notes == [word, word]


def handling(handler: Any, ran: list[str]) -> Any:
    """A graph with a node that asks, and one that fails beside it and has an error handler."""

    def fails(state: Any) -> Any:
        ran.append("fails")
        raise OSError("no network")

    made = StateGraph(Words)
    made.add_node("fails", fails, error_handler=handler)
    made.add_node("other", asking("other"))
    made.add_edge(START, "fails")
    made.add_edge(START, "other")
    return made


async def test_an_error_handler_that_has_ended_is_no_lost_node() -> None:
    """It runs again after the answer, as with LangGraph's own savers; the node that failed doesn't."""
    ran: list[str] = []

    def handles(state: Any) -> Any:
        return {"notes": ["handled"]}

    async with serving(only(lambda: handling(handles, ran))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert (await asked(coordinator)).question == "other"
        await job.answer("1")
        assert (await job.result(timeout=DEADLINE)).notes == ["handled", "other 1"]
        assert ran == ["fails"]


async def test_an_error_handler_asks() -> None:
    """LangGraph returns the handler's question as the run's result, and shows it in no state."""
    ran: list[str] = []

    def handles(state: Any) -> Any:
        return {"notes": [f"{interrupt('what now?')}, {interrupt('sure?')}"]}

    async with serving(only(lambda: handling(handles, ran))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        ids = {name: key for key, name in (await asked(coordinator)).question.items()}
        assert sorted(ids) == ["other", "what now?"]
        await job.answer({ids["what now?"]: "go on", ids["other"]: "1"})
        with anyio.fail_after(DEADLINE):
            while (item := await asked(coordinator)).question != "sure?":
                await anyio.sleep(0.01)
        await coordinator.answer(item.id, "yes")
        assert (await job.result(timeout=DEADLINE)).notes == ["go on, yes", "other 1"]
        assert ran == ["fails"]

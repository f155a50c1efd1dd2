"""`memory="thread"`: the next job on a thread finds the framework's state as the agent's last job left it."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypedDict, cast

import anyio
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import LLMMessage
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

import batonpass as bp
from batonpass.coordinator.commands import Save
from batonpass.coordinator.store import Store
from batonpass.testing import serving

from .apps.autogen_app import ScriptedModel
from .apps.kit import question
from .apps.langgraph_app import Graph, Notes, Topic, in_order
from .apps.langgraph_kit import graph, only

pytestmark = [
    pytest.mark.usefixtures("log"),
    pytest.mark.capability("langgraph", "autogen"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class Said(bp.Contract, name="thread_memory.said"):
    text: str


class Chat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]


def answer(state: Any) -> Any:
    return {"messages": [AIMessage(f"answer {len(state['messages']) // 2 + 1}")]}


def chat() -> Any:
    made: Graph = StateGraph(Chat)
    return made.add_node("answer", answer).add_edge(START, "answer")


def everything(result: Any) -> Said:
    return Said(text=" | ".join(message.text for message in result["messages"]))


def chatting(**options: Any) -> bp.App:
    app = bp.App("chat")
    declared: dict[str, Any] = {"accepts": Said, "returns": Said, "leave": everything, "memory": "thread", **options}
    app.langgraph("chat", **declared)(chat)
    return app


@asynccontextmanager
async def conversation(app: bp.App, store: str = "memory://", agent: str = "chat") -> AsyncIterator[Callable[..., Any]]:
    """Submits a job on the thread `t` and waits for its result."""
    async with serving(app, store) as coordinator:

        async def say(text: str, thread: str = "t") -> str:
            job = await coordinator.submit(agent, Said(text=text), thread=thread, returns=Said)
            return (await job.result(timeout=20)).text

        yield say


@pytest.mark.parametrize("url", ["memory", "sqlite", "redis"])
async def test_a_conversation_is_one_thread_with_a_job_for_each_turn(url: str, request: pytest.FixtureRequest) -> None:
    store = "memory://" if url == "memory" else request.getfixturevalue(f"{url}_url")
    async with conversation(chatting(), store) as say:
        assert await say("a") == "a | answer 1"
        assert await say("b") == "a | answer 1 | b | answer 2"
        assert await say("x", "other") == "x | answer 1"
        assert await say("c") == "a | answer 1 | b | answer 2 | c | answer 3"


async def test_other_kinds_of_memory_begin_anew() -> None:
    for memory in ("hop", "job"):
        async with conversation(chatting(memory=memory)) as say:
            assert await say("a") == "a | answer 1"
            assert await say("b") == "b | answer 1"


async def test_turns_that_wait_in_line_find_what_those_before_left() -> None:
    app = chatting()
    async with bp.connect("memory://", app=app) as coordinator:
        jobs = [
            await coordinator.submit("chat", Said(text=text), thread="t", on_busy="queue", returns=Said)
            for text in "abc"
        ]
        async with app.worker(coordinator):
            assert [(await job.result(timeout=20)).text.count("answer") for job in jobs] == [1, 2, 3]


async def test_what_a_turn_adds_is_all_that_it_stores(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The messages before are shared with the job before."""
    sent: list[int] = []
    async with serving(chatting(), redis_url) as coordinator:
        acall = type(coordinator.store).acall

        async def noted(store: Store, command: Any) -> Any:
            if isinstance(command, Save):
                new = command.checkpoint
                sent.append(sum(len(part.data) for part in new.appends) + len(new.state))
            return await acall(store, command)

        monkeypatch.setattr(type(coordinator.store), "acall", noted)
        for _ in range(12):
            job = await coordinator.submit("chat", Said(text="x" * 2000), thread="t")
            await job.result(timeout=20)
    assert max(sent[-3:]) < 2 * max(sent[:3]), sent


async def test_a_job_that_was_stopped_in_the_middle_leaves_what_it_had() -> None:
    """Its question is not asked again, and its unfinished node does not go on."""

    def first(state: Any) -> Any:
        return {"notes": [f"first {state['text']}"]}

    def second(state: Any) -> Any:
        return {"notes": [f"second {interrupt('sure?') if state['text'] == 'a' else 'unasked'}"]}

    async with serving(only(lambda: graph(first, second), memory="thread")) as coordinator:
        stopped = await coordinator.submit("a", Topic(text="a"), thread="t")
        assert await question(stopped) == "sure?"
        await stopped.cancel()
        job = await coordinator.submit("a", Topic(text="b"), thread="t")
        assert (await job.result(timeout=20)).notes == ["first a", "first b", "second unasked"]


@pytest.mark.parametrize(("on_busy", "left"), [("interrupt", "a | answer 1 | b | c"), ("rollback", "a | answer 1 | c")])
async def test_a_message_that_another_one_interrupts(on_busy: Any, left: str) -> None:
    """It is part of the conversation, though nothing had ended, unless it is rolled back."""
    answering = anyio.Event()

    async def answer_in_time(state: Any) -> Any:
        if state["messages"][-1].text == "b":
            answering.set()
            await anyio.sleep_forever()
        return answer(state)

    app = bp.App("chat")

    def made() -> Any:
        return StateGraph(Chat).add_node("answer", answer_in_time).add_edge(START, "answer")

    app.langgraph("chat", accepts=Said, returns=Said, leave=everything, memory="thread")(made)
    async with serving(app) as coordinator:
        await (await coordinator.submit("chat", Said(text="a"), thread="t")).result(timeout=20)
        await coordinator.submit("chat", Said(text="b"), thread="t")
        with anyio.fail_after(20):
            await answering.wait()
        job = await coordinator.submit("chat", Said(text="c"), thread="t", on_busy=on_busy, returns=Said)
        assert (await job.result(timeout=20)).text.startswith(f"{left} | answer")


async def test_a_job_that_rolls_another_back_goes_on_from_where_that_began() -> None:
    def note(state: Any) -> Any:
        return {"notes": [state["text"]]}

    def ask(state: Any) -> Any:
        return {"notes": [interrupt("sure?")]} if state["text"] == "b" else {}

    async with serving(only(lambda: graph(note, ask), memory="thread")) as coordinator:
        await (await coordinator.submit("a", Topic(text="a"), thread="t")).result(timeout=20)
        await question(await coordinator.submit("a", Topic(text="b"), thread="t"))
        job = await coordinator.submit("a", Topic(text="c"), thread="t", on_busy="rollback")
        assert (await job.result(timeout=20)).notes == ["a", "c"]


async def test_each_agent_has_its_own_state_and_a_thread_can_be_taken_back() -> None:
    app = chatting()
    app.langgraph("other", accepts=Said, returns=Said, leave=everything, memory="thread")(chat)
    async with serving(app) as coordinator:

        async def say(agent: str, text: str) -> str:
            job = await coordinator.submit(agent, Said(text=text), thread="t", returns=Said)
            return (await job.result(timeout=20)).text

        await say("chat", "a")
        begun = (await coordinator.timeline("t"))[0]
        assert await say("other", "x") == "x | answer 1"
        assert await say("chat", "b") == "a | answer 1 | b | answer 2"
        assert await say("other", "y") == "x | answer 1 | y | answer 2"
        await coordinator.rollback("t", to=begun.id)
        assert await say("chat", "c") == "a | answer 1 | c | answer 2"
        assert await say("other", "z") == "z | answer 1"
        fork = await coordinator.fork(begun.id, agent="chat", payload=Said(text="d"), returns=Said)
        assert (await fork.result(timeout=20)).text == "a | answer 1 | d | answer 2"


async def test_a_turn_that_hands_on_and_comes_back() -> None:
    """In the job after, the interrupt that waited for the first job does not take the new payload for its answer."""

    def gate(state: Any) -> Any:
        return {"notes": [interrupt(bp.Handoff("b", Topic(text=state["text"]))).text]}

    app = only(lambda: graph(gate), memory="thread", hands_to={"b": Topic})

    @app.agent("b", accepts=Topic, hands_to={"a": Topic})
    async def b(topic: Topic, ctx: bp.Context) -> bp.Handoff[Topic]:
        if topic.text == "never":
            await anyio.sleep_forever()
        return ctx.hand_off("a", Topic(text=f"{topic.text} back"))

    async with serving(app) as coordinator:
        first = await coordinator.submit("a", Topic(text="one"), thread="t", returns=Notes)
        assert (await first.result(timeout=20)).notes == ["one back"]
        lost = await coordinator.submit("a", Topic(text="never"), thread="t")
        with anyio.fail_after(20):
            while (await lost.info()).agent != "b":
                await anyio.sleep(0.01)
        await lost.cancel()
        job = await coordinator.submit("a", Topic(text="two"), thread="t", returns=Notes)
        assert (await job.result(timeout=20)).notes == ["one back", "two back"]


class Kept(TypedDict, total=False):
    text: str
    visits: Annotated[list[int], operator.add]


@pytest.mark.parametrize("stops", [False, True])
async def test_a_part_that_keeps_its_state_keeps_it_for_the_thread(stops: bool) -> None:
    """Also if the job stopped after it."""

    def visit(state: Any) -> Any:
        return {"visits": [len(state.get("visits", ()))], "text": f"visit {len(state.get('visits', ()))}"}

    def note(state: Any) -> Any:
        return {"notes": [state["text"]]}

    def ask(state: Any) -> Any:
        return {} if len(state["notes"]) > 1 or not stops else {"notes": [interrupt("sure?")]}

    def make() -> Any:
        return in_order({"part": in_order({"visit": visit}, Kept).compile(checkpointer=True), "note": note, "ask": ask})

    async with serving(only(make, memory="thread")) as coordinator:
        first = await coordinator.submit("a", Topic(text="a"), thread="t")
        if stops:
            await question(first)
            await first.cancel()
        else:
            await first.result(timeout=20)
        job = await coordinator.submit("a", Topic(text="b"), thread="t")
        assert (await job.result(timeout=20)).notes == ["visit 0", "visit 1"]


async def test_a_team_goes_on_with_its_conversation() -> None:
    heard: list[list[str]] = []

    def reply(turn: int, messages: Sequence[LLMMessage]) -> str:
        heard.append([str(message.content) for message in messages if type(message).__name__ == "UserMessage"])
        return f"answer {len(heard)}"

    def last(result: Any) -> Said:
        return Said(text=cast("str", result.messages[-1].content))

    def team() -> Any:
        return RoundRobinGroupChat([AssistantAgent("clerk", ScriptedModel("clerk", reply))], max_turns=1)

    app = bp.App("team")
    app.autogen("chat", accepts=Said, returns=Said, leave=last, memory="thread")(team)
    async with conversation(app) as say:
        assert [await say(text) for text in "abc"] == ["answer 1", "answer 2", "answer 3"]
    assert heard == [["a"], ["a", "b"], ["a", "b", "c"]]


@pytest.mark.parametrize("kind", ["function", "crewai"])
def test_kinds_without_a_memory_say_so(kind: str) -> None:
    with pytest.raises(bp.BadSetup, match=r"memory='thread', but .* starts each visit fresh"):
        bp.App("a").agent("b", kind=kind, accepts=Said, returns=Said, memory="thread")(lambda said: said)


def test_a_memory_that_there_is_not() -> None:
    with pytest.raises(bp.BadSetup, match="it must be hop, job or thread"):
        only(chat, memory="for ever")

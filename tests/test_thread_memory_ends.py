"""`memory="thread"`: what a job leaves to the next one however it ended, and however the thread was changed since."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict, cast

import anyio
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff as ToMember
from autogen_agentchat.conditions import HandoffTermination, TextMentionTermination
from autogen_agentchat.teams import MagenticOneGroupChat, RoundRobinGroupChat, Swarm
from autogen_core import FunctionCall
from autogen_core.models import LLMMessage
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command, interrupt
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.langgraph.run.unanswered import closed
from batonpass.testing import serving

from .apps.autogen_app import ScriptedModel
from .apps.kit import question
from .apps.langgraph_app import Topic, in_order
from .apps.langgraph_kit import only
from .test_thread_memory import Chat, Kept, Said, answer, chat, chatting, everything

pytestmark = [
    pytest.mark.usefixtures("log"),
    pytest.mark.capability("langgraph", "autogen"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


async def said(coordinator: bp.Coordinator, agent: str, text: str) -> str:
    """What a job on the thread `t` answers."""
    job = await coordinator.submit(agent, Said(text=text), thread="t", returns=Said)
    return (await job.result(timeout=20)).text


class Caller(BaseChatModel):
    """Calls the tool `look` for each thing that it is told. Refuses a conversation as the providers do: one in which a
    call has no result."""

    @property
    def _llm_type(self) -> str:
        return "caller"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            made = AIMessage(f"saw {last.content}")
        else:
            made = AIMessage("", tool_calls=[{"name": "look", "args": {"at": last.text}, "id": f"c{len(messages)}"}])
        return ChatResult(generations=[ChatGeneration(message=made)])


_ENTER: dict[str, Any] = {
    "none": None,
    "a dict": lambda payload: {"messages": [("user", payload.text)]},
    "one message": lambda payload: {"messages": ("user", payload.text)},
}


@pytest.mark.parametrize("enter", _ENTER.values(), ids=_ENTER)
async def test_a_tool_call_that_a_canceled_job_left_is_answered(enter: Any) -> None:
    """No provider takes a conversation in which a call has no result: each later message would fail."""

    @tool
    def look(at: str) -> str:
        """Looks."""
        return cast("str", interrupt("really?")) if at == "b" else at

    app = bp.App("calls")
    options: Any = {"enter": enter, "leave": everything, "memory": "thread", "retries": 1}
    app.langgraph("a", accepts=Said, returns=Said, **options)(lambda: create_react_agent(Caller(), [look]))
    async with serving(app) as coordinator:
        assert await said(coordinator, "a", "a") == "a |  | a | saw a"
        stopped = await coordinator.submit("a", Said(text="b"), thread="t")
        assert await question(stopped) == "really?"
        await stopped.cancel()
        after = await said(coordinator, "a", "c")
        assert after.split(" | ")[4:] == [*("b", ""), after.split(" | ")[6], *("c", "", "c", "saw c")]
        assert "Whether it had an effect is not known" in after
        state: Any = (await coordinator.restore((await coordinator.timeline("t"))[0].id)).state
        assert [each.get("status") for each in state["messages"] if each["type"] == "tool"].count("error") == 1


class Messages(BaseModel):
    messages: list[Any] = []


@dataclass
class Also:
    messages: list[Any]


@pytest.mark.parametrize("given", [Messages(messages=["new"]), Also(["new"])])
def test_so_is_it_if_the_state_is_an_object(given: Any) -> None:
    call: Any = {"name": "look", "args": {}, "id": "c1"}
    answered, new = closed(given, {"messages": [AIMessage("", tool_calls=[call])]}).messages
    assert (answered.tool_call_id, answered.status, new) == ("c1", "error", "new")
    command = closed(Command(update=given, goto="agent"), {"messages": [AIMessage("", tool_calls=[call])]})
    assert (command.goto, len(command.update.messages)) == ("agent", 2)
    assert closed(given, {"messages": [AIMessage("done")]}) is given


async def test_so_is_one_that_it_left_in_a_part_which_keeps_its_state() -> None:
    """The part's own conversation is what its model is told."""

    @tool
    def look(at: str) -> str:
        """Looks."""
        return cast("str", interrupt("really?")) if at == "b" else at

    def make() -> Any:
        part = create_react_agent(Caller(), [look], checkpointer=True)
        return in_order({"part": part}, MessagesState)

    app = bp.App("calls")
    options: Any = {"leave": everything, "memory": "thread", "retries": 1}
    app.langgraph("a", accepts=Said, returns=Said, **options)(make)
    async with serving(app) as coordinator:
        assert (await said(coordinator, "a", "a")).endswith("saw a")
        stopped = await coordinator.submit("a", Said(text="b"), thread="t")
        assert await question(stopped) == "really?"
        await stopped.cancel()
        for text in "cd":
            assert (await said(coordinator, "a", text)).endswith(f"saw {text}")


async def test_an_edit_that_no_worker_took_is_part_of_the_conversation() -> None:
    """A value that there was none of was gone one turn later."""
    down = ["down"]

    def fails(state: Any) -> Any:
        if down:
            raise OSError("down")
        return {"notes": [state.get("spare", "nothing")]}

    app = only(lambda: in_order({"fails": fails}, Spared), memory="thread", retries=1)
    async with bp.connect("memory://", app=app) as coordinator:
        async with app.worker(coordinator):
            job = await coordinator.submit("a", Topic(text="a"), thread="t")
            with pytest.raises(bp.JobFailed):
                await job.result(timeout=20)
        await coordinator.redrive(job.id, changes={"spare": "kept"})
        await job.cancel()
        down.clear()
        async with app.worker(coordinator):
            for text in "bc":
                job = await coordinator.submit("a", Topic(text=text), thread="t")
                assert (await job.result(timeout=20)).notes[-1] == "kept"


async def test_so_is_what_a_fork_has_changed() -> None:
    def says(state: Any) -> Any:
        return {"notes": [state.get("spare", "nothing")]}

    async with serving(only(lambda: in_order({"says": says}, Spared), memory="thread")) as coordinator:
        await (await coordinator.submit("a", Topic(text="a"), thread="t")).result(timeout=20)
        [tip] = await coordinator.timeline("t", limit=1)
        await coordinator.fork(tip.id, changes={"spare": "kept"}, thread="other")
        for text in "bc":
            job = await coordinator.submit("a", Topic(text=text), thread="other")
            assert (await job.result(timeout=20)).notes[-1] == "kept"


class Spared(TypedDict, total=False):
    text: str
    spare: str
    notes: Annotated[list[str], operator.add]


@pytest.mark.parametrize("way", ["rollback", "fork", "thread"])
async def test_parts_keep_their_state_when_the_thread_is_changed(way: str) -> None:
    def visit(state: Any) -> Any:
        return {"visits": [len(state.get("visits", ()))], "text": f"visit {len(state.get('visits', ()))}"}

    def note(state: Any) -> Any:
        return {"notes": [state["text"]]}

    def make() -> Any:
        return in_order({"part": in_order({"visit": visit}, Kept).compile(checkpointer=True), "note": note})

    async with serving(only(make, memory="thread")) as coordinator:
        tips: list[bp.CheckpointSummary] = []
        for text in "ab":
            await (await coordinator.submit("a", Topic(text=text), thread="t")).result(timeout=20)
            tips += await coordinator.timeline("t", limit=1)
        thread = "other" if way == "thread" else "t"
        if way == "rollback":
            await coordinator.rollback("t", to=tips[0].id)
        else:
            await coordinator.fork(tips[0].id, thread=thread if way == "thread" else None)
        job = await coordinator.submit("a", Topic(text="c"), thread=thread)
        assert (await job.result(timeout=20)).notes == ["visit 0", "visit 1"]


async def test_a_line_of_which_a_part_was_pruned() -> None:
    app = chatting()
    app.langgraph("other", accepts=Said, returns=Said, leave=everything, memory="thread")(chat)
    async with serving(app) as coordinator:
        await said(coordinator, "chat", "a")
        await coordinator.name((await coordinator.timeline("t"))[0].id, "kept")
        for text in "xy":
            await said(coordinator, "other", text)
        await coordinator.prune("t", keep_last=1)
        assert await said(coordinator, "chat", "b") == "a | answer 1 | b | answer 2"


async def test_a_first_visit_that_failed_before_it_had_a_checkpoint() -> None:
    """The job comes back from the fallback, and the agent has not been there in this job, as far as is stored."""
    broken: list[bool] = []

    def enter(payload: Said) -> Any:
        if broken:
            broken.clear()
            raise OSError("the connection broke")
        return {"messages": payload.text}

    app = bp.App("falls back")
    options: Any = {"enter": enter, "leave": everything, "memory": "thread", "fallback": "b", "retries": 1}
    app.langgraph("chat", accepts=Said, returns=Said, **options)(chat)

    @app.agent("b", accepts=Said, hands_to={"chat": Said})
    def b(given: Said, ctx: bp.SyncContext) -> bp.Handoff[Said]:
        return ctx.hand_off("chat", given)

    async with serving(app) as coordinator:
        assert await said(coordinator, "chat", "a") == "a | answer 1"
        broken.append(True)
        assert await said(coordinator, "chat", "b") == "a | answer 1 | b | answer 2"


async def test_a_conversation_that_is_handed_on_again_is_not_heard_twice() -> None:
    heard: list[list[str]] = []

    def front() -> Any:
        return StateGraph(Chat).add_node("answer", answer).add_edge(START, "answer")

    def hear(state: Any) -> Any:
        heard.append([message.text for message in state["messages"]])
        return {"messages": [AIMessage("heard")]}

    def on(result: Any, ctx: bp.Context) -> bp.Handoff[Said]:
        return bp.Handoff("back", Said(text="look"), transcript=True)

    app = bp.App("on")
    app.langgraph("front", accepts=Said, hands_to={"back": Said}, leave=on, memory="thread")(front)
    app.langgraph("back", accepts=Said, returns=Said, leave=everything, memory="thread")(
        lambda: StateGraph(Chat).add_node("hear", hear).add_edge(START, "hear")
    )
    async with serving(app) as coordinator:
        for text in "abc":
            await said(coordinator, "front", text)
    assert heard[2] == [
        *("a", "answer 1", "look", "heard"),
        *("b", "answer 2", "look", "heard"),
        *("c", "answer 3", "look"),
    ]


async def test_what_a_team_was_told_once_is_part_of_its_conversation_for_good() -> None:
    def reply(turn: int, messages: Sequence[LLMMessage]) -> str:
        return f"reply {turn}"

    def team() -> Any:
        return RoundRobinGroupChat([AssistantAgent("clerk", ScriptedModel("clerk", reply))], max_turns=1)

    def on(result: Any) -> bp.Handoff[Said]:
        return bp.Handoff("team", Said(text="look"), transcript=True)

    app = bp.App("told")
    app.langgraph("front", accepts=Said, hands_to={"team": Said}, leave=on)(chat)
    app.autogen("team", accepts=Said, returns=Said, leave=texts, memory="thread")(team)
    async with serving(app) as coordinator:
        await said(coordinator, "front", "a")
        assert await said(coordinator, "team", "b") == "b | reply 3"
        told = await coordinator.transcript((await coordinator.timeline("t"))[0].id)
        assert [message.text for message in told.messages] == ["a", "answer 1", "look", "reply 2", "b", "reply 3"]


def texts(result: Any) -> Said:
    return Said(text=" | ".join(message.to_text() for message in result.messages))


async def test_a_message_whose_team_had_not_answered_when_its_job_ended() -> None:
    heard: list[list[str]] = []

    def reply(turn: int, messages: Sequence[LLMMessage]) -> str:
        heard.append([str(message.content) for message in messages if type(message).__name__ == "UserMessage"])
        if heard[-1][-1] == "b":
            raise ValueError("no")
        return "ok"

    def team() -> Any:
        return RoundRobinGroupChat([AssistantAgent("clerk", ScriptedModel("clerk", reply))], max_turns=1)

    app = bp.App("team")
    app.autogen("chat", accepts=Said, returns=Said, leave=texts, memory="thread", retries=1)(team)
    async with serving(app) as coordinator:
        await said(coordinator, "chat", "a")
        with pytest.raises(bp.JobFailed):
            await said(coordinator, "chat", "b")
        assert await said(coordinator, "chat", "c") == "c | ok"
    assert heard[-1] == ["a", "b", "c"]


async def test_a_swarm_that_asked_a_person_goes_on_with_who_asked() -> None:
    def reply(turn: int, messages: Sequence[LLMMessage]) -> Any:
        if turn == 1:
            return [FunctionCall(id="1", name="transfer_to_user", arguments="{}")]
        return "granted TERMINATE"

    def team() -> Any:
        clerk = AssistantAgent("clerk", ScriptedModel("clerk", reply), handoffs=[ToMember(target="user")])
        other = AssistantAgent("other", ScriptedModel("other", lambda turn, messages: "not mine TERMINATE"))
        ends = HandoffTermination(target="user") | TextMentionTermination("TERMINATE")
        return Swarm([clerk, other], termination_condition=ends)

    app = bp.App("swarm")
    app.autogen("chat", accepts=Said, returns=Said, leave=texts, memory="thread", retries=1)(team)
    async with serving(app) as coordinator:
        stopped = await coordinator.submit("chat", Said(text="a"), thread="t")
        assert (await question(stopped))["to"] == "user"
        await stopped.cancel()
        assert await said(coordinator, "chat", "b") == "b | granted TERMINATE"


async def test_a_team_without_a_state_to_continue_from_is_refused_at_once() -> None:
    def society() -> Any:
        member = AssistantAgent("x", ScriptedModel("x", lambda turn, messages: "x"))
        return MagenticOneGroupChat([member], model_client=ScriptedModel("chair", lambda turn, messages: "y"))

    app = bp.App("society")
    app.autogen("chat", accepts=Said, returns=Said, leave=texts, memory="thread", retries=1)(society)
    async with serving(app) as coordinator:
        job = await coordinator.submit("chat", Said(text="a"), thread="t")
        with anyio.fail_after(20), pytest.raises(bp.JobFailed, match="memory='thread', but its team"):
            await job.result(timeout=20)

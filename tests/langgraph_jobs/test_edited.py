"""A failed job is redriven with an edited state: what follows in the graph is decided anew, and finished nodes stay
finished."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.channels import UntrackedValue
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.types import Command, Send
from pydantic import BaseModel

import batonpass as bp
from batonpass.testing import serving

from ..apps.kit import checkpoints
from ..apps.langgraph_app import ScriptedModel, Topic, in_order
from ..apps.langgraph_kit import only
from .failing import DOWN, RAN, Words, failed, work

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.usefixtures("log")]


class Spare(TypedDict, total=False):
    spare: str


class Found(TypedDict, total=False):
    notes: Annotated[list[str], operator.add]


def each(state: Any) -> list[Send]:
    return [Send("w", {"word": word}) for word in state["text"].split()]


def worker(state: Any) -> Any:
    return {"notes": [work("w", state["word"])]}


def joined(state: Any) -> Any:
    work("join", "")
    return {"notes": ["joined"]}


def fan() -> Any:
    """One worker after the other, so that those before one that fails have finished."""
    made: Any = StateGraph(Words)
    made.add_node("w", worker)
    made.add_node("join", joined, defer=True)
    made.add_conditional_edges(START, each, ["w"])
    made.add_edge("w", "join")
    return made.compile().with_config(max_concurrency=1)


def looked(state: Any) -> Any:
    RAN.append("look")
    return {"notes": ["look"]}


def spared(state: Any) -> Any:
    return {"notes": [work("spare", state["spare"])]}


def part(lasting: bool | None = None, state: Any = Words, last: Any = None) -> Any:
    """A graph of a first node and one that fails at a bad text."""

    def fails(state: Any) -> Any:
        return {"notes": [work("fail", state["text"])]}

    made: Any = StateGraph(state, output_schema=Found)
    made.add_node("look", looked)
    made.add_node("last", last or fails)
    made.add_edge(START, "look")
    made.add_edge("look", "last")
    return made.compile(checkpointer=lasting)


async def test_what_was_sent_is_sent_anew(store_url: str) -> None:
    async with failed(fan, store_url, "a c bad") as (coordinator, job):
        assert sorted(RAN) == ["w a", "w bad", "w c"]
        RAN.clear()
        await coordinator.redrive(job.id, changes={"text": "a c good"})
        assert (await job.result(timeout=60)).notes == ["w a", "w c", "w good", "joined"]
        assert RAN == ["w good", "join"], "what had finished did not run again"


async def test_edited_twice(store_url: str) -> None:
    async with failed(fan, store_url, "a c bad") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"text": "a x bad"})
        with pytest.raises(bp.JobFailed, match="fails at bad"):
            await job.result(timeout=60)
        RAN.clear()
        await coordinator.redrive(job.id, changes={"text": "b x good d"})
        assert (await job.result(timeout=60)).notes == ["w b", "w x", "w good", "w d", "joined"]
        assert sorted(RAN) == ["join", "w b", "w d", "w good"]
        steps = [each.step for each in await checkpoints(coordinator, job)]
        assert steps == ["input", "edit", "update", "edit", "update", "w x4", "join"]


async def test_another_attempt_keeps_what_the_edit_led_to(store_url: str) -> None:
    async with failed(fan, store_url, "a c bad") as (coordinator, job):
        RAN.clear()
        DOWN[:] = ["good"]
        await coordinator.redrive(job.id, changes={"text": "new c good"})
        with pytest.raises(bp.JobFailed, match="fails at good"):
            await job.result(timeout=60)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=60)).notes == ["w new", "w c", "w good", "joined"]
        assert sorted(RAN) == ["join", "w good", "w good", "w new"]


class Calling(ScriptedModel):
    """Asks for two calls of the tool."""

    urls: tuple[str, ...] = ("bad", "fine")

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        made = super()._generate(messages, stop, run_manager, **more)
        if isinstance(messages[-1], ToolMessage):
            RAN.append("model")
            made.generations[0].message = AIMessage(" and ".join(str(each.content) for each in messages[-2:]))
        else:
            calls = [{"name": "fetch", "args": {"url": url}, "id": url} for url in self.urls]
            made.generations[0].message = AIMessage("", tool_calls=calls)
        return made


@tool
def fetch(url: str) -> str:
    """A page."""
    return work("fetch", url)


def react() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        tools: list[BaseTool] = [fetch]
        return create_react_agent(Calling(), ToolNode(tools, handle_tool_errors=False))


async def test_the_call_of_a_tool(store_url: str) -> None:
    async with failed(react, store_url, "x", returns=Topic) as (coordinator, job):
        [human, asking] = (await coordinator.latest(thread=job.id)).state["messages"]
        [bad, fine] = asking["tool_calls"]
        RAN.clear()
        asking["tool_calls"] = [{**bad, "args": {"url": "mended"}}, fine]
        await coordinator.redrive(job.id, changes={"messages": [human, asking]})
        assert (await job.result(timeout=60)).text == "fetch mended and fetch fine"
        assert "fetch mended" in RAN
        assert "fetch bad" not in RAN


async def test_a_call_that_has_ended_is_not_made_again(store_url: str) -> None:
    """A call is sent together with the whole state, which an edit always changes."""

    def factory() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            tools: list[BaseTool] = [fetch]
            made = create_react_agent(Calling(urls=("fine", "bad")), ToolNode(tools, handle_tool_errors=False))
        return made.with_config(max_concurrency=1)

    async with failed(factory, store_url, "x", returns=Topic) as (coordinator, job):
        RAN.clear()
        await coordinator.redrive(job.id, changes={"messages[1].tool_calls[1].args.url": "mended"})
        assert (await job.result(timeout=60)).text == "fetch fine and fetch mended"
        assert RAN == ["fetch mended", "model"]


async def test_edges_lead_elsewhere(store_url: str) -> None:
    def factory() -> Any:
        made: Any = StateGraph(Words)
        made.add_node("look", looked)
        made.add_node("w", lambda state: worker({"word": state["text"]}))
        made.add_node("spare", spared)
        made.add_edge(START, "look")
        made.add_conditional_edges("look", lambda state: "spare" if "spare" in state else "w", ["w", "spare"])
        return made

    async with failed(factory, store_url, "bad") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"spare": "other"})
        assert (await job.result(timeout=60)).notes == ["look", "spare other"]
        assert RAN == ["look", "w bad", "spare other"]


def goes(state: Any) -> Command[str]:
    return Command(goto="w", update={"notes": [work("go", "")]})


def sends(state: Any) -> Command[str]:
    return Command(goto=each(state), update={"notes": [work("go", "")]})


def by_itself(node: Any) -> Any:
    made: Any = StateGraph(Words)
    made.add_node("go", node)
    made.add_node("w", lambda state: worker({"word": state.get("word", state.get("text"))}))
    made.add_edge(START, "go")
    return made


async def test_a_node_that_has_said_where_to_go(store_url: str) -> None:
    async with failed(lambda: by_itself(goes), store_url, "bad") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"text": "good"})
        assert (await job.result(timeout=60)).notes == ["go ", "w good"]
        assert RAN == ["go", "w bad", "w good"]


async def test_what_a_node_has_sent_itself_is_refused(store_url: str) -> None:
    """It would have to run again, and finished nodes don't."""
    async with failed(lambda: by_itself(sends), store_url, "a bad") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"text": "a good"})
        with pytest.raises(bp.JobFailed, match="the edit of the state would not reach w: go has sent the arguments"):
            await job.result(timeout=60)
        assert sorted(RAN) == ["go", "w a", "w bad"]


@pytest.mark.parametrize("lasting", [None, True])
async def test_a_part_begins_anew(lasting: bool | None, store_url: str) -> None:
    """As after LangGraph's own `update_state`. (There a part that keeps its state does not see the edit.)"""

    def called() -> Any:
        inside = part(lasting)
        return in_order({"call": lambda state: {"notes": inside.invoke({"text": state["text"]})["notes"][-2:]}}, Words)

    for factory in (lambda: in_order({"part": part(lasting)}, Words), called):
        async with failed(factory, store_url, "bad") as (coordinator, job):
            assert RAN == ["look", "fail bad"]
            await coordinator.redrive(job.id, changes={"text": "good"})
            assert (await job.result(timeout=60)).notes[-2:] == ["look", "fail good"]
            assert RAN == ["look", "fail bad", "look", "fail good"]


async def test_a_part_that_does_not_read_the_edit_goes_on(store_url: str) -> None:
    def second(state: Any) -> Any:
        return {"notes": [work("second", "again" if DOWN else "done")]}

    def factory() -> Any:
        made: Any = StateGraph(Words)
        made.add_node("part", part(state=Spare, last=second), input_schema=Spare)
        made.add_node("also", lambda state: {"notes": [work("also", state["text"])]})
        made.add_edge(START, "part")
        made.add_edge(START, "also")
        return made

    DOWN[:] = ["again"]
    async with failed(factory, store_url, "fine") as (coordinator, job):
        assert RAN.count("look") == 1
        await coordinator.redrive(job.id, changes={"text": "other"})
        assert "second done" in (await job.result(timeout=60)).notes
        assert RAN.count("look") == 1


class Draft(BaseModel):
    text: str


class Drafts(Words, total=False):
    draft: Draft
    passing: Annotated[int, UntrackedValue]  # never in a checkpoint


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"nosuch": 1}, "there is no 'nosuch': the graph's state has only draft, notes, spare, text"),
        ({"passing": 1}, "there is no 'passing': the graph's state has only draft, notes, spare, text"),
        ({"draft": {"text": "x"}}, r"state\['draft'\] is an object that its checkpoint only shows"),
    ],
)
async def test_a_change_that_the_graph_would_not_see_is_refused(changes: Mapping[str, Any], complaint: str) -> None:
    def drafted(state: Any) -> Any:
        return {"draft": Draft(text="broken")}

    def checked(state: Any) -> Any:
        if state["draft"].text == "broken" and "spare" not in state:
            raise ValueError("broken")
        return {"notes": [state.get("spare", "")]}

    factory = lambda: in_order({"drafted": drafted, "checked": checked}, Drafts)  # noqa: E731
    async with failed(factory, "memory://", "x") as (coordinator, job):
        before = await job.info()
        with pytest.raises(bp.BadSetup, match=complaint):
            await coordinator.redrive(job.id, changes=changes)
        assert await job.info() == before
        assert len(await coordinator.timeline(thread=job.id)) == 2
        await coordinator.redrive(job.id, changes={"spare": "now set", "draft": {"text": "broken"}})
        assert (await job.result(timeout=60)).notes == ["now set"]


@pytest.mark.parametrize("text", ["a good more", "a good"], ids=["as many as before", "fewer"])
async def test_what_a_node_has_sent_is_not_lost_beside_what_edges_send(text: str) -> None:
    """With as many tasks as before, it was taken for one that an edge had sent, and was gone."""

    def factory() -> Any:
        made: Any = StateGraph(Words)
        made.add_node("p", lambda state: {"notes": ["p"]})
        made.add_node("q", lambda state: Command(goto=Send("w", {"word": "sent"})), destinations=("w",))
        made.add_node("w", worker)
        made.add_edge(START, "p").add_edge(START, "q")
        return made.add_conditional_edges("p", each, ["w"])

    async with failed(factory, "memory://", "a bad") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"text": text})
        with pytest.raises(bp.JobFailed, match=r"p, q .*itself"):
            await job.result(timeout=60)


async def test_what_the_payload_has_not_begun_yet_is_not_edited() -> None:
    """The payload would overwrite it. Only agents that remember their thread have a checkpoint by then."""

    def lead(state: Any) -> str:
        raise ValueError("no way")

    def factory() -> Any:
        made: Any = StateGraph(Words)
        made.add_node("one", lambda state: {"notes": ["one"]})
        return made.add_conditional_edges(START, lead, ["one"])

    async with serving(only(factory, retries=1, memory="thread")) as coordinator:
        job = await coordinator.submit("a", Topic(text="bad"), thread="t")
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=60)
        with pytest.raises(bp.BadSetup, match="nothing has run yet of what the payload begins"):
            await coordinator.redrive(job.id, changes={"text": "good"})

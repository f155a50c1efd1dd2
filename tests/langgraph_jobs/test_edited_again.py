"""After an edit: what the node, or the part of the graph, that had failed did before it failed."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import MessagesState
from langgraph.prebuilt import ToolNode, create_react_agent

import batonpass as bp
from batonpass.testing import serving

from ..apps.langgraph_app import Notes, Topic, in_order
from ..apps.langgraph_kit import only
from .failing import RAN, Words, failed, work

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.usefixtures("log")]


async def test_its_steps_run_again_if_they_get_something_else(store_url: str) -> None:
    """They could not be told from code that has changed: the job failed, whatever was edited."""

    async def w(state: Any) -> Any:
        same = await bp.current().step("same", work, "same", "", key="s")
        page = await bp.current().step("fetch", work, "fetch", state["text"].removeprefix("b"), key="f")
        return {"notes": [same, work(page, state["text"])]}

    async with failed(lambda: in_order({"w": w}, Words), store_url, "bad") as (coordinator, job):
        assert RAN == ["same", "fetch ad", "fetch ad bad"]
        RAN.clear()
        await coordinator.redrive(job.id, changes={"text": "good"})
        assert (await job.result(timeout=60)).notes == ["same ", "fetch good good"]
        assert RAN == ["fetch good", "fetch good good"]


class Fetcher(BaseChatModel):
    """Fetches what it is told. Refuses a conversation in which a call has no result, as the providers do."""

    @property
    def _llm_type(self) -> str:
        return "fetcher"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            made = AIMessage(f'{{"notes": ["{messages[0].text}: {last.status}"]}}')
        else:
            made = AIMessage("", tool_calls=[{"name": "fetch", "args": {"at": last.text}, "id": f"c{len(messages)}"}])
        return ChatResult(generations=[ChatGeneration(message=made)])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_part_that_keeps_its_state_is_told_that_its_call_was_stopped(store_url: str) -> None:
    """It found a call without a result, and failed whenever the job was redriven."""

    @tool
    def fetch(at: str) -> str:
        """Fetches."""
        return work("fetch", at)

    def make() -> Any:
        part = create_react_agent(Fetcher(), ToolNode([fetch], handle_tool_errors=False), checkpointer=True)
        return in_order({"part": part}, MessagesState)

    async with serving(only(make, retries=1), url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="bad"), returns=Notes)
        with pytest.raises(bp.JobFailed, match="fails at bad"):
            await job.result(timeout=60)
        await coordinator.redrive(job.id, changes={"messages[0].content": "good"})
        assert (await job.result(timeout=60)).notes == ["good: error"]

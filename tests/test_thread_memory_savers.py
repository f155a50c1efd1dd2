"""`memory="thread"` beside a saver: jobs go on with their conversation, whatever a saver puts on their thread."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.testing import serving

from .langgraph_saver.graphs import nested
from .langgraph_saver.graphs import say as message
from .test_thread_memory import Said, chat, chatting, everything

pytestmark = [pytest.mark.usefixtures("log"), pytest.mark.capability("langgraph", "autogen")]

A, B = "a | answer 1", "b | answer 2"


async def say(coordinator: bp.Coordinator, text: str, agent: str = "chat") -> str:
    """What a job on the thread `t` answers."""
    job = await coordinator.submit(agent, Said(text=text), thread="t", returns=Said)
    return (await job.result(timeout=20)).text


class Beside:
    """A saver's graphs on the same thread."""

    def __init__(self, saver: BatonpassSaver) -> None:
        self._chat: Any = chat().compile(checkpointer=saver)
        self._nested: Any = nested(saver)
        self._config: Any = {"configurable": {"thread_id": "t"}}

    async def run(self, text: str) -> int:
        """A turn of a chat. Returns of how many messages that is now."""
        return len((await self._chat.ainvoke(message(text), self._config))["messages"])

    async def ask(self) -> None:
        """A run with a subgraph, which stops with a question."""
        await self._nested.ainvoke({"trace": ["in"]}, self._config)


async def test_a_conversation_goes_on_after_runs_of_a_saver(store_url: str) -> None:
    """It used to begin anew after each."""
    async with serving(chatting(), store_url) as coordinator, BatonpassSaver.from_url(store_url) as saver:
        beside = Beside(saver)
        assert await beside.run("x") == 2
        assert await say(coordinator, "a") == A
        assert await beside.run("y") == 4
        assert await say(coordinator, "b") == f"{A} | {B}"
        await beside.ask()
        await coordinator.save(thread="t", agent="notes", state={"by": "hand"})
        assert await beside.run("z") > 4
        assert await say(coordinator, "c") == f"{A} | {B} | c | answer 3"


async def test_each_agent_goes_on_with_its_own(store_url: str) -> None:
    app = chatting()
    app.langgraph("other", accepts=Said, returns=Said, leave=everything, memory="thread")(chat)
    async with serving(app, store_url) as coordinator, BatonpassSaver.from_url(store_url) as saver:
        beside = Beside(saver)
        await say(coordinator, "o", "other")
        await beside.run("x")
        await say(coordinator, "a")
        await beside.run("y")
        assert await say(coordinator, "p", "other") == "o | answer 1 | p | answer 2"
        assert await say(coordinator, "b") == f"{A} | {B}"


@pytest.mark.parametrize("to", ["a job's checkpoint", "a saver's checkpoint"])
async def test_a_thread_that_was_taken_back_forgets_what_came_after(to: str, store_url: str) -> None:
    async with serving(chatting(), store_url) as coordinator, BatonpassSaver.from_url(store_url) as saver:
        beside = Beside(saver)
        await beside.run("x")
        await say(coordinator, "a")
        [begun, *_] = await coordinator.timeline("t")
        await beside.run("y")
        if to == "a saver's checkpoint":
            [begun, *_] = await coordinator.timeline("t")
        assert await say(coordinator, "never") == f"{A} | never | answer 2"
        await beside.run("never")
        await coordinator.rollback("t", to=begun.id)
        await beside.run("z")
        assert await say(coordinator, "b") == f"{A} | {B}"

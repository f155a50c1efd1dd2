"""`memory="thread"` on a thread that is pruned: with `keep_last`, each agent still goes on with its conversation."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.testing import serving

from .langgraph_saver.graphs import chat as run
from .langgraph_saver.graphs import say as message
from .test_thread_memory import Said, chat, chatting, everything

pytestmark = [pytest.mark.usefixtures("log"), pytest.mark.capability("langgraph", "autogen")]


def both() -> bp.App:
    """Two agents that remember."""
    app = chatting()
    app.langgraph("other", accepts=Said, returns=Said, leave=everything, memory="thread")(chat)
    return app


async def say(coordinator: bp.Coordinator, agent: str, text: str) -> str:
    """What a job on the thread `t` answers."""
    job = await coordinator.submit(agent, Said(text=text), thread="t", returns=Said)
    return (await job.result(timeout=20)).text


@pytest.mark.parametrize("saver", [False, True])
async def test_each_agent_goes_on(saver: bool, store_url: str) -> None:
    """Those that were not the last used to begin anew."""
    async with serving(both(), store_url) as coordinator, BatonpassSaver.from_url(store_url) as beside:
        await say(coordinator, "chat", "a")
        await say(coordinator, "other", "x")
        await coordinator.save(thread="t", agent="chat", state={"by": "hand"})
        if saver:
            await run(beside).ainvoke(message("hello"), {"configurable": {"thread_id": "t"}})
        for _ in range(2):
            await coordinator.prune("t", keep_last=1)
            assert len(await coordinator.timeline("t")) == (4 if saver else 3)
        assert await say(coordinator, "chat", "b") == "a | answer 1 | b | answer 2"
        await coordinator.prune(keep_last=1)
        assert await say(coordinator, "other", "y") == "x | answer 1 | y | answer 2"
        await coordinator.prune("t", keep_last=0)
        assert await say(coordinator, "chat", "c") == "c | answer 1"


async def test_what_was_taken_back_stays_forgotten(store_url: str) -> None:
    async with serving(both(), store_url) as coordinator:
        await say(coordinator, "chat", "a")
        [begun, *_] = await coordinator.timeline("t")
        await say(coordinator, "other", "x")
        await say(coordinator, "chat", "b")
        await coordinator.rollback("t", to=begun.id)
        await coordinator.prune("t", keep_last=1)
        assert await say(coordinator, "other", "y") == "y | answer 1"
        assert await say(coordinator, "chat", "c") == "a | answer 1 | c | answer 2"


async def test_without_the_key_it_is_not_known_whose_they_are(store_url: str) -> None:
    codec = bp.Codec(encrypt={"k": b"k" * 32})
    async with bp.connect(store_url, app=both(), codec=codec) as coordinator, both().worker(coordinator):
        for text in "ab":
            await say(coordinator, "chat", text)
    async with bp.connect(store_url) as keyless:
        with pytest.raises(bp.BadSetup, match="codec"):
            await keyless.prune("t", keep_last=1)
        assert await keyless.prune("t", older_than=0.001) > 0


@pytest.mark.parametrize("keep_last", [1, 2, 4, 6])
async def test_a_window_that_ends_in_what_was_taken_back(keep_last: int, store_url: str) -> None:
    """What stays of that is not taken for a part of the line."""
    app = both()
    app.langgraph("third", accepts=Said, returns=Said, leave=everything, memory="thread")(chat)
    async with serving(app, store_url) as coordinator:
        await say(coordinator, "third", "t")
        await say(coordinator, "chat", "a")
        [begun, *_] = await coordinator.timeline("t")
        await say(coordinator, "other", "x")
        await coordinator.rollback("t", to=begun.id)
        await coordinator.prune("t", keep_last=keep_last)
        assert await say(coordinator, "other", "y") == "y | answer 1"
        assert await say(coordinator, "third", "u") == "t | answer 1 | u | answer 2"


async def test_a_line_with_gaps_is_still_one(store_url: str) -> None:
    async with serving(both(), store_url) as coordinator, BatonpassSaver.from_url(store_url) as beside:
        await say(coordinator, "chat", "a")
        [begun, *_] = await coordinator.timeline("t")
        await say(coordinator, "other", "x")
        await coordinator.rollback("t", to=begun.id)
        await run(beside).ainvoke(message("hello"), {"configurable": {"thread_id": "t"}})
        await say(coordinator, "chat", "b")
        await beside.adelete_thread("t")
        assert await say(coordinator, "other", "y") == "y | answer 1"

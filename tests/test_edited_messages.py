"""A person's edit of a state that its team or graph could not go on from is refused, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from autogen_agentchat.teams import RoundRobinGroupChat
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState

import batonpass as bp
from batonpass.testing import serving

from .apps import autogen_kit, langgraph_kit
from .apps.autogen_app import Draft, says, speaker
from .apps.langgraph_app import Topic

pytestmark = [
    pytest.mark.capability("autogen"),
    pytest.mark.capability("langgraph"),
    pytest.mark.usefixtures("log"),
]


def fails_once(answer: Callable[..., Any]) -> Callable[..., Any]:
    errors = [OSError("the network is down")]

    def maybe(*given: Any) -> Any:
        if errors:
            raise errors.pop()
        return answer(*given)

    return maybe


def team() -> tuple[bp.App, bp.Contract]:
    """B fails where A has spoken."""
    second = fails_once(says("fine"))

    def factory() -> Any:
        return RoundRobinGroupChat([speaker("A", says("x")), speaker("B", second)], max_turns=2)

    return autogen_kit.only(factory, retries=1), Draft(text="go")


def graph() -> tuple[bp.App, bp.Contract]:
    """`second` fails where `first` has spoken."""
    second = fails_once(lambda state: {"messages": [AIMessage('{"notes": ["fine"]}')]})

    def first(state: Any) -> Any:
        return {"messages": [AIMessage("x")]}

    made = langgraph_kit.graph(first, state=MessagesState)
    made.add_node("second", second)
    made.add_edge("first", "second")
    return langgraph_kit.only(lambda: made, retries=1), Topic(text="rain")


@pytest.mark.parametrize(
    ("make", "changes", "complaint"),
    [
        (team, {"messages": 5}, "state['messages'] is a list of messages, and would be an int"),
        (team, {"messages": ["hi"]}, "state['messages'][0] is a message, a dict with type, source, content, and would"),
        (team, {"messages": [{"type": "TextMessage"}]}, "would have no source, content"),
        (team, {"round": 1, "messages": []}, "the state of a team is its messages: 'round' would change nothing"),
        (graph, {"messages": 5}, "state['messages'] is a list of messages, and would be an int"),
        (graph, {"messages": [7]}, "state['messages'][0] is a message, a dict with type, content, and would be an int"),
        (graph, {"messages": [{"type": "human"}]}, "would have no content"),
    ],
)
async def test_an_edit_that_leaves_no_conversation_is_refused(
    make: Callable[[], tuple[bp.App, bp.Contract]], changes: dict[str, Any], complaint: str
) -> None:
    app, given = make()
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", given)
        with pytest.raises(bp.JobFailed, match="network"):
            await job.result(timeout=60)
        before = await job.info()
        with pytest.raises(bp.BadSetup) as refused:
            await coordinator.redrive(job.id, changes=changes)
        assert complaint in str(refused.value)
        assert before.checkpoint_id
        with pytest.raises(bp.BadSetup):
            await coordinator.fork(before.checkpoint_id, changes=changes)
        assert await job.info() == before
        await coordinator.redrive(job.id)
        assert "fine" in str(await job.result(timeout=60))


async def test_a_message_that_its_class_refuses_is_named() -> None:
    app, given = graph()
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", given)
        with pytest.raises(bp.JobFailed, match="network"):
            await job.result(timeout=60)
        await coordinator.redrive(job.id, changes={"messages": [{"type": "person", "content": "x"}]})
        with pytest.raises(bp.JobFailed, match=r"state\['messages'\] can't be read as messages \(KeyError: 'person'\)"):
            await job.result(timeout=60)
        await coordinator.redrive(job.id, changes={"messages": [{"type": "human", "content": "x"}]})
        assert "fine" in str(await job.result(timeout=60))

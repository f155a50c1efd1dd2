"""An answer that a graph has used is used up, even if the attempt ends before its next question is committed."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

import batonpass as bp

from ..apps.kit import question
from ..apps.langgraph_app import Inner, Notes, Topic, Words
from ..apps.langgraph_kit import only
from ..workers.serving import DEADLINE, serving

pytestmark = pytest.mark.capability("langgraph")
SOON = bp.Retry(first=0.001)


class Desk:
    """A part whose node asks twice, and beside it a node that fails once, just after the other has asked again."""

    def __init__(self, *asks: Any) -> None:
        self.ran: Counter[str] = Counter()
        self._asks = asks
        self._again = asyncio.Event()

    def graph(self) -> Any:
        inner = StateGraph(Words, input_schema=Inner)
        inner.add_node("twice", self._twice)
        inner.add_edge(START, "twice")
        made = StateGraph(Words)
        for name, node in (("part", inner.compile()), ("beside", self._beside)):
            made.add_node(name, node)
            made.add_edge(START, name)
        return made

    async def _twice(self, state: Any) -> Any:
        first = interrupt(self._asks[0])
        try:
            second = interrupt(self._asks[1])
        except GraphInterrupt:
            self._again.set()
            raise
        return {"notes": [said(first), said(second)]}

    async def _beside(self, state: Any) -> Any:
        self.ran["beside"] += 1
        if self.ran["beside"] == 2:
            await self._again.wait()
            raise OSError("no network")
        return {"notes": [said(interrupt(self._asks[2]))]}


def said(answer: Any) -> str:
    return answer if isinstance(answer, str) else answer.text


async def test_a_persons_is_not_given_to_the_next_question() -> None:
    desk = Desk("pay 1?", "pay 1000?", "go on?")
    async with serving(only(desk.graph, retries=SOON)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        first = await question(job)
        ids = {name: key for key, name in first.items()}
        await job.answer({ids["pay 1?"]: "yes", ids["go on?"]: "on"})
        assert await question(job, first) == "pay 1000?"
        await job.answer("no")
        assert sorted((await job.result(timeout=DEADLINE)).notes) == ["no", "on", "yes"]
    assert desk.ran["beside"] == 3


async def test_what_came_back_is_not_given_to_the_next_handoff() -> None:
    desk = Desk(*(bp.Handoff("b", Topic(text=text)) for text in ("one", "two", "three")))
    app = only(desk.graph, retries=SOON, memory="job", hands_to={"b": Topic})

    @app.agent("b", accepts=Topic, hands_to={"a": Topic})
    def b(topic: Topic, ctx: bp.SyncContext) -> bp.Handoff[Topic]:
        desk.ran["b"] += 1
        return ctx.hand_off("a", Topic(text=f"{topic.text} back"))

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        notes = (await job.result(timeout=DEADLINE)).notes
    assert sorted(notes) == ["one back", "three back", "two back"]
    assert desk.ran["b"] == 3

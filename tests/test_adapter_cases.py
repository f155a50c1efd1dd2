"""The package's test cases for adapters, run on the worked example: agents of Pydantic AI."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent as AI
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import batonpass as bp
from batonpass.examples import pydantic_ai_adapter
from batonpass.examples.pydantic_ai_adapter import PydanticAIAdapter
from batonpass.testing import AdapterCases, Told, Work, context, serving

pytestmark = pytest.mark.capability("pydantic-ai")


def answering(work: Work) -> FunctionModel:
    """A model that calls a tool, then says what it heard."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if sum(isinstance(message, ModelResponse) for message in messages) == 0:
            work("plan")
            return ModelResponse(parts=[ToolCallPart("look_up", {"word": "baton"})])
        work("write")
        return ModelResponse(parts=[TextPart("a baton is passed")])

    return FunctionModel(answer)


class TestPydanticAI(AdapterCases):
    adapter = PydanticAIAdapter
    steps = ("plan", "look up", "write")
    expected = "a baton is passed"

    def factory(self, work: Work) -> Callable[[], Any]:
        def make() -> AI[None, str]:
            ai = AI(answering(work))

            @ai.tool_plain
            def look_up(word: str) -> str:
                return f"{word}: {work('look up')}"

            return ai

        return make


class Through:
    """A session with a fault that an adapter might have."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.checkpoint = session.checkpoint

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


class Forgetting(Through):
    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.checkpoint = None


class Deaf(Through):
    async def asave(self, snapshot: Any) -> Any:
        with suppress(bp.Fenced):
            return await self._session.asave(snapshot)


class Silent(Through):
    async def asave(self, snapshot: Any) -> None:
        return None


def faulty(through: Callable[[Any], Any]) -> Any:
    """The adapter with a fault."""

    class Faulty(PydanticAIAdapter):
        async def run(self, agent: Any, payload: Any, session: Any, context: Any) -> Any:
            return await super().run(agent, payload, through(session), context)

    return Faulty


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        (Forgetting, "test_killed_at_any_moment_it_goes_on_where_it_was"),
        (Deaf, "test_stops_when_its_job_is_canceled"),
        (Silent, "test_runs_to_its_result_and_writes_each_step"),
        (Silent, "test_its_checkpoints_hold_plain_values"),
    ],
)
def test_a_case_finds_a_broken_adapter(fault: Any, case: str, tmp_path: Path) -> None:
    class Cases(TestPydanticAI):
        adapter = faulty(fault)

    with pytest.raises(AssertionError):
        getattr(Cases(), case)(tmp_path)


class Topic(bp.Contract, name="cases.topic"):
    text: str


app = bp.App("cases")


@app.agent("count", accepts=Topic, returns=Told)
async def count(topic: Topic, ctx: bp.Context) -> Told:
    words = await ctx.step("split", topic.text.split)
    return Told(text=f"{len(words)} words, {ctx.resources}")


async def test_an_agent_is_called_alone_with_a_real_context() -> None:
    async with context(count, Topic(text="one two"), resources="db") as ctx:
        assert await count(ctx.payload, ctx) == Told(text="2 words, db")
        assert bp.current() is ctx
        assert ctx.agent == "count"


async def test_an_app_is_served_on_memory() -> None:
    async with serving(app) as coordinator:
        job = await coordinator.submit(count, Topic(text="one"), returns=Told)
        assert (await job.result(timeout=10)).text == "1 words, None"


def test_the_worked_example_is_short() -> None:
    assert len(Path(str(pydantic_ai_adapter.__file__)).read_text().splitlines()) < 130

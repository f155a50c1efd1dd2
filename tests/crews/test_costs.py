"""What a crew says that it has cost, after a restart: what it would say without one."""

from __future__ import annotations

from typing import Any

import pytest
from crewai import Crew
from crewai.tools import tool

import batonpass as bp

from ..apps.crewai_app import Article
from ..apps.crewai_kit import Crews, Model, result

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Counting(Model):
    """A call costs ten tokens."""

    def call(self, *args: Any, **options: Any) -> str:
        said = super().call(*args, **options)
        self._track_token_usage_internal({"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10})
        return said


def counting(crews: Crews) -> Counting:
    made = Counting(model="scripted", script={}, ran=[])
    made.script, made.ran = crews.script, crews.ran
    return made


def tokens(result: Any, ctx: bp.Context) -> Article:
    return Article(text=str(result.token_usage.total_tokens))


@pytest.mark.parametrize("disturbed", [True, False])
@pytest.mark.parametrize(("shared", "cost"), [(False, 30), (True, 40)])
async def test_what_a_tools_crew_costs_counts_as_without_a_restart(
    shared: bool, cost: int, disturbed: bool, crews: Crews
) -> None:
    """That is, if it shares a model with the job's crew, because CrewAI counts by models."""

    def factory() -> Crew:
        model = counting(crews)

        @tool("ask")
        def ask(at: str) -> str:
            """Asks others."""
            inner = crews.task("inner")
            inner.agent.llm = model if shared else counting(crews)
            return str(Crew(agents=[inner.agent], tasks=[inner]).kickoff(inputs={"text": at}))

        tasks = [crews.task("outer", tools=[ask]), crews.task("end")]
        for task in tasks:
            task.agent.llm = model
        return Crew(agents=[tasks[0].agent], tasks=tasks)

    asks = 'Thought: t\nAction: ask\nAction Input: {"at": "x"}'
    crews.script["outer"] = lambda said: "Thought: t\nFinal Answer: fine" if "out of inner" in said else asks
    if disturbed:
        crews.fails_once("end", "fine")
    assert (await result(factory, leave=tokens)).text == str(cost)

"""A crew's conversation goes on without what CrewAI itself said around the tasks."""

from __future__ import annotations

from typing import Any

import pytest
from crewai import Crew
from crewai.tools import tool
from crewai.utilities.i18n import I18N_DEFAULT

import batonpass as bp
from batonpass.adapters.crewai.transcript.prompts import plain_prompt

from ..apps.crewai_app import Article, Topic
from ..apps.crewai_kit import Crews, Note

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]
EXPECTED = "This is the expected criteria for your final answer: x"


async def test_the_next_agent_is_told_the_tasks_and_what_was_said(crews: Crews) -> None:
    """Not how to answer: "you MUST return ...", "Begin! ...", the schema of an output, "Analyze the tool result"."""

    @tool("look")
    def look(at: str) -> str:
        """Looks at something."""
        return f"seen {at}"

    def looks(said: str) -> str:
        return "Final Answer: wet" if "seen" in said else 'Thought: t\nAction: look\nAction Input: {"at": "it"}'

    crews.script |= {"plain": "1", "typed": '{"text": "2"}', "look": looks}
    app = bp.App("two")

    def leave(_: Any) -> bp.Handoff[Article]:
        return bp.Handoff("b", Article(text=""), transcript=True)

    @app.crewai("a", accepts=Topic, hands_to={"b": Article}, leave=leave)
    def crew() -> Crew:
        plain = crews.task("plain")
        typed = crews.task("typed", output_pydantic=Note, context=[plain])
        return crews.crew(plain, typed, crews.task("look", tools=[look], context=[plain]))

    told: list[tuple[str, str]] = []

    @app.agent("b", accepts=Article, returns=Article)
    async def b(article: Article, ctx: bp.Context) -> Article:
        assert ctx.transcript is not None
        told.extend((each.role, each.text) for each in ctx.transcript.messages)
        return article

    await app.run("a", Topic(text="rain"), timeout=30)
    context = "\n\nThis is the context you're working with:\n1"
    assert [text for role, text in told if role == "user"] == [
        f"{name} of rain\n\n{EXPECTED}{more}" for name, more in (("plain", ""), ("typed", context), ("look", context))
    ]
    assert [text for role, text in told if role == "assistant"][:2] == ["1", '{"text": "2"}']


@pytest.mark.parametrize("kind", ["task", "task_no_tools", "native_task"])
def test_the_texts_are_crewais(kind: str) -> None:
    """A test of the versions that are installed: with others, prompts stay as they are."""
    expected = I18N_DEFAULT.slice("expected_output").format(expected_output="x")
    schema = I18N_DEFAULT.slice("formatted_task_instructions").format(output_format="{}")
    asked = "\n".join(["write of rain", expected, schema])
    with_context = I18N_DEFAULT.slice("task_with_context").format(task=asked, context="facts")
    assert plain_prompt(I18N_DEFAULT.slice(kind).format(input=with_context)) == (
        f"write of rain\n\n{EXPECTED}\n\nThis is the context you're working with:\nfacts"
    )
    assert plain_prompt(I18N_DEFAULT.slice("post_tool_reasoning")) == ""


@pytest.mark.parametrize("text", ["hello", "", "Current Task: x", "you MUST return it"])
def test_what_people_say_stays(text: str) -> None:
    assert plain_prompt(text) == text

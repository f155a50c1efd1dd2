"""What a crew says that it has cost, after a restart: what it would say without one."""

from __future__ import annotations

from typing import Any

import pytest
from crewai import Crew, Flow, Task
from crewai.flow import start
from crewai.tasks.conditional_task import ConditionalTask
from crewai.tools import tool

import batonpass as bp

from ..apps.crewai_app import Article, Small
from ..apps.crewai_kit import Crews, Failing, Model, result

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


ASKS = 'Thought: t\nAction: ask\nAction Input: {"at": "x"}'


class Case:
    """A crew of the tasks "first" and "end", whose agent has one model. The first attempt fails at `fails`, if that is
    given."""

    def __init__(self, crews: Crews, fails: str = "") -> None:
        self.crews = crews
        say, fail = crews.script.get(fails, lambda said: f"out of {fails}"), Failing()

        def fail_or_say(said: str) -> str:
            answer = say(said)
            if answer != ASKS:
                fail()
            return str(answer)

        if fails:
            crews.script[fails] = fail_or_say

    def crew(self, *kinds: Any, **options: Any) -> Crew:
        """`kinds` are those of the tasks between the two."""
        self.model = counting(self.crews)
        tasks = [self.crews.task("first", **options), *(self.crews.task("mid", kind) for kind in kinds)]
        tasks.append(self.crews.task("end"))
        for task in tasks:
            task.agent.llm, task.agent.max_retry_limit = self.model, 0
        return Crew(agents=[tasks[0].agent], tasks=tasks, cache=False)

    async def cost(self, factory: Any) -> int:
        return int((await result(factory, leave=tokens)).text)


def tool_of(ask: Any) -> Any:
    @tool("ask")
    def asks(at: str) -> str:
        """Asks others."""
        return str(ask())

    return asks


def asking(said: str) -> str:
    """What an agent says that asks a tool once."""
    return "Thought: t\nFinal Answer: fine" if "told: " in said else ASKS


@pytest.mark.parametrize("fails", ["", "first", "end"])
@pytest.mark.parametrize(("how", "cost"), [("a crew", 30), ("a crew with our model", 40), ("our model", 40)])
async def test_what_a_tool_costs_counts_as_without_a_restart(how: str, cost: int, fails: str, crews: Crews) -> None:
    """That is, if it has a model of the job's crew, because CrewAI counts by models."""
    asked = list[str]()

    def inner(model: Counting) -> Any:
        asked.append(how)
        if how == "our model":
            return f"told: {model.call('what?')}"
        task = crews.task("inner")
        task.agent.llm = model if "our" in how else counting(crews)
        return f"told: {Crew(agents=[task.agent], tasks=[task]).kickoff()}"

    crews.script["first"] = asking
    case = Case(crews, fails)
    assert await case.cost(lambda: case.crew(tools=[tool_of(lambda: inner(case.model))])) == cost
    assert asked == [how]


@pytest.mark.parametrize("fails", ["", "mid", "end"])
@pytest.mark.parametrize("says", [True, False])
async def test_what_a_condition_costs_counts_as_without_a_restart(says: bool, fails: str, crews: Crews) -> None:
    crews.script["collapse"] = "yes" if says else "no"
    case = Case(crews, fails)

    def kind(**options: Any) -> ConditionalTask:
        model = case.model
        return ConditionalTask(**options, condition=lambda output: model.call("really?") == "yes")

    assert await case.cost(lambda: case.crew(kind)) == (40 if says else 30)
    assert crews.ran.count("collapse") == 1


@pytest.mark.parametrize("fails", ["", "mid", "end"])
@pytest.mark.parametrize("changes", [True, False])
async def test_what_a_callback_costs_counts_as_without_a_restart(changes: bool, fails: str, crews: Crews) -> None:
    """Whether a checkpoint has it (because it has changed the output, or another task has ended), or not."""
    case = Case(crews, fails)

    def factory() -> Crew:
        def callback(output: Any) -> None:
            said = model.call("fine?")
            output.raw += said if changes else ""

        crew = case.crew(Task)
        model = case.model
        crew.tasks[0].callback = callback
        return crew

    assert await case.cost(factory) == 40
    assert crews.ran.count("collapse") == 1


async def test_what_a_callback_costs_that_failed_counts_once(crews: Crews) -> None:
    """The callback is called again, and asks again."""
    fail = Failing()
    case = Case(crews)

    def factory() -> Crew:
        def callback(output: Any) -> None:
            model.call("fine?")
            fail()

        crew = case.crew()
        model = case.model
        crew.tasks[0].callback = callback
        return crew

    assert await case.cost(factory) == 30
    assert crews.ran.count("collapse") == 2


@pytest.mark.parametrize("fails", [True, False])
async def test_so_does_what_a_tool_of_a_flows_crew_costs(fails: bool, crews: Crews) -> None:
    asked, fail = list[str](), Failing()

    def ask() -> str:
        asked.append("asked")
        return f"told: {case.model.call('what?')}"

    class Writes(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def write(self) -> str:
            made: Any = case.crew(tools=[tool_of(ask)]).kickoff()
            if fails:
                fail()
            return str(made.token_usage.total_tokens)

    crews.script["first"] = asking
    case = Case(crews)
    assert (await result(Writes)).text == "40"
    assert asked == ["asked"]


@pytest.mark.parametrize("fails", [True, False])
async def test_and_of_copies_of_such_a_crew(fails: bool, crews: Crews) -> None:
    """CrewAI copies their models, too, but has all copies count together."""
    asked, fail = list[str](), Failing()

    def ask() -> str:
        asked.append("asked")
        return f"told: {case.model.call('what?')}"

    class Writes(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def write(self) -> str:
            crew = case.crew(tools=[tool_of(ask)])
            crew.tasks.pop()  # its agent is none of the crew's, which CrewAI can't copy
            made: Any = crew.kickoff_for_each([{"text": "rain"}, {"text": "snow"}])
            if fails:
                fail()
            return str([each.token_usage.total_tokens for each in made])

    crews.script["first"] = asking
    case = Case(crews)
    assert (await result(Writes)).text == "[30, 60]"
    assert asked == ["asked", "asked"]

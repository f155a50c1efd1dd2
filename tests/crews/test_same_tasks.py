"""Which task of a changed crew has an output that was saved: the one that is still the same, and no other one."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import pytest
from crewai import Agent, Crew, Task
from crewai.tools import tool

from batonpass.adapters.crewai.identities import Clues, Identities

from ..apps.crewai_app import Article
from ..apps.crewai_kit import Crews, Model, result

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Plan(NamedTuple):
    """A task: its name, its text, and its agent's role."""

    name: str | None
    text: str = "same"
    role: str = "writer"


A, B, C = Plan("a"), Plan("b"), Plan("c")
X, Y = Plan("day", "on monday"), Plan("day", "on friday")
REVIEWERS = [Plan(None, "review it", role) for role in ("judge", "critic")]
ONE, TWO = Plan(None, "write\non rain"), Plan(None, "write\non snow")
STOP = Plan("stop", "the end")


class Numbering(Model):
    """Says the number of the answer, who was asked, and what. It fails at "stop" in the first release."""

    def call(self, messages: Any, *args: Any, from_task: Any = None, **options: Any) -> str:
        if from_task.name == "stop" and self.script["first"]:
            raise OSError("no network")
        plan = Plan(from_task.name, from_task.description, from_task.agent.role)
        self.ran.append(said(plan, len(self.ran) + 1))
        return self.ran[-1]


def said(plan: Plan, number: int) -> str:
    return f"{number}. {plan.role} on {plan.name}: {plan.text}"


def task_of(plan: Plan, ran: list[str], *, first: bool = False) -> Task:
    model = Numbering(model="scripted", script={"first": first}, ran=[])
    model.ran = ran
    agent = Agent(role=plan.role, goal="g", backstory="b", llm=model, max_retry_limit=0)
    return Task(name=plan.name, description=plan.text, expected_output="x", agent=agent)


def identities(plans: list[Plan]) -> Identities:
    return Identities(task_of(plan, []) for plan in plans)


class Releases:
    """Crews of two releases, which have these tasks. The first one ends at its task "stop"."""

    def __init__(self, before: list[Plan], after: list[Plan]) -> None:
        self.before: list[Plan] | None = before
        self.after = after
        self.ran: list[str] = []

    def crew(self) -> Crew:
        before, self.before = self.before, None
        return Crew(agents=[], tasks=[task_of(plan, self.ran, first=bool(before)) for plan in before or self.after])

    async def outputs(self) -> list[str]:
        """What the tasks of the last release have said, but not its "stop"."""

        def leave(left: Any) -> Article:
            return Article(text="\n\n".join(output.raw for output in left.tasks_output if output.name != "stop"))

        return str((await result(self.crew, leave=leave)).text).split("\n\n")


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        # Equal texts, other names.
        ([A, B, STOP], [B, STOP], [2]),
        ([A, B, STOP], [B, A, STOP], [2, 1]),
        ([A, STOP, B], [B, STOP], [0]),
        ([A, B, STOP], [A._replace(text="new"), B, STOP], [1, 2]),
        ([A, B, STOP], [C, A, B, STOP], [0, 1, 2]),
        ([A, STOP], [B, A, STOP], [0, 1]),
        ([A, B, STOP], [B, C, STOP], [2, 0]),
        # Equal names, other texts.
        ([X, Y, STOP], [Y, STOP], [2]),
        ([X, STOP, Y], [Y, STOP], [0]),
        ([X, Y, STOP], [Y, X, STOP], [2, 1]),
        ([X, Y, STOP], [X._replace(text="on sunday"), Y, STOP], [0, 2]),
        ([X, STOP], [Y, X, STOP], [0, 1]),
        # No names, and the same beginning or text.
        ([ONE, TWO, STOP], [TWO, STOP], [2]),
        ([ONE, STOP, TWO], [TWO, STOP], [0]),
        ([*REVIEWERS, STOP], [REVIEWERS[1], STOP], [2]),
        ([REVIEWERS[0], STOP, REVIEWERS[1]], [REVIEWERS[1], STOP], [0]),
        # Alike in all.
        ([A, A, STOP], [A, A, A, STOP], [1, 2, 0]),
        # One is renamed, edited, or given to another agent.
        ([A, STOP], [B, STOP], [1]),
        ([X, STOP], [Y, STOP], [1]),
        ([A, STOP], [A._replace(role="poet"), STOP], [1]),
        ([X, A, STOP], [X._replace(text="same"), A._replace(name="b", text="new"), STOP], [2, 0]),
        # One gets the text of another one, whose name it has, too: the text counts.
        ([X, A, STOP], [X._replace(text="same"), STOP], [2]),
    ],
)
def test_a_task_is_the_one_that_is_still_the_same(before: list[Plan], after: list[Plan], kept: list[int]) -> None:
    """`kept` has the number of the task that each one was, or 0 if it was none that has finished."""
    old, new = identities(before), identities(after)
    finished = list(old.clues.items())[: before.index(STOP)]
    now = {place: number for number, place in enumerate(old.clues, 1)}
    was = {place: now[at] for at, place in new.present(dict(finished)).items()}
    assert [was.get(place, 0) for place, plan in zip(new.clues, after, strict=True) if plan != STOP] == kept


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ([A, B, STOP], [B, STOP], [2]),
        ([X, STOP, Y], [Y, STOP], [0]),
        ([*REVIEWERS, STOP], [REVIEWERS[1], STOP], [2]),
        ([A, B, STOP], [C, A._replace(text="new"), B, STOP], [0, 1, 2]),
    ],
)
async def test_a_finished_task_keeps_its_own_output(before: list[Plan], after: list[Plan], kept: list[int]) -> None:
    """`kept` has the number of each task's answer in the first release, or 0 if it must be asked now."""
    releases, numbers = Releases(before, after), iter(range(before.index(STOP) + 1, 99))
    old, new = ([plan for plan in plans if plan != STOP] for plans in (before, after))
    assert await releases.outputs() == [
        said(old[number - 1], number) if number else said(plan, next(numbers))
        for plan, number in zip(new, kept, strict=True)
    ]


def of_the_release_before(tasks: list[Task]) -> dict[str, Clues]:
    """What it had to tell tasks by: digests of their texts, numbered, and their titles."""
    keys, titles = [str(task.key) for task in tasks], Identities(tasks).titles.values()
    numbered = (f"{key}#{keys[:number].count(key)}" for number, key in enumerate(keys))
    return {place: {"title": title} for place, title in zip(numbered, titles, strict=True)}


@pytest.mark.parametrize("crew", [REVIEWERS, [A, A], [A, B], [X, Y], [ONE, TWO]])
def test_what_the_release_before_saved_is_for_the_same_tasks(crew: list[Plan]) -> None:
    """Tasks that are alike are told by both."""
    tasks = [task_of(plan, []) for plan in crew]
    now = Identities(tasks)
    assert list(now.present(of_the_release_before(tasks)).values()) == list(now.places.values())


def test_of_two_tasks_that_it_saved_with_one_text_the_name_tells() -> None:
    """Both would be the one that is left."""
    saved, now = of_the_release_before([task_of(plan, []) for plan in (B, A)]), identities([A])
    assert now.present(saved) == {list(saved)[1]: next(iter(now.clues))}


def test_many_tasks_may_have_one_name() -> None:
    """For a thousand, to number their titles once took 14 seconds, in which a worker did nothing else."""
    task = task_of(Plan("same"), [])
    begun = time.monotonic()
    titles = Identities(task.model_copy() for _ in range(1000)).titles
    assert time.monotonic() - begun < 5
    assert [*titles.values()][::999] == ["same", "same (1000)"]


@pytest.mark.parametrize("managed", [True, False])
def test_the_agent_counts_unless_a_manager_runs_all(managed: bool) -> None:
    """CrewAI makes the manager a task's agent when the task runs."""
    before, after = ([task_of(plan, []) for plan in (A, A)] for _ in range(2))
    before[0].agent = before[1].agent = None
    same = Identities(before, managed=managed).clues.keys() == Identities(after, managed=managed).clues.keys()
    assert same is managed


async def test_a_name_may_look_like_a_numbered_one() -> None:
    """Outputs are saved by titles."""
    plans = [X, Y, Plan("day (2)", "on sunday"), STOP]
    assert await Releases(plans, plans).outputs() == [said(plan, number) for number, plan in enumerate(plans[:3], 1)]


async def test_a_crew_may_run_a_task_twice(crews: Crews) -> None:
    crews.fails_once("end", "fine")

    def factory() -> Crew:
        review = crews.task("review")
        return crews.crew(review, crews.task("edit"), review, crews.task("end"))

    assert (await result(factory)).text == "fine"
    assert [name for name in crews.ran if name != "end"] == ["review", "edit", "review"]


async def test_a_task_in_progress_does_not_get_the_tool_results_of_another_one(crews: Crews) -> None:
    """Two tasks have equal texts, and the one that has called the tool is gone."""
    looked, releases = list[str](), iter([("a", "b"), ("b",)])

    @tool("look")
    def look(at: str) -> str:
        """Looks at something."""
        looked.append(at)
        return f"seen {at}"

    def say(text: str) -> str:
        if "seen x" not in text:
            return 'Thought: t\nAction: look\nAction Input: {"at": "x"}'
        if len(looked) == 1:
            raise OSError("no network")
        return "Thought: t\nFinal Answer: fine"

    def factory() -> Crew:
        names = next(releases, ("b",))
        made = [crews.task(name, tools=[look], description="same") for name in names]
        for task in made:
            task.agent.max_retry_limit = 0
        return crews.crew(*made, cache=False)

    crews.script |= {"a": say, "b": say}
    assert (await result(factory)).text == "fine"
    assert looked == ["x", "x"]


async def test_a_name_that_new_code_gives_to_two_tasks_names_none(caplog: pytest.LogCaptureFixture) -> None:
    """What the edited one has said is left out, which the log says."""
    with caplog.at_level("WARNING", "batonpass.crewai"):
        kept = await Releases([X, STOP], [Y, X._replace(text="on sunday"), STOP]).outputs()
    assert kept == [said(Y, 2), said(X._replace(text="on sunday"), 3)]
    assert "task 'day' finished before, but the crew no longer has this task" in caplog.text

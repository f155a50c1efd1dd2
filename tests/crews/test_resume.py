"""Retried crews and flows of the CrewAI adapter: what is finished is not run again, and its result comes back."""

from __future__ import annotations

import asyncio
import enum
import threading
from datetime import UTC, datetime
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from crewai import Crew, CrewOutput, Flow, Process, Task
from crewai.flow import listen, or_, router, start
from crewai.tasks.conditional_task import ConditionalTask
from crewai.tools import tool
from pydantic import BaseModel

import batonpass as bp
from batonpass.testing import serving

from ..apps.crewai_app import Article, Small, Topic
from ..apps.crewai_kit import Crews, Failing, Note, failure, only, result, returning
from ..apps.kit import until

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


async def test_a_retried_crew_runs_only_what_is_not_finished(crews: Crews) -> None:
    crews.script |= {"typed": '{"text": "t"}', "json": '{"text": "j"}', "None": "unnamed"}
    crews.fails_once("end", "the end")

    def factory() -> Crew:
        task = crews.task
        first, second = task("same", description="d", async_execution=True), task("same", description="d")
        typed, parsed = task("typed", output_pydantic=Note), task("json", output_json=Note)
        skipped = task("skipped", ConditionalTask, condition=lambda output: False)
        taken = task("taken", ConditionalTask, condition=lambda output: output.raw == "")
        checked = task("checked", guardrail=lambda output: (True, output.raw.upper()))
        return crews.crew(first, second, typed, parsed, skipped, taken, checked, task(None), task("end"))

    assert (await result(factory)).text == "the end"
    assert crews.ran == ["same", "same", "typed", "json", "taken", "checked", "None", "end", "end"]


async def test_a_retried_crew_keeps_async_tasks_that_finished_out_of_order(crews: Crews) -> None:
    second_is_done = threading.Event()
    crews.fails_once("first", "one")
    fail_or_say = crews.script["first"]
    crews.script["first"] = lambda said: second_is_done.wait(10) and fail_or_say(said)
    crews.script["end"] = lambda said: f"end of {'both' if 'one' in said and 'two' in said else 'a part'}"
    crews.script["second"] = "two"

    def factory() -> Crew:
        first, second = (crews.task(name, async_execution=True) for name in ("first", "second"))
        second.callback = lambda output: second_is_done.set()
        return crews.crew(first, second, crews.task("end", context=[first, second]))

    assert (await result(factory)).text == "end of both"
    assert sorted(crews.ran) == ["end", "first", "first", "second"]


async def test_a_task_whose_text_was_changed_is_known_by_its_name(crews: Crews) -> None:
    crews.fails_once("end", "fine")
    days = iter(["monday", "tuesday"])
    await result(lambda: crews.crew(crews.task("day", description=f"on {next(days)}"), crews.task("end")))
    assert crews.ran.count("day") == 1


async def test_a_hierarchical_crew_is_retried_too(crews: Crews) -> None:
    crews.fails_once("b", "Thought: I know\nFinal Answer: b is done")

    def factory() -> Crew:
        tasks = [Task(name=name, description=name, expected_output="x") for name in ("a", "b")]
        return crews.crew(*tasks, process=Process.hierarchical, manager_llm=crews.model())

    assert (await result(factory)).text == "b is done"
    assert crews.ran.count("a") == 1


@pytest.mark.parametrize("cache", [True, False])
async def test_a_retried_crew_has_the_tool_results_that_crewai_cached(cache: bool, crews: Crews) -> None:
    looked: list[str] = []

    @tool("look")
    def look(at: str) -> str:
        """Looks at something."""
        looked.append(at)
        return f"seen {at}"

    def looks(said: str) -> str:
        if "seen" in said:
            return "Thought: t\nFinal Answer: fine"
        return 'Thought: t\nAction: look\nAction Input: {"at": "x"}'

    crews.script |= {"one": looks, "three": looks}
    crews.fails_once("two", "fine")

    def factory() -> Crew:
        tasks = [crews.task(name, tools=[look]) for name in ("one", "two", "three")]
        return Crew(agents=[task.agent for task in tasks], tasks=tasks, cache=cache)

    assert (await result(factory)).text == "fine"
    assert looked == ["x"] * (1 if cache else 2)


async def test_a_crew_that_the_factory_gives_twice_starts_afresh(crews: Crews) -> None:
    crew = crews.crew(crews.task("a"), crews.task("b"))
    crews.fails_once("b", "first")
    served = only(lambda: crew)
    async with serving(served) as coordinator:
        assert (await (await coordinator.submit("a", Topic(text="1"))).result(timeout=20)).text == "first"
        assert (await (await coordinator.submit("a", Topic(text="2"))).result(timeout=20)).text == "first"
    assert crews.ran.count("a") == 2


class Color(enum.Enum):
    RED = "red"


class Base(BaseModel):
    pass


class Child(Base):
    n: int = 1


class Rich(BaseModel):
    id: str = "rich"
    when: datetime | None = None
    price: Decimal = Decimal(0)
    tags: set[str] = set()
    notes: list[Note] = []
    anything: Any = None
    base: Base | None = None
    data: bytes = b""


RICH = {"when": datetime(2026, 1, 2, tzinfo=UTC), "price": Decimal("1.50"), "tags": {"x"}, "notes": [Note(text="n")]}
RICHER = {**RICH, "anything": [Note(text="in")], "base": Child(n=2), "data": b"\xff\x00"}


@pytest.mark.parametrize("values", [RICH, RICHER])
async def test_a_retried_flow_has_its_state_and_results_as_they_were(values: dict[str, Any], crews: Crews) -> None:
    ran: list[str] = []
    fail = Failing()
    crews.script["inner"] = '{"text": "typed"}'

    class Typed(Small, Flow[Rich]):
        @start()
        def fill(self) -> CrewOutput:
            ran.append("fill")
            for name, value in values.items():
                setattr(self.state, name, value)
            return crews.crew(crews.task("inner", output_pydantic=Note)).kickoff(inputs={"text": "x"})  # type: ignore[return-value]

        @router(fill)
        def color(self, output: CrewOutput) -> Color:
            assert output.pydantic == Note(text="typed")
            return Color.RED

        @listen("red")
        def end(self) -> str:
            fail()
            assert {name: getattr(self.state, name) for name in values} == values
            assert isinstance(self.state.base, Child) is ("base" in values)
            return "same"

    assert (await result(Typed)).text == "same"
    assert ran == ["fill"]


async def test_a_flow_that_was_all_done_gives_its_result_again() -> None:
    ran: list[str] = []
    fail = Failing()

    class Done(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def one(self) -> Note:
            ran.append("one")
            return Note(text="done")

        @listen(one)
        def two(self, note: Note) -> Note:
            ran.append("two")
            return note

    def leave(note: Note, ctx: bp.Context) -> Article:
        fail()
        return Article(text=note.text)

    assert (await result(Done, leave=leave)).text == "done"
    assert ran == ["one", "two"]


async def test_an_attribute_that_a_flow_would_lose_is_named(caplog: pytest.LogCaptureFixture) -> None:
    class Keeps(Small, Flow[dict]):  # type: ignore[type-arg]
        note = ""

        @start()
        def one(self) -> None:
            self.state["n"] = 1
            self.note = "set in one"

        @listen(one)
        def two(self) -> str:
            return "done"

    with caplog.at_level("WARNING", "batonpass.crewai"):
        await result(Keeps)
    said = [record.message for record in caplog.records if record.name == "batonpass.crewai"]
    assert said == [
        "agent 'a': method 'one' of flow Keeps set self.note, which is lost if the job continues in another process: "
        "keep it in self.state"
    ]


async def test_an_or_takes_the_same_branch_after_a_retry() -> None:
    ran: list[str] = []
    fail, slow_is_done = Failing(), asyncio.Event()

    class Race(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        async def slow(self) -> str:
            await until(lambda: "end fast" in ran)
            slow_is_done.set()
            return "slow"

        @start()
        async def fast(self) -> str:
            return "fast"

        @listen(or_(slow, fast))
        async def end(self, winner: str) -> str:
            ran.append(f"end {winner}")
            await slow_is_done.wait()
            if not fail.failed:
                await asyncio.sleep(0.1)  # so that the slow branch is saved too
            fail()
            return winner

    assert (await result(Race)).text == "fast"
    assert ran == ["end fast", "end fast"]


async def test_a_result_of_a_class_that_the_flow_does_not_name_is_refused() -> None:
    elsewhere = ModuleType("elsewhere")
    exec("from pydantic import BaseModel\nclass Hidden(BaseModel): pass", elsewhere.__dict__)

    class Hides(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def make(self) -> Any:
            return elsewhere.Hidden()

    failed = await failure(Hides)
    assert "result of method 'make'" in failed.error
    assert "-> Hidden" in failed.error
    assert failed.reason == "refused"


async def test_a_result_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    rich = Rich()
    rich.anything = [rich]

    class Turns(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def turn(self) -> Rich:
            return rich

    for factory in (returning(loop), Turns):
        failed = await failure(factory)
        assert failed.reason == "refused"
        assert "can't be saved: it contains itself" in failed.error


async def test_saved_results_that_the_code_does_not_know_any_more_are_named() -> None:
    fail = Failing()

    def factory() -> Any:
        class Now(BaseModel):
            text: str

        class Later(BaseModel):
            text: str
            pages: int

        made: Any = Later if fail.failed else Now
        made.__qualname__ = "Page"

        class Changes(Small, Flow[dict]):  # type: ignore[type-arg]
            @start()
            def one(self) -> Any:
                return made(text="x")

            @listen(one)
            def two(self, page: Any) -> str:
                fail()
                return "done"

        return Changes()

    failed = await failure(factory)
    assert failed.reason == "corrupted"
    assert "the result of method 'one' was saved by other code" in failed.error
    assert "\n" not in failed.error


async def test_a_flow_is_for_one_job(crews: Crews) -> None:
    flow = returning("x")()
    served = only(lambda: flow)
    async with serving(served) as coordinator:
        assert (await (await coordinator.submit("a", Topic(text="1"))).result(timeout=20)).text == "x"
        with pytest.raises(bp.JobFailed, match="make a new one each time"):
            await (await coordinator.submit("a", Topic(text="2"))).result(timeout=20)


async def test_a_flow_inside_a_method_runs_again_with_the_answers_of_its_models(crews: Crews) -> None:
    """As docs/frameworks.md says, with what its steps have recorded."""
    ran: list[str] = []
    fail = Failing()

    class Inner(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def one(self) -> str:
            ran.append("one")
            bp.current().sync.step("paid", ran.append, "paid", key="paid")
            return str(crews.crew(crews.task("inner")).kickoff(inputs={"text": "x"}))

        @listen(one)
        def two(self, said: str) -> str:
            fail()
            return said

    class Outer(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def run(self) -> str:
            return str(Inner().kickoff())

    assert (await result(Outer)).text == "out of inner"
    assert ran == ["one", "paid", "one"]
    assert crews.ran == ["inner"]

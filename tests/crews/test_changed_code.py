"""Jobs in the middle of a flow or crew whose code was changed: what is gone is told, or the job is parked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from crewai import Flow
from crewai.flow import human_feedback, listen, start
from crewai.tools import tool

import batonpass as bp
from batonpass.adapters.crewai.calls.steps import Steps
from batonpass.adapters.crewai.calls.stop import Stop
from batonpass.adapters.crewai.identities import Clues, Identities
from batonpass.testing import serving

from ..apps.crewai_app import Small, Topic
from ..apps.crewai_kit import Crews, Failing, only, result
from ..apps.kit import question

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


async def test_a_finished_method_that_is_gone_is_told(caplog: pytest.LogCaptureFixture) -> None:
    fail = Failing()

    class Before(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def one(self) -> None:
            self.state["done"] = "one"

        @listen(one)
        def two(self) -> str:
            fail()
            return str(self.state["done"])

    class After(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def uno(self) -> None:
            self.state["done"] += ", uno"

        @listen(uno)
        def two(self) -> str:
            return str(self.state["done"])

    with caplog.at_level("WARNING", "batonpass.crewai"):
        made = await result(lambda: After() if fail.failed else Before())
    assert made.text == "one, uno"
    [said] = [record.message for record in caplog.records if record.name == "batonpass.crewai"]
    assert "method 'one' finished before, but the flow of agent 'a' no longer has it" in said


async def parked(app: bp.App, *, answer: bool = False) -> bp.JobFailed:
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        if answer:
            await question(job)
            await job.answer("fine")
        with pytest.raises(bp.JobFailed) as failed:
            await job.result(timeout=20)
    return failed.value


async def test_a_method_whose_models_have_answered_must_be_there(crews: Crews) -> None:
    fail = Failing()

    class Before(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def write(self) -> str:
            said = str(crews.crew(crews.task("inner")).kickoff(inputs={"text": "x"}))
            fail()
            return said

    class After(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def writes(self) -> str:
            raise AssertionError("it must not run")

    failed = await parked(only(lambda: After() if fail.failed else Before()))
    assert failed.reason == "refused"
    assert "continues at method 'write', which the flow no longer has: put it back" in failed.error


async def test_a_method_that_asks_must_be_there() -> None:
    built: list[Any] = []

    class Before(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        @human_feedback(message="Good?")
        def review(self) -> str:
            return "a draft"

    class After(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def reviews(self) -> str:
            raise AssertionError("it must not run")

    def factory() -> Any:
        built.append(1)
        return After() if len(built) > 1 else Before()

    failed = await parked(only(factory), answer=True)
    assert failed.reason == "refused"
    assert "continues at method 'review', which the flow no longer has" in failed.error


class Edition:
    """A crew of a task "day" and others, which a new release gives another text."""

    def __init__(self, crews: Crews) -> None:
        self.day = "monday"
        self.crews = crews

    def crew(self, *more: Any, **options: Any) -> Any:
        day = self.crews.task("day", description=f"on {self.day}", **options)
        day.agent.max_retry_limit = 0
        return self.crews.crew(day, *more)


async def test_a_task_with_another_text_does_not_repeat_tool_calls(crews: Crews) -> None:
    looked, edition = list[str](), Edition(crews)

    @tool("look")
    def look(at: str) -> str:
        """Looks at something."""
        looked.append(at)
        return f"seen {at}"

    def day(said: str) -> str:
        if "seen x" not in said:
            return 'Thought: t\nAction: look\nAction Input: {"at": "x"}'
        if edition.day == "monday":
            edition.day = "tuesday"
            raise OSError("no network")
        return f"Thought: t\nFinal Answer: fine {'tuesday' in said}"

    crews.script["day"] = day
    assert (await result(lambda: edition.crew(tools=[look], cache=False))).text == "fine True"
    assert looked == ["x"]
    assert crews.ran == ["day"] * 4


@pytest.mark.parametrize("same", [True, False])
async def test_an_answer_counts_if_the_task_with_another_text_says_the_same(
    same: bool, crews: Crews, caplog: pytest.LogCaptureFixture
) -> None:
    edition = Edition(crews)
    crews.script["day"] = lambda said: "short" if "shorter" in said else "rain" if same else f"rain on {edition.day}"
    async with serving(only(lambda: edition.crew(human_input=True))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        asked = await question(job)
        edition.day = "tuesday"
        with caplog.at_level("WARNING", "batonpass.crewai"):
            await job.answer("shorter")
            again = await question(job, after=asked)
        assert again["output"] == ("short" if same else "rain on tuesday")
        await job.answer("")
        assert (await job.result(timeout=20)).text == again["output"]
    said = [record.message for record in caplog.records if record.name == "batonpass.crewai"]
    assert (said == []) is same
    assert same or "a person has answered about an output of task 'day', but its text has changed" in said[0]


async def test_a_methods_answer_is_about_its_output_whatever_the_message() -> None:
    messages = iter(["Good?", "Really good?"])

    def factory() -> Any:
        class Asks(Small, Flow[dict]):  # type: ignore[type-arg]
            @start()
            @human_feedback(message=next(messages))
            def review(self) -> str:
                return "a draft"

            @listen(review)
            def end(self, said: Any) -> str:
                return f"{said.output}: {said.feedback}"

        return Asks()

    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await question(job)
        await job.answer("fine")
        assert (await job.result(timeout=20)).text == "a draft: fine"


async def test_callbacks_of_a_task_with_another_text_are_not_repeated(crews: Crews) -> None:
    """Neither in the attempt that finds the other text, nor in those after it."""
    called, edition = list[str](), Edition(crews)
    crews.fails_once("mid", "fine")
    crews.fails_once("end", "fine")

    def factory() -> Any:
        crew = edition.crew(crews.task("mid"), crews.task("end"))
        crew.tasks[0].callback = lambda output: called.append(output.raw)
        edition.day += "!"
        return crew

    assert (await result(factory)).text == "fine"
    assert called == ["out of day"]


async def test_nor_are_those_that_were_called_when_it_had_another_text(crews: Crews) -> None:
    """The first attempt fails in the callback, the second one after it, and each has another text."""
    called, edition, fail = list[str](), Edition(crews), Failing()
    crews.fails_once("end", "fine")

    def callback(output: Any) -> None:
        called.append(output.raw)
        fail()

    def factory() -> Any:
        crew = edition.crew(crews.task("end"))
        crew.tasks[0].callback = callback
        edition.day += "!"
        return crew

    assert (await result(factory)).text == "fine"
    assert called == ["out of day"] * 2


def test_records_of_the_releases_before_are_read(crews: Crews) -> None:
    """One had a role in place of clues, one a title."""
    task = crews.task("writer")
    records = [
        [0, "old#0", "p", ["plain", 1], "writer", {}],
        [1, "older#0", "p", ["plain", 2], {"title": "writer"}, {}],
    ]
    journal = {f"crew/{slot}": record for slot, record in enumerate(records)}
    session: Any = SimpleNamespace(journal=journal, check=lambda: None)
    identities = Identities([task])
    steps = Steps(session, Stop(session), lambda place: False, identities)
    assert steps.places() == {"old#0", identities.places[id(task)]}
    assert steps.at_present("old#0 p#0") == "old#0 p#0"


def test_outputs_of_the_release_before_are_found(crews: Crews) -> None:
    """It had only their texts, as digests, and titles."""
    tasks = [crews.task("a"), crews.task("b")]
    here = Identities(tasks)
    saved: dict[str, Clues] = {f"{tasks[0].key}#0": {"title": "x"}, "other#0": {"title": "b"}, "gone#0": {"title": "c"}}
    assert list(here.present(saved).values()) == [here.places[id(task)] for task in tasks]

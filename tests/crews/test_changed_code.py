"""Jobs in the middle of a flow or crew whose code was changed: what is gone is told, or the job is parked."""

from __future__ import annotations

from typing import Any

import pytest
from crewai import Flow
from crewai.flow import human_feedback, listen, start

import batonpass as bp
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

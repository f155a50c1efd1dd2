"""Conditional tasks of a crew: what was decided stays, whatever the condition would say after a restart."""

from __future__ import annotations

from typing import Any

import pytest
from crewai import Crew
from crewai.tasks.conditional_task import ConditionalTask

import batonpass as bp
from batonpass.testing import serving

from ..apps.crewai_app import Topic
from ..apps.crewai_kit import Crews, only, result

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Deciding:
    """A crew of a task, one that a condition decides on, and one that fails in the first attempt and tells what it saw
    of the others. The condition gives one answer after the other."""

    def __init__(self, crews: Crews, *answers: bool, fails: str = "end") -> None:
        self.asked: list[str] = []
        self.crews = crews
        self._answers = iter(answers)
        crews.script["end"] = lambda said: "with maybe" if "out of maybe" in said else "without maybe"
        say, failures = crews.script.get(fails, f"out of {fails}"), [OSError("no network")]

        def fail_or_say(said: str) -> str:
            if failures:
                raise failures.pop()
            return str(say(said) if callable(say) else say)

        crews.script[fails] = fail_or_say

    def crew(self) -> Crew:
        first, maybe = self.crews.task("first"), self.crews.task("maybe", ConditionalTask, condition=self._condition)
        return self.crews.crew(first, maybe, self.crews.task("end", context=[first, maybe]))

    def _condition(self, output: Any) -> bool:
        self.asked.append(output.raw)
        return next(self._answers)


@pytest.mark.parametrize("decided", [True, False])
async def test_a_finished_or_skipped_task_is_not_decided_again(decided: bool, crews: Crews) -> None:
    deciding = Deciding(crews, decided, not decided)
    assert (await result(deciding.crew)).text == ("with maybe" if decided else "without maybe")
    assert (crews.ran.count("maybe"), deciding.asked) == (int(decided), ["out of first"])


async def test_a_task_that_was_interrupted_is_not_decided_again(crews: Crews) -> None:
    deciding = Deciding(crews, True, False, fails="maybe")
    assert (await result(deciding.crew)).text == "with maybe"
    assert deciding.asked == ["out of first"]


async def test_a_condition_is_asked_again_about_an_edited_output(crews: Crews) -> None:
    """Unless its task has finished."""
    deciding = Deciding(crews, False, True)
    async with serving(only(deciding.crew, retries=1)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=20)
        await coordinator.redrive(job.id, changes={"tasks.first.raw": "snow is cold"})
        assert (await job.result(timeout=20)).text == "with maybe"
    assert deciding.asked == ["out of first", "snow is cold"]


async def test_the_models_that_a_condition_asks_are_not_asked_again(crews: Crews) -> None:
    crews.script["collapse"] = "yes"
    deciding = Deciding(crews)
    deciding._condition = lambda output: str(crews.model().call(f"is {output.raw} good?")) == "yes"  # type: ignore[method-assign]
    assert (await result(deciding.crew)).text == "with maybe"
    assert crews.ran.count("collapse") == 1


@pytest.mark.parametrize("error", [ValueError, ArithmeticError])
async def test_a_model_whose_answer_a_condition_can_not_use_is_asked_again(
    error: type[Exception], crews: Crews
) -> None:
    deciding, answers = Deciding(crews), iter(["hm", "yes"])
    crews.script["collapse"] = lambda said: next(answers)

    def usable(output: Any) -> bool:
        if crews.model().call(f"is {output.raw} good?") != "yes":
            raise error("neither yes nor no")
        return True

    deciding._condition = usable  # type: ignore[method-assign]
    assert (await result(deciding.crew)).text == "with maybe"
    assert crews.ran.count("collapse") == 2


async def test_what_a_model_said_before_another_call_of_the_condition_failed_stays(crews: Crews) -> None:
    deciding, down = Deciding(crews), [OSError("no network")]

    def say(said: str) -> str:
        if "really" in said and down:
            raise down.pop()
        return "yes"

    crews.script["collapse"] = say
    deciding._condition = lambda output: all(crews.model().call(ask) == "yes" for ask in ("good?", "really?"))  # type: ignore[method-assign]
    assert (await result(deciding.crew)).text == "with maybe"
    assert crews.ran.count("collapse") == 3

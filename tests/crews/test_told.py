"""A failed attempt of a crew or flow says which task or method it was, and CrewAI's traceback at most once."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from crewai import Crew, Flow
from crewai.flow import start

from ..apps.crewai_app import Small
from ..apps.crewai_kit import Crews, failure

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


def fails(said: str) -> Any:
    raise OSError("no network")


async def test_a_crew_names_its_task_in_few_lines(crews: Crews, caplog: pytest.LogCaptureFixture) -> None:
    """The error is in it once, and little of CrewAI's own code."""
    crews.script["second"] = fails
    failed = await failure(lambda: crews.crew(crews.task("first"), crews.task("second")), retries=1)
    assert failed.error.startswith("OSError: no network (in task 'second', tests/crews/test_told.py:")
    [told] = [record for record in caplog.records if record.name == "batonpass.worker" and record.exc_info]
    said = caplog.handler.format(told)
    assert said.count("OSError: no network\n") == 1
    assert "in task 'second'" in said.splitlines()[-1]
    assert len(said.splitlines()) < 20


@pytest.mark.parametrize("which", ["first", "second"])
async def test_of_tasks_side_by_side_the_right_one_is_named(which: str, crews: Crews) -> None:
    over = threading.Event()

    def waits(said: str) -> str:
        over.wait(0.5)
        return "fine"

    crews.script |= {"first": waits, "second": waits, which: fails}

    def factory() -> Crew:
        both = [crews.task(name, async_execution=True) for name in ("first", "second")]
        return crews.crew(*both, crews.task("end", context=both))

    assert f"(in task {which!r}, " in (await failure(factory, retries=1)).error


async def test_a_guardrail_names_its_task(crews: Crews) -> None:
    task = crews.task("strict", guardrail=lambda _: (False, "must cite"), guardrail_max_retries=1)
    failed = await failure(lambda: crews.crew(task), retries=1)
    assert failed.error.endswith("must cite (in task 'strict')")


async def test_a_flow_names_its_method() -> None:
    class Fails(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def write(self) -> Any:
            return fails("")

    failed = await failure(Fails, retries=1)
    assert failed.error.startswith("OSError: no network (in method 'write', tests/crews/test_told.py:")

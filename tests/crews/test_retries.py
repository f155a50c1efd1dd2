"""Models that fail: the job decides whether and when it is tried again, and nothing is done again for that."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from crewai import Crew, Flow
from crewai.flow import start
from crewai.tools import tool

import batonpass as bp
from tests.apps.crewai_app import Article
from tests.apps.crewai_kit import Crews, failure, result

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Busy(Exception):
    retry_after = 2.0  # longer than the job would wait by itself


class Wrong(Exception):
    pass


def paying(crews: Crews, fail: Callable[[], None], task: str = "order") -> tuple[Any, list[str]]:
    """A tool to pay with, and what was paid. The model of the task pays by that, and then answers if it doesn't
    `fail`."""
    paid: list[str] = []

    @tool("pay")
    def pay(what: str) -> str:
        """Pay for something."""
        paid.append(what)
        return "PAID"

    def say(said: str) -> str:
        if "PAID" not in said:
            return 'Thought: x\nAction: pay\nAction Input: {"what": "rain"}'
        fail()
        return "Thought: x\nFinal Answer: done"

    crews.script[task] = say
    return pay, paid


@pytest.mark.parametrize("inside", ["a crew", "a flow"])
async def test_what_was_done_is_not_done_again(inside: str, crews: Crews) -> None:
    """And it waits for as long as the error says."""
    failed: list[float] = []

    def fail() -> None:
        failed.append(time.monotonic())
        if len(failed) == 1:
            raise Busy

    pay, paid = paying(crews, fail)

    def make() -> Crew:
        return crews.crew(crews.task("order", tools=[pay]))

    class Orders(Flow[dict[str, Any]]):
        @start()
        def order(self) -> Article:
            said: Any = make().kickoff(inputs={"text": "rain"})
            return Article(text=said.raw)

    assert (await result(make if inside == "a crew" else Orders)).text == "done"
    assert paid == ["rain"]
    assert failed[1] - failed[0] >= Busy.retry_after
    assert crews.ran == ["order"] * 3


async def test_what_must_not_be_tried_again_is_not(crews: Crews) -> None:
    def fail() -> None:
        raise Wrong

    pay, paid = paying(crews, fail)
    assert (
        await failure(lambda: crews.crew(crews.task("order", tools=[pay])), retries=bp.Retry(never=Wrong))
    ).reason == "permanent"
    assert (paid, crews.ran) == (["rain"], ["order"] * 2)


@pytest.mark.parametrize(("error", "attempts"), [(ValueError, 3), (ValueError, 2), (ConnectionError, 3)])
async def test_a_method_that_can_not_use_what_its_crew_says(
    error: type[Exception], attempts: int, crews: Crews
) -> None:
    """It may be what the last task said. Only if that is of no help, it is what was said before."""
    failures = [error("what is this?")] * (attempts - 1)

    class Reads(Flow[dict[str, Any]]):
        @start()
        def read(self) -> Article:
            crew: Any = crews.crew(*map(crews.task, ("first", "second", "last")))
            said = crew.kickoff(inputs={"text": "rain"})
            if failures:
                raise failures.pop()
            return Article(text=said.raw)

    assert (await result(Reads, retries=bp.Retry(attempts=attempts, first=0.01))).text == "out of last"
    every = ["first", "second", "last"]
    again = ["last", *every] if attempts == 3 else every
    assert crews.ran == ([*every, *again] if error is ValueError else every)

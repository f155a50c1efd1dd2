"""`batonpass check` tells of jobs in the middle of crews and flows that no longer have what the job has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from crewai import Crew, Flow
from crewai.flow import human_feedback, listen, start
from pydantic import BaseModel

import batonpass as bp
from batonpass.testing import serving

from ..apps.crewai_app import Article, Small, Topic
from ..apps.crewai_kit import Crews
from ..apps.kit import question
from .commandline import CommandLine, Ran, kept

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Remark(BaseModel):
    """What a method returns that is gone in a later release, with the only mention of this class."""

    text: str = "rain"


class Before(Small, Flow[dict]):  # type: ignore[type-arg]
    @start()
    def one(self) -> Remark:
        return Remark()

    @listen(one)
    @human_feedback(message="Good?")
    def two(self) -> str:
        return "2"


class FirstRenamed(Small, Flow[dict]):  # type: ignore[type-arg]
    @start()
    def uno(self) -> None: ...

    @listen(uno)
    @human_feedback(message="Good?")
    def two(self) -> str:
        return "2"


class SecondRenamed(Small, Flow[dict]):  # type: ignore[type-arg]
    @start()
    def one(self) -> Remark:
        return Remark()

    @listen(one)
    @human_feedback(message="Good?")
    def due(self) -> str:
        return "2"


class Facts(bp.Contract, name="check_tests.facts"):
    facts: list[str]


class Facts2(bp.Contract, name="check_tests.facts", version=2):
    facts: list[str]
    source: str


Facts2.__qualname__ = "Facts"  # the class has another version in the later release, and is where it was


class FactsBefore(Small, Flow[dict]):  # type: ignore[type-arg]
    @start()
    @human_feedback(message="Good?")
    def one(self) -> Facts:
        return Facts(facts=["rain is wet"])


class FactsNow(Small, Flow[dict]):  # type: ignore[type-arg]
    @start()
    @human_feedback(message="Good?")
    def one(self) -> Facts2:
        return Facts2(facts=["rain is wet"], source="a book")


def crew(first: str) -> Crew:
    crews = Crews()
    return crews.crew(crews.task(first), crews.task("second", human_input=True))


def release(flow: Any, first: str) -> bp.App:
    app = bp.App("desk")
    options: dict[str, Any] = {"accepts": Topic, "returns": Article, "isolation": "task"}
    app.crewai("flow", **options)(lambda: flow())
    app.crewai("crew", **options)(lambda: crew(first))
    return app


facts_before, facts_upcast, facts_misfit = release(FactsBefore, "a"), release(FactsNow, "a"), release(FactsNow, "a")
facts_upcast.upcast(Facts2, from_version=1)(lambda values: {**values, "source": "unknown"})
now, first_renamed, second_renamed = release(Before, "a"), release(FirstRenamed, "b"), release(SecondRenamed, "a")


@pytest.fixture
def check(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Checks an app of this module."""
    cli = CommandLine(store_url, capsys, monkeypatch)
    return lambda app: cli("check", f"tests.cli.test_check_crews:{app}", "--json")


def test_what_is_gone_is_told(store_url: str, check: Callable[..., Ran]) -> None:
    async def submit() -> list[str]:
        async with serving(now, store_url) as coordinator:
            made = [await coordinator.submit(agent, Topic(text="rain")) for agent in ("flow", "crew")]
            for job in made:
                await question(job)
        return [job.id for job in made]

    in_flow, in_crew = anyio.run(submit)
    before = kept(store_url)

    def told(app: str) -> tuple[int, set[tuple[str, str, str]]]:
        ran = check(app)
        found = [(each["level"], each["about"], each["text"]) for each in ran.json["findings"]]
        return ran.code, {each for each in found if each[0] != "ok"}

    assert told("now") == (0, set())
    assert told("first_renamed") == (
        0,
        {
            ("warn", "agent flow", f"1 job(s) have finished method 'one', which it no longer has, e.g. {in_flow}"),
            ("warn", "agent crew", f"1 job(s) have finished task 'a', which it no longer has, e.g. {in_crew}"),
        },
    )
    assert told("second_renamed") == (
        1,
        {("fail", "agent flow", f"1 job(s) continue at method 'two', which it no longer has, e.g. {in_flow}")},
    )
    assert kept(store_url) == before


def test_a_contract_that_does_not_fit_any_more_is_told(store_url: str, check: Callable[..., Ran]) -> None:
    async def submit() -> None:
        async with serving(facts_before, store_url) as coordinator:
            await question(await coordinator.submit("flow", Topic(text="rain")))

    anyio.run(submit)
    assert check("facts_upcast").code == 0
    ran = check("facts_misfit")
    [found] = [each["text"] for each in ran.json["findings"] if each["level"] == "fail"]
    assert ran.code == 1
    assert "the result of method call 'one#0' was saved by other code and does not fit any more" in found

"""During an upgrade: a worker of the release before gets a job that one of this release has begun."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from crewai import Flow
from crewai.flow import start

import batonpass as bp
from batonpass.adapters.crewai.calls.steps import Steps
from batonpass.adapters.crewai.calls.stop import Stop
from batonpass.adapters.crewai.identities import Identities

from ..apps.crewai_app import Small
from ..apps.crewai_kit import Crews, result
from .test_costs import Case, asking, tokens, tool_of

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]
PREFIX = "crew/"


class Release:
    """How the release before read a record, to the letter. `titles` are those of the places that are tasks."""

    def __init__(self, titles: dict[str, str]) -> None:
        self.titles = titles
        self.moved: dict[str, str] = {}

    def at_present(self, seq: int, place: str, path: str, answer: list[Any], of: Any, usage: Any) -> Any:
        if place not in self.titles and isinstance(of, dict):
            now = next((now for now, title in self.titles.items() if title == of["title"]), place)
            self.moved[place] = now
        return seq, self.moved.get(place, place), path, answer, usage


async def begun(crews: Crews, make: Callable[[Case], Any], **options: Any) -> tuple[str, list[list[Any]]]:
    """The result of a job whose first attempt has failed, and what the second one found recorded. A tool of its task
    "first" has asked the model of its crew."""
    crews.script["first"] = asking
    case, found = Case(crews, "first"), dict[str, Any]()

    def factory(ctx: bp.Context) -> Any:
        found.update(ctx._session.journal)
        return make(case)

    text = (await result(factory, **options)).text
    return text, [record for key, record in found.items() if key.startswith(PREFIX)]


def crew(case: Case) -> Any:
    return case.crew(tools=[tool_of(lambda: f"told: {case.model.call('what?')}")])


def flow(case: Case) -> Any:
    class Writes(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def write(self) -> str:
            made: Any = crew(case).kickoff()
            return str(made.token_usage.total_tokens)

    return Writes()


async def test_it_finds_the_records_of_a_task_by_the_title(crews: Crews) -> None:
    text, records = await begun(crews, crew, leave=tokens)
    before = Release({"elsewhere#0": "end", "here#0": "first"})
    assert [before.at_present(*record)[1] for record in records] == ["here#0"] * 3
    assert text == "40"  # this release has the costs from them, too


async def test_it_finds_those_of_a_flow_where_they_are(crews: Crews) -> None:
    text, records = await begun(crews, flow)
    before = Release({})
    assert [before.at_present(*record)[1] for record in records] == [records[0][1]] * 3
    assert before.moved == {}
    assert text == "40"


@pytest.mark.parametrize("costs", [{"first": {"total_tokens": 10}}])
def test_costs_that_a_record_had_at_its_end_are_read(costs: Any, crews: Crews) -> None:
    """Where this release put them at first."""
    records = {f"{PREFIX}0": [0, "one", "p", ["plain", 1], None, None, costs]}
    session: Any = SimpleNamespace(journal=records, check=lambda: None)
    steps = Steps(session, Stop(session), lambda place: False, Identities())
    assert steps._left["one", "p"][0] == [["plain", 1], None, costs]

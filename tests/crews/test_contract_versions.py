"""Contracts in what a crew or flow has saved: read by a later release as that release's version of them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from enum import Enum, StrEnum
from typing import Any
from uuid import UUID

import pytest
from crewai import Flow
from crewai.flow import human_feedback, listen, start
from pydantic import BaseModel, Field, create_model

import batonpass as bp
from batonpass.adapters.crewai.values.contract_versions import Present, marks
from batonpass.adapters.crewai.values.values import Values
from batonpass.testing import serving

from ..apps.crewai_app import Article, Small, Topic
from ..apps.crewai_kit import Crews
from ..apps.crewai_kit import result as outcome
from ..apps.kit import question

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Facts(bp.Contract, name="crewai_tests.facts", version=1):
    facts: list[str]


class Facts2(bp.Contract, name="crewai_tests.facts", version=2):
    facts: list[str]
    source: str


Facts2.__qualname__ = "Facts"  # the class has another version in the later release, and is where it was
SAID = {"facts": ["rain is wet"]}
RAISED = Facts2(facts=["rain is wet"], source="unknown")


class Case:
    """How a release keeps a contract. What its second part sees of it is in `seen`."""

    def __init__(self, crews: Crews, contract: Any) -> None:
        self.crews = crews
        self.contract = contract
        self.seen: list[Any] = []

    def made(self) -> Any:
        return self.contract(**SAID)

    def see(self, *values: Any) -> str:
        if self.contract is Facts:
            raise OSError("no network")
        self.seen += values
        return "done"


def result(case: Case) -> Any:
    contract = case.contract

    class Results(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def one(self) -> Any:
            assert contract
            return case.made()

        @listen(one)
        def two(self, said: Any) -> str:
            bp.current().sync.step("count", lambda facts: len(facts.facts), said, key="count")
            return case.see(said)

    return Results()


def inside(case: Case) -> Any:
    made: Any = create_model("Inside", facts=(case.contract, ...), by_name=(dict[str, list[case.contract]], ...))  # type: ignore[name-defined]

    class Results(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def one(self) -> Any:
            self.state["kept"] = [case.made()]
            return made(facts=case.made(), by_name={"a": [case.made()]})

        @listen(one)
        def two(self, said: Any) -> str:
            return case.see(said.facts, said.by_name["a"][0], *self.state["kept"])

    return Results()


def state(case: Case) -> Any:
    kind: Any = case.contract
    made: Any = create_model("Kept", id=(str, ""), facts=(kind | None, None), numbered=(dict[int, kind], {}))

    class Keeps(Small, Flow[made]):
        @start()
        def one(self) -> None:
            self.state.facts = case.made()
            self.state.numbered = {1: case.made()}

        @listen(one)
        def two(self) -> str:
            return case.see(self.state.facts, self.state.numbered[1])

    return Keeps()


def output(case: Case) -> Any:
    case.crews.script["one"] = json.dumps(SAID)
    one = case.crews.task("one", output_pydantic=case.contract)
    end = case.crews.task("end", guardrail=lambda _: (True, case.see(one.output.pydantic)))
    return case.crews.crew(one, end)


CASES = [result, inside, state, output]


def release(case: Case, factory: Callable[[Case], Any], **options: Any) -> bp.App:
    app = bp.App("desk")
    app.crewai("a", accepts=Topic, returns=Article, retries=1, leave=lambda _: Article(text="done"), **options)(
        lambda: factory(case)
    )
    return app


async def continued(url: str, before: bp.App, after: bp.App) -> None:
    async with serving(before, url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=20)
    async with serving(after, url) as coordinator:
        await coordinator.redrive(job.id)
        await coordinator.job(job.id).result(timeout=20)


@pytest.mark.parametrize("factory", CASES)
async def test_they_are_upcast(factory: Callable[[Case], Any], crews: Crews, store_url: str) -> None:
    new = Case(crews, Facts2)
    app = release(new, factory)
    app.upcast(Facts2, from_version=1)(lambda values: {**values, "source": "unknown"})
    await continued(store_url, release(Case(crews, Facts), factory), app)
    assert new.seen
    assert all(seen == RAISED for seen in new.seen)


@pytest.mark.parametrize("factory", CASES)
async def test_without_an_upcast_the_job_is_parked(
    factory: Callable[[Case], Any], crews: Crews, store_url: str
) -> None:
    with pytest.raises(bp.JobFailed, match="was saved by other code and does not fit any more") as failed:
        await continued(store_url, release(Case(crews, Facts), factory), release(Case(crews, Facts2), factory))
    assert failed.value.reason == "corrupted"


@pytest.mark.parametrize("knows", [True, False])
async def test_a_migration_may_do_it_too(knows: bool, crews: Crews, store_url: str) -> None:
    """And leaves what it does not know to the upcast."""
    new = Case(crews, Facts2)
    app = release(new, state, state_version=2)
    app.upcast(Facts2, from_version=1)(lambda values: {**values, "source": "unknown"})
    source = {"source": "migrated"} if knows else {}
    app.migration("a", from_version=1)(lambda kept: {**kept, "facts": {**kept["facts"], **source}})
    await continued(store_url, release(Case(crews, Facts), state), app)
    assert [seen.source for seen in new.seen] == ["migrated" if knows else "unknown", "unknown"]


async def test_so_is_the_output_that_a_person_is_asked_about(crews: Crews, store_url: str) -> None:
    def asks(case: Case) -> Any:
        contract = case.contract

        class Asks(Small, Flow[dict]):  # type: ignore[type-arg]
            @start()
            @human_feedback(message="Good?")
            def one(self) -> Any:
                assert contract
                return case.made()

            @listen(one)
            def two(self, said: Any) -> str:
                return case.see(said.output)

        return Asks()

    new = Case(crews, Facts2)
    app = release(new, asks)
    app.upcast(Facts2, from_version=1)(lambda values: {**values, "source": "unknown"})
    async with serving(release(Case(crews, Facts), asks), store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await question(job)
    async with serving(app, store_url) as coordinator:
        await coordinator.job(job.id).answer("fine")
        await coordinator.job(job.id).result(timeout=20)
    assert new.seen == [RAISED]


def test_what_the_release_before_saved_is_read_as_it_is() -> None:
    """Which did not say of what version it was."""
    app = bp.App("desk")
    app.upcast(Facts2, from_version=1)(lambda values: {**values, "source": "unknown"})
    agent = app.crewai("a", accepts=Topic, returns=Article)(lambda: BaseModel())
    saved = {"$type": f"{__name__}.Facts", "json": {"facts": [], "source": "before"}}
    assert Values([Facts2], Present(agent)).load(saved) == Facts2(facts=[], source="before")


@pytest.mark.parametrize("left", [3, 2, 0])
def test_those_side_by_side_are_upcast_together(left: int) -> None:
    """Also if a person has left out the last ones."""
    app = bp.App("desk")
    app.upcast(Facts2, from_version=1)(lambda values: {**values, "source": "unknown"})
    present = Present(app.crewai("a", accepts=Topic, returns=Article)(lambda: BaseModel()))
    facts = [Facts(facts=[str(number)]) for number in range(3)]
    stored = [fact.model_dump() for fact in facts][:left]
    assert present(stored, marks(facts)) == [{**fact, "source": "unknown"} for fact in stored]
    assert all("source" not in fact for fact in stored)


class Section(StrEnum):
    INTRO = "intro"


class Level(Enum):
    ONE = "one"


@pytest.mark.parametrize("key", ["a", 1, 2.5, True, Section.INTRO, Level.ONE, UUID(int=7), dt.date(2024, 2, 29)])
async def test_they_are_upcast_under_keys_of_any_class(key: Any, crews: Crews, store_url: str) -> None:
    def keyed(case: Case) -> Any:
        made: Any = create_model("Keyed", id=(str, ""), under=(dict[type(key), case.contract], {}))  # type: ignore[misc]

        class Keeps(Small, Flow[made]):
            @start()
            def one(self) -> Any:
                self.state.under = {key: case.made()}
                return made(under=self.state.under)

            @listen(one)
            def two(self, said: Any) -> str:
                return case.see(self.state.under[key], said.under[key])

        return Keeps()

    new = Case(crews, Facts2)
    app = release(new, keyed)
    app.upcast(Facts2, from_version=1)(lambda values: {**values, "source": "unknown"})
    await continued(store_url, release(Case(crews, Facts), keyed), app)
    assert new.seen == [RAISED, RAISED]


class Row(BaseModel):
    number: int = 0
    by_name: dict[str, list[float]] = {}


class Telling(Row):
    facts: Facts | None = None


class Rows(BaseModel):
    numbers: list[int | None] = []
    rows: list[Row] = []
    anything: Any = None


@pytest.mark.parametrize(
    ("value", "places"),
    [
        (Rows(numbers=[1, None], rows=[Row()], anything=[1, "a", {"b": 2.5}, Row()]), []),
        (Rows(anything={"a": [1, (Facts(facts=[]),)]}), [["anything", "a", 1, 0]]),
        (Rows(rows=[Row(), Telling(facts=Facts(facts=[]))]), [["rows", 1, "facts"]]),
        ({1: [Telling(), Telling(facts=Facts(facts=[]))]}, [["1", 1, "facts"]]),
        ([Facts(facts=[]), Facts(facts=[]), Row(), Facts(facts=[])], [[[0, 2]], [3]]),
        (Rows(rows=[Telling(facts=Facts(facts=[]))] * 3000), [["rows", [0, 3000], "facts"]]),
    ],
)
def test_they_are_found_among_plain_values(value: Any, places: list[Any]) -> None:
    assert marks(value) == [[place, "crewai_tests.facts", 1] for place in places]


class Node(BaseModel):
    parent: Any = Field(default=None, exclude=True, repr=False)
    children: list[Node] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.children == other.children


class Tree(BaseModel):
    id: str = ""
    root: Node = Node()


async def test_a_field_that_is_not_saved_may_lead_back() -> None:
    class Grows(Small, Flow[Tree]):
        @start()
        def one(self) -> Node:
            root = Node()
            root.children.append(Node(parent=root))
            self.state.root = root
            return root

        @listen(one)
        def two(self, root: Node) -> str:
            return f"{len(root.children)} of {len(self.state.root.children)}"

    assert (await outcome(Grows)).text == "1 of 1"

"""CrewAI's own memory: it is there for flows that use it, and costs nothing for those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from crewai import Memory
from crewai.memory.storage.factory import set_memory_storage_factory

import batonpass as bp
from batonpass.adapters.crewai import CrewAIAdapter, internals
from tests.apps.crewai_app import Article, Topic
from tests.workers.conftest import desk as desk
from tests.workers.families import serving_apart
from tests.workers.processes import DEADLINE, Desk

from .remembering import app

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
    pytest.mark.timeout(240),
]
APP = "tests.crews.remembering:app"


def run(coordinator: bp.SyncCoordinator, agent: str) -> str:
    """What a job of it says."""
    return coordinator.submit(agent, Topic(text="rain"), returns=Article).result(timeout=DEADLINE).text


def test_a_flow_that_does_not_use_its_memory_imports_no_database_for_it(desk: Desk) -> None:
    serving_apart(desk, "forgets", "--child-jobs", "1", app=APP)
    with bp.connect(desk.url, app=app) as coordinator:
        said = [run(coordinator, "forgets").split(" ", 1) for _ in range(2)]
    assert said[0][0] != said[1][0]
    assert [what for _, what in said] == ["['batonpass.adapters.crewai.flows.flow']"] * 2


def test_what_a_flow_remembers_the_next_process_finds(desk: Desk) -> None:
    serving_apart(desk, "remembers", "--child-jobs", "1", app=APP)
    with bp.connect(desk.url, app=app) as coordinator:
        said = [run(coordinator, "remembers") for _ in range(2)]
    assert said == ["0 ['rain is wet']", "1 ['rain is wet', 'rain is wet']"]


class Own:
    """A storage of the user's."""


@pytest.fixture
def factory() -> Iterator[None]:
    before = internals.storage_factory()
    yield
    set_memory_storage_factory(before)


@pytest.mark.usefixtures("factory")
def test_a_storage_that_the_user_chose_stays() -> None:
    own: Any = Own()
    set_memory_storage_factory(lambda spec: own if spec == "lancedb" else None)
    CrewAIAdapter()
    CrewAIAdapter()
    assert Memory()._storage is own

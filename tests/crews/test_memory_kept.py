"""What a finished task or method has told CrewAI's memory is kept, and is not told again after a crash."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from crewai import Flow, Memory
from crewai.flow import listen, start
from crewai.memory.types import MemoryRecord, ScopeInfo

from tests.apps.crewai_app import Small
from tests.apps.crewai_kit import Crews, Failing, result

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Kept:
    """A memory's storage, which outlives the attempts of a job. It waits for the gate, if there is one, to save."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.records: list[MemoryRecord] = []
        self.gate = gate

    def save(self, records: list[MemoryRecord]) -> None:
        if self.gate is not None:
            self.gate.wait(0.5)
        self.records += records

    def search(self, *_: Any, **__: Any) -> list[tuple[MemoryRecord, float]]:
        return []

    def list_scopes(self, parent: str = "/") -> list[str]:
        return []

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        return {}

    def get_scope_info(self, scope: str) -> ScopeInfo:
        return ScopeInfo(path=scope)

    @property
    def contents(self) -> list[str]:
        return [record.content for record in self.records]


@pytest.fixture
def crews() -> Crews:
    return Crews()


def embed(texts: list[str]) -> list[list[float]]:
    return [[float(ord(text[0]) - 100), 1.0] for text in texts]


def memory(storage: Kept, crews: Crews, **options: Any) -> Any:
    """A memory whose model has nothing to say, so that each result is kept whole."""
    return Memory(llm=crews.model(), embedder=embed, storage=storage, **options)  # type: ignore[arg-type]


def _telling(crews: Crews, told: Any) -> Any:
    task = crews.task("one")
    task.callback = told  # set later: CrewAI warns of a function
    return task


async def test_a_tasks_memories_are_saved_before_it_counts_as_finished(crews: Crews) -> None:
    gate, seen = threading.Event(), list[int]()
    storage = Kept(gate)

    def told(_: Any) -> None:  # comes right after the task's checkpoint
        seen.append(len(storage.records))
        gate.set()

    await result(lambda: crews.crew(_telling(crews, told), memory=memory(storage, crews)))
    assert seen == [1]


async def test_the_memory_of_an_agent_that_only_a_task_names_is_kept_too(crews: Crews) -> None:
    gate, seen = threading.Event(), list[int]()
    storage = Kept(gate)

    def told(_: Any) -> None:
        seen.append(len(storage.records))
        gate.set()

    def make() -> Any:
        task = _telling(crews, told)
        task.agent.memory = memory(storage, crews)
        return crews.crew(task)

    await result(make)
    assert seen == [1]


async def test_a_task_that_starts_again_does_not_tell_the_memory_twice(crews: Crews) -> None:
    storage, fail = Kept(), Failing()

    def look(output: Any) -> Any:
        kept.drain_writes()
        fail()
        return True, output

    kept = memory(storage, crews)
    await result(lambda: crews.crew(crews.task("one", guardrail=lambda output: look(output)), memory=kept))
    assert fail.failed
    assert len(storage.contents) == 1


async def test_what_is_new_in_the_second_attempt_is_told(crews: Crews) -> None:
    storage, fail = Kept(), Failing()
    said = iter(["first", "second"])
    crews.script["one"] = lambda _: next(said)

    def look(output: Any) -> Any:
        kept.drain_writes()
        if output.raw == "first":
            fail()
        return True, output

    kept = memory(storage, crews)
    await result(lambda: crews.crew(crews.task("one", guardrail=lambda output: look(output)), memory=kept))
    assert [text.rpartition("Result: ")[2] for text in storage.contents] == ["first", "second"]


async def test_a_flow_that_starts_a_method_again_has_what_it_remembered_once(crews: Crews) -> None:
    storage, fail = Kept(), Failing()
    records: list[Any] = []

    class Remembers(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def keep(self) -> str:
            records.append(self.remember("rain is wet", scope="/a", categories=["c"], importance=0.5, metadata={}))
            self.remember(["snow is cold", "Ice is hard"], scope="/a", categories=["c"], importance=0.5, metadata={})
            self.memory.drain_writes()  # type: ignore[union-attr]
            fail()
            return "kept"

    await result(lambda: Remembers(memory=memory(storage, crews)))
    assert storage.contents == ["rain is wet", "snow is cold", "Ice is hard"]
    assert records[0].model_dump() == records[1].model_dump()


async def test_a_methods_background_memories_are_saved_before_it_counts_as_finished(crews: Crews) -> None:
    gate, seen = threading.Event(), list[int]()
    storage = Kept(gate)

    class Remembers(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def keep(self) -> str:
            self.remember(["snow is cold"], scope="/a", categories=["c"], importance=0.5, metadata={})
            return "kept"

        @listen(keep)
        def end(self, _: str) -> str:
            seen.append(len(storage.records))
            gate.set()
            return "kept"

    await result(lambda: Remembers(memory=memory(storage, crews)))
    assert seen == [1]


async def test_a_memory_that_can_not_be_written_does_not_fail_the_task(crews: Crews) -> None:
    class Broken(Kept):
        def save(self, records: list[MemoryRecord]) -> None:
            raise OSError("disk full")

    crews.script["one"] = "said"
    done = await result(lambda: crews.crew(crews.task("one"), memory=memory(Broken(), crews)))
    assert done.text == "said"

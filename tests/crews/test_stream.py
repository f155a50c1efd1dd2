"""What the models of crews and flows stream is read along with the job."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from crewai import Flow
from crewai.flow import start

from batonpass.testing import serving
from tests.apps.crewai_app import Article, Small, Topic
from tests.apps.crewai_kit import Crews, Model, only

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Streaming(Model):
    """Streams its answer by words, and a tool call, as the clients of providers do."""

    def call(self, messages: Any, *args: Any, from_task: Any = None, from_agent: Any = None, **kwargs: Any) -> str:
        said = super().call(messages, *args, from_task=from_task, **kwargs)
        for word in said.split():
            self._emit_stream_chunk_event(chunk=word, from_task=from_task, from_agent=from_agent)
        asked = {"id": "1", "function": {"name": "look", "arguments": "{}"}, "type": "function", "index": 0}
        self._emit_stream_chunk_event(chunk="{}", from_task=from_task, from_agent=from_agent, tool_call=asked)
        return said


class StreamingCrews(Crews):
    def model(self) -> Model:
        model = Streaming(model="scripted", script={}, ran=[])
        model.script, model.ran = self.script, self.ran
        return model


@pytest.mark.parametrize("in_flow", [False, True])
async def test_a_streamed_answer_comes_in_parts(in_flow: bool) -> None:
    crews = StreamingCrews()
    crews.script["one"] = "rain is wet"

    class Runs(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        async def run(self) -> str:
            return str(await crews.crew(crews.task("one")).akickoff(inputs={"text": "rain"}))

    async with serving(only(Runs if in_flow else lambda: crews.crew(crews.task("one")))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Article)
        with anyio.fail_after(30):
            parts = [part async for part in job.stream()]
        assert len({(part.pop("message"), part.pop("lease")) for part in parts}) == 1
        assert parts == [{"agent": "one", "task": "one", "chunk": word} for word in ("rain", "is", "wet")]
        assert (await job.result(timeout=30)).text == "rain is wet"


async def test_tasks_of_one_agent_can_be_told_apart() -> None:
    """One without a name has its description, as in CrewAI's own chunks. What a flow asks itself has no task."""
    crews = StreamingCrews()
    crews.script |= {"one": "1", "None": "2"}

    class Runs(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def run(self) -> str:
            agent = crews.task("one").agent
            tasks = [crews.task(name, agent=agent, description=f"{name} of it") for name in ("one", None)]
            crews.crew(*tasks).kickoff()
            return crews.model().call("3?")

    async with serving(only(Runs)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Article)
        with anyio.fail_after(30):
            parts = [part async for part in job.stream()]
    assert len({part.pop("message") for part in parts}) == 3
    assert len({part.pop("lease") for part in parts}) == 1
    assert parts[:2] == [
        {"agent": "one", "task": "one", "chunk": "1"},
        {"agent": "one", "task": "None of it", "chunk": "2"},
    ]
    assert [set(part) for part in parts[2:]] == [{"agent", "chunk"}] * 3  # out of collapse

"""The worked example of an adapter, as users copy it: what agents of Pydantic AI give, remember, hand on and ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent as AI
from pydantic_ai import CallDeferred, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import batonpass as bp
from batonpass.contracts.plugged import plugged
from batonpass.contracts.transcript_losses import Losses
from batonpass.coordinator import frameworks
from batonpass.coordinator.transcripts import count_lost
from batonpass.examples.pydantic_ai_adapter import PydanticAIAdapter
from batonpass.testing import asked, serving

pytestmark = [pytest.mark.capability("pydantic-ai"), pytest.mark.usefixtures("install")]

Script = Callable[[list[ModelMessage], AgentInfo], ModelResponse]


class Text(bp.Contract, name="worked_example.text"):
    text: str


class Note(bp.Contract, name="worked_example.note"):
    title: str
    points: int = 0


class NoMemory(PydanticAIAdapter):
    remembers = False


class NoTranscript:
    """An adapter that knows nothing of other agents' conversations."""

    async def run(self, agent: Any, payload: Any, session: Any, context: Any) -> Any:
        return await PydanticAIAdapter().run(agent, payload, session, context)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[type[Any]], None]]:
    """Installs an adapter of kind "pydantic-ai"."""

    def installed(adapter: type[Any] = PydanticAIAdapter) -> None:
        def found(group: str, name: str) -> Any:
            known = [SimpleNamespace(load=lambda: adapter)]
            return known if name == "pydantic-ai" else plugged(group, name)

        for module in ("workers.adapters", "coordinator.frameworks"):
            monkeypatch.setattr(f"batonpass.{module}.plugged", found)
        frameworks.adapter_of.cache_clear()

    installed()
    yield installed
    frameworks.adapter_of.cache_clear()


def says(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def calls(tool: str, **arguments: Any) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(tool, arguments)])


def heard(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Says what it was told."""
    kinds = (UserPromptPart, TextPart, ToolReturnPart)
    return says(" | ".join(str(part.content) for each in messages for part in each.parts if isinstance(part, kinds)))


def results(messages: list[ModelMessage]) -> list[Any]:
    last = messages[-1]
    parts = last.parts if isinstance(last, ModelRequest) else ()
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]


def one(factory: Callable[[], Any], **options: Any) -> bp.App:
    """An app of one agent, `a`."""
    app = bp.App("worked")
    declared: dict[str, Any] = {"accepts": Text, "returns": Note, "retries": 1, **options}
    app.agent("a", kind="pydantic-ai", **declared)(factory)
    return app


def answering(script: Script, output: Any = str, **options: Any) -> bp.App:
    """An app of one agent, `a`, with a scripted model."""
    return one(lambda: AI(FunctionModel(script), output_type=output), **options)


class Model(BaseModel):
    title: str
    points: int
    more: str = "?"


@dataclass
class Data:
    title: str
    points: int


@pytest.mark.parametrize("output", [Model, Data, Note])
async def test_structured_output_is_taken_by_its_fields(output: Any) -> None:
    """It was read as a text, by its repr."""

    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return calls(info.output_tools[0].name, title="rain", points=3)

    assert await answering(script, output).run("a", Text(text="x")) == Note(title="rain", points=3)
    state = await answering(script, output, returns=bp.State).run("a", Text(text="x"))
    assert {**state.as_dict(), "more": "?"} == {"title": "rain", "points": 3, "more": "?"}


async def test_output_without_the_contracts_fields_is_no_text() -> None:
    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return calls(info.output_tools[0].name, response=3)

    with pytest.raises(bp.JobFailed, match="a result of type int does not fit worked_example"):
        await answering(script, int).run("a", Text(text="x"))


@pytest.mark.parametrize(("answer", "said"), [(True, "removed x"), (False, "False"), ("too old", "too old")])
async def test_a_tool_that_needs_an_approval_asks_people(answer: Any, said: str) -> None:
    ran = list[str]()

    def make() -> Any:
        def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return says(str(found[0])) if (found := results(messages)) else calls("remove", path="x")

        ai = AI(FunctionModel(script), output_type=[str, DeferredToolRequests])

        @ai.tool_plain(requires_approval=True)
        def remove(path: str) -> str:
            ran.append(path)
            return f"removed {path}"

        return ai

    async with serving(one(make)) as coordinator:
        job = await coordinator.submit("a", Text(text="clean up"), returns=Note)
        assert await asked(job) == [{"tool": "remove", "arguments": {"path": "x"}}]
        assert not ran
        await job.answer(answer)
        assert (await job.result(timeout=20)).title == said
    assert ran == ["x"] * (answer is True)


async def test_a_tool_that_runs_elsewhere_is_refused() -> None:
    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return calls("remove", path="x")

    def make() -> Any:
        ai = AI(FunctionModel(script), output_type=[str, DeferredToolRequests])

        @ai.tool_plain
        def remove(path: str) -> str:
            raise CallDeferred

        return ai

    with pytest.raises(bp.JobFailed, match=r"\(refused\): 'remove' runs elsewhere"):
        await one(make).run("a", Text(text="x"))


async def test_it_remembers_its_thread(install: Any) -> None:
    options: Any = {"memory": "thread", "enter": _plain}
    async with serving(answering(heard, **options)) as coordinator:
        for text, told in (("one", "one"), ("two", "one | one | two")):
            job = await coordinator.submit("a", Text(text=text), thread="talk", returns=Note)
            assert (await job.result(timeout=20)).title == told
    install(NoMemory)
    with pytest.raises(bp.BadSetup, match=r"agent 'a' has memory='thread', but adapter .*NoMemory .* does not say"):
        await answering(heard, **options).run("a", Text(text="x"))


async def test_it_goes_on_after_a_job_that_stopped_amid_a_call() -> None:
    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return says("fine") if "two" in str(messages) else calls("missing")

    options: Any = {"memory": "thread", "enter": _plain}
    async with serving(answering(script, **options)) as coordinator:
        first = await coordinator.submit("a", Text(text="one"), thread="talk", returns=Note)
        with pytest.raises(bp.JobFailed):
            await first.result(timeout=20)
        second = await coordinator.submit("a", Text(text="two"), thread="talk", returns=Note)
        assert (await second.result(timeout=20)).title == "fine"


async def test_conversations_come_from_others_and_go_to_them() -> None:
    app = answering(heard, enter=_plain, returns=None, hands_to={"b": Text}, leave=_onward)
    app.agent("b", kind="pydantic-ai", accepts=Text, hands_to={"reads": Text}, enter=_plain, leave=_read)(
        lambda: AI(FunctionModel(heard))
    )

    @app.agent("reads", accepts=Text, returns=Note)
    async def reads(text: Text, ctx: bp.Context) -> Note:
        return Note(title=" / ".join(f"{each.role}: {each.text}" for each in ctx.transcript.messages))

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Text(text="one"), returns=Note)
        expected = "user: one / assistant: one / user: two / assistant: one | one | two"
        assert (await job.result(timeout=20)).title == expected


def test_an_adapter_without_a_word_of_conversations_loses_them(install: Any) -> None:
    """It was not told in the job's events."""
    messages = [bp.Message.model_validate({"role": "user", "parts": [{"kind": "text", "text": "x"}]})] * 2
    for adapter, lost in ((NoTranscript, {"user message": 2}), (PydanticAIAdapter, {})):
        install(adapter)
        losses = Losses()
        count_lost("pydantic-ai", bp.Transcript(messages=messages), losses)
        assert losses.counts == lost


def test_of_an_adapter_that_is_not_installed_here_nothing_is_said() -> None:
    """Its agents run in another environment, and may take the conversation over."""
    losses = Losses()
    count_lost("elsewhere", bp.Transcript(messages=[bp.Message.model_validate({"role": "user", "parts": []})]), losses)
    assert losses.counts == {}


def _plain(text: Text) -> str:
    return text.text


def _onward(said: str, ctx: bp.Context) -> Any:
    return ctx.hand_off("b", Text(text="two"), transcript=True)


def _read(said: str, ctx: bp.Context) -> Any:
    return ctx.hand_off("reads", Text(text=said), transcript=True)


async def test_what_models_use_counts_towards_the_budget() -> None:
    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return calls("missing") if len(messages) < 20 else says("x")

    async with serving(one(lambda: AI(FunctionModel(script), retries=20))) as coordinator:
        job = await coordinator.submit("a", Text(text="x"), guard=bp.Guard(tokens=200))
        with pytest.raises(bp.JobFailed, match="budget"):
            await job.result(timeout=20)
        assert 200 < (await job.info()).spent.tokens < 400


async def test_another_payload_is_refused_once_it_has_begun() -> None:
    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if "bad" in str(messages):
            raise ValueError("not that")
        return says("good")

    async with serving(answering(script)) as coordinator:
        job = await coordinator.submit("a", Text(text="bad"), returns=Note)
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=20)
        with pytest.raises(bp.BadSetup, match="has already started and keeps its payload in its state"):
            await coordinator.redrive(job.id, payload=Text(text="good"))

"""The Agent Framework's storage refuses values that could not come back, and stops a run that runs in two places."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib import util
from typing import Any

import pytest
from agent_framework import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowContext,
    WorkflowEvent,
    WorkflowMessage,
    handler,
    response_handler,
)

import batonpass as bp
from batonpass.adapters.agent_framework import BatonpassCheckpointStorage, NotSaved
from batonpass.adapters.agent_framework import storage as storage_module
from batonpass.contracts import state_types
from tests.apps.agent_framework_app import OUTPUT, View, build

pytestmark = [pytest.mark.anyio, pytest.mark.capability("agent-framework"), pytest.mark.usefixtures("log")]


@pytest.fixture
async def coordinator() -> AsyncIterator[bp.Coordinator]:
    async with bp.connect("memory://", app=bp.App("empty")) as opened:
        yield opened


def checkpoint(number: int = 0, *, after: str | None = None, **fields: Any) -> WorkflowCheckpoint:
    fields = {"previous_checkpoint_id": after, "iteration_count": number, **fields}
    return WorkflowCheckpoint("wf", "signature", checkpoint_id=f"id-{number}", **fields)


@dataclass
class Stranger:
    text: str


@bp.state_type("agent-framework-tests.guest")
@dataclass
class Guest:
    text: str


async def test_a_value_that_could_not_come_back_stops_the_run_and_is_named(coordinator: bp.Coordinator) -> None:
    storage = BatonpassCheckpointStorage(coordinator, "run")
    message = WorkflowMessage(data=Stranger("x"), source_id="a")
    with pytest.raises(NotSaved, match="Stranger is neither a plain type nor a registered one") as stopped:
        await storage.save(checkpoint(messages={"a": [message]}))
    assert isinstance(stopped.value.__cause__, bp.Unserializable)
    assert stopped.value.__cause__.path == "state['messages']['a'][0].data"
    assert await coordinator.timeline("run") == []


class Sender(Executor):
    """Sends something that no checkpoint can hold; counts how often it was run."""

    runs = 0

    @handler
    async def send(self, text: str, ctx: WorkflowContext[Stranger]) -> None:
        self.runs += 1
        await ctx.send_message(Stranger(text))

    @handler
    async def again(self, stranger: Stranger, ctx: WorkflowContext[Stranger]) -> None:
        self.runs += 1


async def test_the_framework_does_not_go_on_without_a_checkpoint(coordinator: bp.Coordinator) -> None:
    sender, sink = Sender(id="sender"), Sender(id="sink")
    workflow = WorkflowBuilder(start_executor=sender, name="wf").add_edge(sender, sink).build()
    with pytest.raises(bp.Unserializable, match="Stranger"):
        await BatonpassCheckpointStorage(coordinator, "run").run(workflow, "go")
    assert (sender.runs, sink.runs) == (1, 0)


async def test_a_registered_class_comes_back_and_an_unknown_one_is_named(
    coordinator: bp.Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = BatonpassCheckpointStorage(coordinator, "run")
    await storage.save(checkpoint(state={"guest": Guest("x")}))
    assert (await storage.load("id-0")).state == {"guest": Guest("x")}
    monkeypatch.delitem(state_types._by_name, "agent-framework-tests.guest")
    with pytest.raises(bp.BadSetup, match=r"'agent-framework-tests\.guest'.*import the module that registers it"):
        await storage.load("id-0")


async def test_a_run_that_goes_on_in_two_processes_stops_in_the_slower_one(coordinator: bp.Coordinator) -> None:
    started = BatonpassCheckpointStorage(coordinator, "run")
    await started.save(checkpoint(0))
    takeover = BatonpassCheckpointStorage(coordinator, "run")
    await takeover.load("id-0")
    other = BatonpassCheckpointStorage(coordinator, "run")
    await other.load("id-0")
    await takeover.save(checkpoint(1, after="id-0"))
    for slower in (started, other):
        with pytest.raises(NotSaved) as stopped:
            await slower.save(checkpoint(2, after="id-0"))
        assert isinstance(stopped.value.__cause__, bp.Conflict)
    assert await takeover.list_checkpoint_ids(workflow_name="wf") == ["id-0", "id-1"]


async def test_a_run_from_an_older_checkpoint_is_a_branch(coordinator: bp.Coordinator) -> None:
    storage = BatonpassCheckpointStorage(coordinator, "run")
    await storage.run(build(), "go")
    before = await storage.list_checkpoint_ids(workflow_name="desk")
    result = await build().run(
        checkpoint_id=before[1], checkpoint_storage=BatonpassCheckpointStorage(coordinator, "run")
    )
    assert result.get_outputs() == [OUTPUT]
    [_, *rest] = await storage.list_checkpoints(workflow_name="desk")
    assert rest[4].previous_checkpoint_id == before[1]
    assert len(await coordinator.branches("run")) == 2
    latest = await storage.get_latest(workflow_name="desk")
    assert latest is not None
    assert latest.checkpoint_id == rest[-1].checkpoint_id


async def test_an_edited_fork_is_what_the_run_goes_on_from(coordinator: bp.Coordinator) -> None:
    storage = BatonpassCheckpointStorage(coordinator, "run")
    await storage.run(build(), "go")
    third = (await coordinator.timeline("run"))[::-1][2]
    messages = (await coordinator.restore(third.id)).state["messages"]
    messages["left"][0].data = View(who="left", heard="what was put in")
    await coordinator.fork(third.id, changes={"messages": messages})
    result = await BatonpassCheckpointStorage(coordinator, "run").run(build())
    assert result.get_outputs() == ["left: what was put in and right: first heard 1"]


class Asker(Executor):
    """Asks for a View, then for a list of numbers."""

    @handler
    async def ask(self, text: str, ctx: WorkflowContext[Any, str]) -> None:
        await ctx.request_info(request_data=text, response_type=View)

    @response_handler
    async def looked(self, request: str, view: View, ctx: WorkflowContext[Any, str]) -> None:
        await ctx.request_info(request_data=Guest(view.who), response_type=list[int])

    @response_handler
    async def counted(self, request: Guest, numbers: list[int], ctx: WorkflowContext[Any, str]) -> None:
        await ctx.yield_output(f"{request.text} {sum(numbers)}")


def asking() -> Workflow:
    asker = Asker(id="asker")
    return WorkflowBuilder(start_executor=asker, name="ask", output_from=[asker]).build()


async def test_what_a_run_asks_is_answered_in_another_process(coordinator: bp.Coordinator) -> None:
    def storage() -> BatonpassCheckpointStorage:
        return BatonpassCheckpointStorage(coordinator, "run")

    [first] = (await storage().run(asking(), "who?")).get_request_info_events()
    [again] = (await storage().run(asking())).get_request_info_events()
    assert (again.request_id, again.data, again.response_type) == (first.request_id, "who?", View)
    answer = {again.request_id: View(who="me", heard="")}
    [second] = (await storage().run(asking(), responses=answer)).get_request_info_events()
    assert second.data == Guest("me")
    done = await storage().run(asking(), responses={second.request_id: [1, 2]})
    assert done.get_outputs() == ["me 3"]


@pytest.mark.parametrize("kind", [View, Guest, str, list[int], dict[str, list[View]], int | None, Any])
async def test_the_type_of_an_answer_comes_back(kind: Any, coordinator: bp.Coordinator) -> None:
    storage = BatonpassCheckpointStorage(coordinator, "run")
    request = WorkflowEvent.request_info("r", "asker", "what?", kind)
    await storage.save(checkpoint(pending_request_info_events={"r": request}))
    found = (await storage.load("id-0")).pending_request_info_events["r"]
    assert found.response_type == kind
    assert found.request_type is str


async def test_the_type_of_an_answer_is_not_imported_by_its_name(coordinator: bp.Coordinator) -> None:
    storage = BatonpassCheckpointStorage(coordinator, "run")
    request = WorkflowEvent.request_info("r", "asker", "what?", Stranger)
    with pytest.raises(NotSaved, match="Stranger is neither a plain type nor a registered one"):
        await storage.save(checkpoint(pending_request_info_events={"r": request}))


def test_a_missing_framework_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "find_spec", lambda name: util.find_spec(f"no_{name}"))
    with pytest.raises(bp.MissingExtra, match=r"pip install 'batonpass\[agent-framework\]'"):
        BatonpassCheckpointStorage(None, "run")  # type: ignore[arg-type]

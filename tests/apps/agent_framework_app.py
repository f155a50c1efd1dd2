"""A workflow of the Agent Framework with scripted agents, for its storage's tests. Needs no network."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from agent_framework import (
    Agent,
    AgentExecutor,
    AgentExecutorResponse,
    BaseChatClient,
    ChatResponse,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowContext,
    handler,
)

import batonpass as bp
from batonpass.adapters.agent_framework import BatonpassCheckpointStorage

from . import evidence


class View(bp.Contract, name="agent-framework-tests.view"):
    """What goes from the middle to the end: a contract, which states hold by its own name."""

    who: str
    heard: str


class ScriptedClient(BaseChatClient):
    """A model that says who it is and how much it has heard."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        return self._reply(messages)

    async def _reply(self, messages: Sequence[Message]) -> ChatResponse:
        evidence.ran(self._name)
        usage: Any = {"output_token_count": 1}
        said = Message("assistant", [f"{self._name} heard {len(messages)}"])
        return ChatResponse(messages=[said], usage_details=usage, raw_representation=object())


def agent(name: str) -> AgentExecutor:
    return AgentExecutor(Agent(client=ScriptedClient(name), name=name), id=name)


class Viewer(Executor):
    """Has a state of its own beside its message."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.seen: list[str] = []

    @handler
    async def view(self, response: AgentExecutorResponse, ctx: WorkflowContext[View]) -> None:
        evidence.ran(self.id)
        self.seen.append(response.agent_response.text)
        await ctx.send_message(View(who=self.id, heard=response.agent_response.text))

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"seen": self.seen}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.seen = state["seen"]


class Joiner(Executor):
    @handler
    async def join(self, views: list[View], ctx: WorkflowContext[str]) -> None:
        evidence.ran(self.id)
        await ctx.send_message(" and ".join(sorted(f"{view.who}: {view.heard}" for view in views)))


class Closer(Executor):
    @handler
    async def close(self, text: str, ctx: WorkflowContext[Any, str]) -> None:
        evidence.ran(self.id)
        await ctx.yield_output(text)


def build(name: str | None = "desk") -> Workflow:
    """first -> (left, right) -> join -> last: left and right are one superstep."""
    first, left, right = agent("first"), Viewer("left"), Viewer("right")
    join, last = Joiner(id="join"), Closer(id="last")
    builder = WorkflowBuilder(start_executor=first, name=name, output_from=[last])
    return (
        builder.add_fan_out_edges(first, [left, right])
        .add_fan_in_edges([left, right], join)
        .add_edge(join, last)
        .build()
    )


SUPERSTEPS = [["first"], ["left", "right"], ["join"], ["last"]]
OUTPUT = "left: first heard 1 and right: first heard 1"


class Watched(BatonpassCheckpointStorage):
    """Notes each save that was acknowledged, and dies before or after the nth if the test asked for it."""

    saves = 0

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        self.saves += 1
        die_at(f"before:{self.saves}")
        saved = await super().save(checkpoint)
        evidence.note(f"ack {self.saves}")
        die_at(f"after:{self.saves}")
        return saved


def die_at(point: str) -> None:
    if os.environ["BATONPASS_TEST_KILL"] == point:
        os.kill(os.getpid(), signal.SIGKILL)


def run(url: str, log: str, kill: str) -> None:
    """Run the workflow, or what is left of it, in this process; its output goes to the log."""
    os.environ.update(BATONPASS_TEST_LOG=log, BATONPASS_TEST_KILL=kill)

    async def main() -> None:
        async with bp.connect(url) as coordinator:
            result = await Watched(coordinator, "run").run(build(), "go")
        evidence.note(f"output {result.get_outputs()}")

    anyio.run(main)

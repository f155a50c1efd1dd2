"""AutoGen agents whose tools and workbenches keep a state, for the adapter's tests and the kill tests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from autogen_agentchat.teams import BaseGroupChat, DiGraphBuilder, GraphFlow, RoundRobinGroupChat
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import LLMMessage
from autogen_core.tools import BaseTool, BaseToolWithState, TextResultContent, ToolResult, ToolSchema, Workbench
from pydantic import BaseModel

import batonpass as bp

from . import evidence
from .autogen_app import Draft, Report, last, says, speaker

app = bp.App("autogen-states")
QUICK = 2  # what is counted quickly


class By(BaseModel):
    by: int


class Total(BaseModel):
    total: int = 0


class Counter(BaseToolWithState[By, Total, Total]):
    """Counts up. What is counted first takes its time, and is half done meanwhile."""

    def __init__(self) -> None:
        super().__init__(By, Total, Total, "count", "Counts up.")
        self.total = 0

    async def run(self, args: By, cancellation_token: CancellationToken) -> Total:
        evidence.ran(f"count:{args.by}")
        before = self.total
        self.total += args.by
        await asyncio.sleep(0 if args.by == QUICK else 0.02)
        assert self.total >= before + args.by
        return Total(total=self.total)

    def save_state(self) -> Total:
        return Total(total=self.total)

    def load_state(self, state: Total) -> None:
        self.total = state.total


class Quiet(BaseTool[By, Total]):
    """A class that keeps nothing."""

    def __init__(self) -> None:
        super().__init__(By, Total, "count", "Counts up.")

    async def run(self, args: By, cancellation_token: CancellationToken) -> Total:
        return Total(total=args.by)


class Basket(Workbench):
    """A workbench of the user's own: what is put into it stays there."""

    def __init__(self) -> None:
        self.held: list[int] = []

    async def list_tools(self) -> list[ToolSchema]:
        return [Counter().schema]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        by = (arguments or {})["by"]
        evidence.ran(f"count:{by}")
        self.held.append(by)
        await asyncio.sleep(0 if by == QUICK else 0.02)
        return ToolResult(name=name, result=[TextResultContent(content=f"total={sum(self.held)}")])

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def reset(self) -> None: ...

    async def save_state(self) -> Mapping[str, Any]:
        return {"held": [*self.held]}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self.held = list(state["held"])


class Remote(Basket):
    """A workbench whose state is somewhere else, as an MCP server's: it only says what it is."""

    async def save_state(self) -> Mapping[str, Any]:
        return {"type": "RemoteState", "version": "1.0.0"}


def count(by: int) -> FunctionCall:
    return FunctionCall(id=f"count-{by}", name="count", arguments=f'{{"by": {by}}}')


def counts(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
    """Two at once, then a third, then what it all came to."""
    calls = {1: [count(1), count(QUICK)], 2: [count(4)]}
    return calls.get(turn) or "".join(filter(str.isdigit, last(messages).partition("total")[2].partition("call_id")[0]))


@app.autogen("tally", accepts=Draft, returns=Report)
def tally() -> BaseGroupChat:
    """A tool that is called twice at once, and again in the next turn."""
    counter = speaker("counter", counts, tools=[Counter()], max_tool_iterations=3)
    again = speaker("again", lambda turn, messages: f"{last(messages)} in all")
    return RoundRobinGroupChat([counter, again], max_turns=2)


@app.autogen("share", accepts=Draft, returns=Report)
def share() -> BaseGroupChat:
    """One tool of two agents that run side by side, and of a third."""
    tool = Counter()

    def once(by: int) -> Any:
        return lambda turn, messages: [count(by)] if turn == 1 else "counted"

    left, right = (speaker(name, once(by), tools=[tool]) for name, by in (("left", 1), ("right", QUICK)))
    end = speaker("end", lambda turn, messages: counts(turn + 1, messages), tools=[tool], max_tool_iterations=2)
    nodes = [speaker("plan", says("go")), left, right, end]
    builder = DiGraphBuilder()
    for node in nodes:
        builder.add_node(node)
    for one, other in (("plan", "left"), ("plan", "right"), ("left", "end"), ("right", "end")):
        builder.add_edge(one, other)
    return GraphFlow([*nodes], graph=builder.build())


@app.autogen("basket", accepts=Draft, returns=Report)
def basket() -> BaseGroupChat:
    """A workbench with a state, as `tally`."""
    counter = speaker("counter", counts, workbench=Basket(), max_tool_iterations=2)
    return RoundRobinGroupChat([counter], max_turns=2)


STEPS: dict[str, list[str]] = {
    "tally": ["counter:1", "count:1", "count:2", "counter:2", "count:4", "counter:3", "again:1"],
    "share": ["plan:1", "left:1", "right:1", "count:1", "count:2", "end:1", "count:4", "end:2"],
    "basket": ["counter:1", "count:1", "count:2", "counter:2", "count:4", "counter:3"],
}
PARALLEL: dict[str, list[set[str]]] = {
    "tally": [{"count:1", "count:2"}],
    "share": [{"left:1", "right:1", "count:1", "count:2"}],
    "basket": [{"count:1", "count:2"}],
}
INPUT: dict[str, Mapping[str, Any]] = {name: {"text": f"a text for {name}"} for name in STEPS}
EXPECTED: dict[str, dict[str, Any]] = {
    "tally": {"body": "7 in all"},
    "share": {"body": "7"},
    "basket": {"body": "7"},
}

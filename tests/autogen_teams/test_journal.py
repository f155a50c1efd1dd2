"""When a turn is run again, what models, tools and code answered inside it is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

import anyio
import pytest
from autogen_agentchat.agents import ApprovalResponse, AssistantAgent, CodeExecutorAgent, UserProxyAgent
from autogen_agentchat.teams import BaseGroupChat, DiGraphBuilder, GraphFlow, RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken, FunctionCall
from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult
from autogen_core.models import LLMMessage, UserMessage
from autogen_core.tools import BaseTool
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.autogen.journal import Journal, calling, within
from batonpass.testing import serving
from tests.apps import evidence
from tests.apps.autogen_app import Draft, Report, ScriptedModel, called, last, says, speaker

from ..apps.autogen_kit import only, steps
from ..apps.kit import labels, question

pytestmark = [pytest.mark.anyio, pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


class Once:
    """Raises the first time that it is called."""

    def __init__(self) -> None:
        self.raised = False

    def __call__(self) -> None:
        if not self.raised:
            self.raised = True
            raise ConnectionError("away")


async def run(team: Callable[[], Any], url: str = "memory://") -> str:
    """The result of a team whose first attempt is cut off."""
    async with serving(only(team), url) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        result = await job.result(timeout=30)
        assert (await job.info()).attempt == 2
        return result.body


async def test_only_the_node_that_was_cut_off_runs_again(log: Path) -> None:
    away = Once()

    def fails(turn: int, messages: Sequence[LLMMessage]) -> str:
        away()
        return "R"

    def team() -> BaseGroupChat:
        nodes = [speaker("plan", says("go")), speaker("left", says("L")), speaker("right", fails)]
        builder = DiGraphBuilder()
        for node in nodes:
            builder.add_node(node)
        builder.add_edge("plan", "left").add_edge("plan", "right")
        return GraphFlow([*nodes], graph=builder.build())

    assert await run(team) in ("L", "R")
    assert sorted(labels(log)) == ["left:1", "plan:1", "right:1", "right:1"]


async def test_a_question_in_one_parallel_node_does_not_rerun_the_others(log: Path) -> None:
    def team() -> BaseGroupChat:
        nodes = [speaker("plan", says("go")), speaker("left", says("L")), UserProxyAgent("boss")]
        end = speaker("end", lambda _, messages: "+".join(sorted(str(message.content) for message in messages[-2:])))
        builder = DiGraphBuilder()
        for node in (*nodes, end):
            builder.add_node(node)
        builder.add_edge("plan", "left").add_edge("plan", "boss").add_edge("left", "end").add_edge("boss", "end")
        return GraphFlow([*nodes, end], graph=builder.build())

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        await question(job)
        await job.answer("B")
        assert await job.result(timeout=30) == Report(body="B+L")
    assert labels(log) == ["plan:1", "left:1", "end:1"]


async def test_code_that_was_executed_is_not_executed_again(log: Path) -> None:
    away = Once()
    approved = ApprovalResponse(approved=True, reason="")

    class Noting(CodeExecutor):
        async def execute_code_blocks(self, code_blocks: list[CodeBlock], cancellation_token: Any) -> CodeResult:
            evidence.ran("code")
            return CodeResult(exit_code=0, output="42")

        async def start(self) -> None: ...
        async def stop(self) -> None: ...
        async def restart(self) -> None: ...

    def tells(turn: int, messages: Sequence[LLMMessage]) -> str:
        if turn == 1:
            return "```python\nprint(42)\n```"
        away()
        return f"it is {'42' in last(messages)}"

    def team() -> Any:
        model = ScriptedModel("coder", tells)
        return CodeExecutorAgent("coder", Noting(), model_client=model, approval_func=lambda request: approved)

    assert await run(team) == "it is True"
    assert labels(log) == ["coder:1", "code", "coder:2", "coder:2"]


async def test_an_agent_that_is_a_tool_keeps_its_memory_and_is_not_asked_again(log: Path) -> None:
    away = Once()
    heard: list[list[str]] = []

    def expert(turn: int, messages: Sequence[LLMMessage]) -> str:
        heard.append([str(message.content) for message in messages])
        return f"answer {turn}"

    def asks(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        if turn in (1, 3):
            return [FunctionCall(id=f"{turn}", name="expert", arguments=f'{{"task": "question {turn}"}}')]
        if turn == 2:
            away()
        return f"turn {turn}"

    def team() -> BaseGroupChat:
        tool = AgentTool(speaker("expert", expert), return_value_as_last_message=True)
        chief = speaker("chief", asks, tools=[tool], max_tool_iterations=2)
        return RoundRobinGroupChat([chief, speaker("other", lambda *_: fails_once())], max_turns=3)

    later = Once()

    def fails_once() -> str:
        later()
        return "fine"

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        assert await job.result(timeout=30) == Report(body="turn 4")
        assert (await job.info()).attempt == 3
    assert heard == [["question 1"], ["question 1", "answer 1", "question 3"]]
    assert [label for label in labels(log) if label.startswith("expert")] == ["expert:1", "expert:2"]


@pytest.mark.parametrize("at", [2, 3])
async def test_a_tool_with_a_state_goes_on_from_it(at: int, log: Path) -> None:
    """Its state is what the calls that are not made again left (2: the turn is begun again), or the checkpoint's."""
    away = Once()

    class By(BaseModel):
        by: int

    class Counter(BaseTool[By, By]):
        def __init__(self) -> None:
            super().__init__(By, By, "count", "counts")
            self.total = 0

        async def run(self, args: By, cancellation_token: CancellationToken) -> By:
            evidence.ran(f"tool:{args.by}")
            self.total += args.by
            return By(by=self.total)

        async def save_state_json(self) -> Mapping[str, Any]:
            return {"total": self.total}

        async def load_state_json(self, state: Mapping[str, Any]) -> None:
            self.total = state["total"]

    def counts(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        if turn == at:
            away()
        call = FunctionCall(id=f"{turn}", name="count", arguments=f'{{"by": {turn}}}')
        return [call] if turn < 4 else str(messages[-1].content)

    def team() -> BaseGroupChat:
        counter = speaker("counter", counts, tools=[Counter()], max_tool_iterations=2)
        return RoundRobinGroupChat([counter], max_turns=2)

    assert '{"by":6}' in (await run(team)).replace(" ", "")
    assert [label for label in labels(log) if label.startswith("tool")] == ["tool:1", "tool:2", "tool:3"]


async def test_an_agent_that_is_the_tool_of_two_is_counted_once() -> None:
    used: list[int] = []

    def asks(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        used.append(len(messages) + 1)
        return [FunctionCall(id="1", name="expert", arguments='{"task": "?"}')] if turn == 1 else "done"

    def knows(turn: int, messages: Sequence[LLMMessage]) -> str:
        used.append(len(messages) + 1)
        return "yes"

    def team() -> BaseGroupChat:
        tool = AgentTool(speaker("expert", knows))
        pair = [speaker(name, asks, tools=[tool], max_tool_iterations=2) for name in "AB"]
        return RoundRobinGroupChat([*pair], max_turns=2)

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        await job.result(timeout=30)
        assert (len(used), (await job.info()).spent.tokens) == (6, sum(used))


async def test_the_journal_does_not_grow_with_the_turns() -> None:
    sizes: list[int] = []

    def team() -> BaseGroupChat:
        return RoundRobinGroupChat([speaker("A", noting, tools=[find], max_tool_iterations=2)], max_turns=6)

    async def find(text: str) -> str:
        return text

    def noting(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        sizes.append(len(bp.current()._session.journal))
        return [called("find", str(turn))] if turn % 2 else "found"

    async with serving(only(team)) as coordinator:
        await (await coordinator.submit("a", Draft(text="go"))).result(timeout=30)
    assert max(sizes) == 4  # the three calls of a turn, and a record of what the hop has spent


async def test_a_client_has_its_name_in_each_call_of_its_own() -> None:
    """A call that was recorded asks no client, so the others' names must not depend on it."""
    made = Journal(cast("Any", Memory()), never)
    for first in (True, False):
        made.begin(1)
        one, other = object(), object()
        if first:
            with within(calling, "choice"):
                made.own(one)
        with within(calling, "judge"):
            assert made.own(other) == " own 0 judge"


class Memory:
    """A session that only keeps records."""

    def __init__(self) -> None:
        self.journal: dict[str, Any] = {}

    async def arecord(self, records: dict[str, Any]) -> None:
        self.journal.update(records)


def never(error: BaseException) -> NoReturn:
    raise AssertionError(error)


async def test_a_record_answers_once_and_only_its_turn_and_member() -> None:
    session: Any = Memory()
    asked: list[str] = []

    def journal(turn: int) -> Journal:
        made = Journal(session, never)
        made.begin(turn)
        return made

    async def ask(made: Journal, caller: str, request: str) -> str:
        async def answer() -> str:
            asked.append(request)
            return f"{request} {len(asked)}"

        found: str = await made.call(caller, request, answer)
        return found

    first = journal(1)
    assert [await ask(first, "A", "x"), await ask(first, "A", "x"), await ask(first, "B", "y")] == ["x 1", "x 2", "y 3"]
    again = journal(1)
    assert [await ask(again, "B", "y"), await ask(again, "A", "x"), await ask(again, "A", "x")] == ["y 3", "x 1", "x 2"]
    assert await ask(again, "A", "x") == "x 4"
    assert await ask(again, "A", "another") == "another 5"
    assert await ask(again, "B", "x") == "x 6"
    assert await ask(journal(2), "A", "x") == "x 7"


async def test_a_model_used_outside_of_a_job_is_just_the_model(log: Path) -> None:
    team = RoundRobinGroupChat([speaker("A", says("x"))], max_turns=1)

    async def leave(result: Any, ctx: bp.Context) -> Report:
        return Report(body="left")

    async with serving(only(lambda: team, leave=leave)) as coordinator:
        await (await coordinator.submit("a", Draft(text="go"))).result(timeout=30)
    [member] = team._participants
    assert isinstance(member, AssistantAgent)
    model: Any = member._model_client
    result = await model.create([UserMessage(content="x", source="user")])
    assert (result.content, model.name) == ("x", "A")
    parts = [part async for part in model.create_stream([], cancellation_token=CancellationToken())]
    assert [part for part in parts if isinstance(part, str)] == ["x "]


async def test_a_worker_that_stops_gives_the_job_back_between_two_turns(log: Path, sqlite_url: str) -> None:
    started, go_on = anyio.Event(), anyio.Event()

    class Slow(ScriptedModel):
        async def create(self, messages: Sequence[LLMMessage], **options: Any) -> Any:
            result = await super().create(messages, **options)
            started.set()
            await go_on.wait()
            return result

    def team() -> BaseGroupChat:
        members = [AssistantAgent("A", Slow("A", says("a{turn}"))), speaker("B", says("b{turn}"))]
        return RoundRobinGroupChat([*members], max_turns=4)

    app = only(team)
    async with bp.connect(sqlite_url, app=app) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        async with app.worker(coordinator) as worker:
            await started.wait()
            worker.stop()
            go_on.set()
            with anyio.fail_after(10):
                while (info := await job.info()).state == bp.JobState.WORKING:
                    await anyio.sleep(0.005)
        assert (info.state, info.reason, info.attempt) == (bp.JobState.SUBMITTED, "ready", 1)
        assert (labels(log), await steps(coordinator, job)) == (["A:1"], ["A"])
        async with app.worker(coordinator):
            assert await job.result(timeout=30) == Report(body="b2")
    assert labels(log) == ["A:1", "B:1", "A:2", "B:2"]

"""AutoGen agents with scripted models, for the adapter's tests and the kill tests. Needs no network."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent, UserProxyAgent
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import (
    BaseGroupChat,
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)

import batonpass as bp

from . import evidence

Script = Callable[[int, Sequence[LLMMessage]], str | list[FunctionCall]]


class ScriptedModel(ChatCompletionClient):
    """A model whose nth reply is `script(n, messages)`, n from 1. It counts its own messages, so it has no memory."""

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self.script = script

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        turn = 1 + sum(isinstance(message, AssistantMessage) for message in messages)
        evidence.ran(f"{self.name}:{turn}")
        reply = self.script(turn, messages)
        return CreateResult(
            content=reply,
            finish_reason="stop" if isinstance(reply, str) else "function_calls",
            usage=RequestUsage(prompt_tokens=len(messages), completion_tokens=1),
            cached=False,
        )

    async def create_stream(self, messages: Sequence[LLMMessage], **_: Any) -> AsyncGenerator[str | CreateResult, None]:
        made = await self.create(messages)
        if isinstance(made.content, str):
            for word in made.content.split():
                yield f"{word} "
        yield made

    async def close(self) -> None: ...

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return len(messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return 1000

    @property
    def capabilities(self) -> ModelInfo:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=True,
            family=ModelFamily.UNKNOWN,
            structured_output=True,
        )


class Draft(bp.Contract, name="autogen-tests.draft"):
    text: str


class Report(bp.Contract, name="autogen-tests.report"):
    body: str


class Score(bp.Contract, name="autogen-tests.score"):
    points: int
    reason: str


app = bp.App("autogen-tests")


def speaker(name: str, script: Script, **options: Any) -> AssistantAgent:
    return AssistantAgent(name, ScriptedModel(name, script), system_message=None, description=name, **options)


def says(text: str) -> Script:
    return lambda turn, messages: text.format(turn=turn)


def last(messages: Sequence[LLMMessage]) -> str:
    return str(messages[-1].content)


def hands_to(name: str) -> list[FunctionCall]:
    return [FunctionCall(id=f"to-{name}", name=f"transfer_to_{name}", arguments="{}")]


@app.autogen("review", accepts=Draft, returns=Report)
def review() -> BaseGroupChat:
    author = speaker("author", says("version {turn}"))
    critic = speaker("critic", lambda turn, messages: f"{last(messages)} {'is APPROVED' if turn == 2 else 'is weak'}")
    return RoundRobinGroupChat([author, critic], termination_condition=TextMentionTermination("APPROVED"))


@app.autogen("panel", accepts=Draft, returns=Score)
def panel() -> BaseGroupChat:
    """The chair's model chooses who speaks: it sees the whole conversation as one text, so it counts the speakers."""
    verdict = '{"points": 7, "reason": "fine"}'
    members = [
        speaker("optimist", says("good {turn}")),
        speaker("sceptic", says("bad {turn}")),
        speaker("judge", lambda turn, messages: verdict, output_content_type=Score),
    ]
    order = ["sceptic", "optimist", "judge"]

    class Chair(ScriptedModel):
        async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
            heard = last(messages).count("good 1") + last(messages).count("bad 1")
            evidence.ran(f"chair:{heard + 1}")
            usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
            return CreateResult(content=order[heard], finish_reason="stop", usage=usage, cached=False)

    return SelectorGroupChat(
        [*members], model_client=Chair("chair", says("")), termination_condition=MaxMessageTermination(4)
    )


@app.autogen("desk", accepts=Draft, returns=Report)
def desk() -> BaseGroupChat:
    """A swarm that asks the user if the text speaks of a refund."""

    def first(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        return hands_to("billing")

    def billing_says(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        if turn == 1 and any("refund" in str(message.content) for message in messages):
            return hands_to("user")
        return hands_to("closing")

    return Swarm(
        [
            speaker("triage", first, handoffs=["billing"]),
            speaker("billing", billing_says, handoffs=["closing", "user"]),
            speaker("closing", lambda turn, messages: f"closed: {answer_of(messages)} DONE"),
        ],
        termination_condition=HandoffTermination("user") | TextMentionTermination("DONE"),
    )


refund = app.autogen("refund", accepts=Draft, returns=Report)(desk.fn)


def answer_of(messages: Sequence[LLMMessage]) -> str:
    texts = [str(message.content) for message in messages if getattr(message, "source", None) == "user"]
    return texts[-1]


@app.autogen("guided", accepts=Draft, returns=Report)
def guided() -> BaseGroupChat:
    """A team with a person in it, who would be asked on standard input."""
    return RoundRobinGroupChat([speaker("planner", says("plan {turn}?")), UserProxyAgent("human")], max_turns=4)


@app.autogen("pipeline", accepts=Draft, returns=Report)
def pipeline() -> BaseGroupChat:
    """plan -> (left, right) -> join: left and right are one turn."""
    plan, left, right = speaker("plan", says("a plan")), speaker("left", says("L")), speaker("right", says("R"))
    join = speaker("join", lambda turn, messages: "+".join(sorted(str(m.content) for m in messages[-2:])))
    builder = DiGraphBuilder()
    for node in (plan, left, right, join):
        builder.add_node(node)
    builder.add_edge(plan, left).add_edge(plan, right).add_edge(left, join).add_edge(right, join)
    return GraphFlow([plan, left, right, join], graph=builder.build())


@app.autogen("lookup", accepts=Draft, returns=Report)
def lookup() -> AssistantAgent:
    """A lone agent: its model asks for a tool, then answers with the tool's result."""

    def count(text: str) -> str:
        """How many words a text has."""
        evidence.ran("tool:count")
        return f"{len(text.split())} words in {bp.current().job_id[:1]}"

    def answers(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        if turn == 1:
            return [FunctionCall(id="1", name="count", arguments='{"text": "one two three"}')]
        return f"It has {messages[-1].content[0].content}"  # type: ignore[union-attr]

    return speaker("counter", answers, tools=[count], max_tool_iterations=2)


@app.autogen("search", accepts=Draft, returns=Report)
def search() -> BaseGroupChat:
    """An agent whose model calls two tools at once, then one that takes its time, and streams what it says."""

    async def find(text: str) -> str:
        evidence.ran(f"tool:find-{text}")
        return f"{text} found"

    def answers(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        if turn == 1:
            return [called("find", "a"), called("find", "b")]
        if turn == 2:
            return [called("find", "c")]
        return " ".join(sorted(result.content for message in messages for result in results(message)))

    seeker = speaker("seeker", answers, tools=[find], max_tool_iterations=3, model_client_stream=True)
    return RoundRobinGroupChat(
        [seeker, speaker("checker", lambda turn, messages: f"right: {last(messages)}")], max_turns=2
    )


def called(name: str, text: str) -> FunctionCall:
    return FunctionCall(id=f"call-{text}", name=name, arguments=f'{{"text": "{text}"}}')


def results(message: LLMMessage) -> Sequence[FunctionExecutionResult]:
    return message.content if isinstance(message, FunctionExecutionResultMessage) else ()


@app.autogen("society", accepts=Draft, returns=Report)
def society() -> BaseGroupChat:
    """A team inside of an agent: its turn is several calls of models."""
    inner = RoundRobinGroupChat([speaker("writer", says("draft")), speaker("reader", says("fine"))], max_turns=2)
    outer = SocietyOfMindAgent("office", inner, model_client=ScriptedModel("office", says("from the office")))
    return RoundRobinGroupChat([outer, speaker("boss", lambda turn, messages: f"read {last(messages)}")], max_turns=2)


@app.autogen("magentic", accepts=Draft, returns=Report)
def magentic() -> BaseGroupChat:
    """A team that can't be continued from its state: all of it is one turn."""

    async def look(text: str) -> str:
        evidence.ran(f"tool:look-{text}")
        return f"seen {text}"

    def works(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        return [called("look", f"{turn}")] if turn % 2 else f"worked {turn}"

    chief = Chief("chief", says(""))
    worker = speaker("worker", works, tools=[look], max_tool_iterations=2)
    return MagenticOneGroupChat([worker, speaker("helper", says("helped {turn}"))], model_client=chief)


class Chief(ScriptedModel):
    """Plans, lets the worker, the helper and the worker again speak, and reports."""

    order = ("worker", "helper", "worker")

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        done = sum(getattr(message, "source", "") in self.order for message in messages)
        prompt = last(messages)
        kind = "ledger" if "is_request_satisfied" in prompt else "final" if done else f"plan{len(messages)}"
        evidence.ran(f"chief:{kind}:{done}")
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        text = self.ledger(done) if kind == "ledger" else f"{kind} after {done}"
        return CreateResult(content=text, finish_reason="stop", usage=usage, cached=False)

    def ledger(self, done: int) -> str:
        satisfied = done == len(self.order)
        answers: dict[str, Any] = {"is_request_satisfied": satisfied, "is_in_loop": False}
        answers |= {"is_progress_being_made": True, "instruction_or_question": f"go on {done}"}
        answers["next_speaker"] = self.order[done % len(self.order)]
        return json.dumps({name: {"reason": "r", "answer": answer} for name, answer in answers.items()})


# The labels of an undisturbed run. Each is finished by a write of its own.
STEPS: dict[str, list[str]] = {
    "review": ["author:1", "critic:1", "author:2", "critic:2"],
    "panel": ["chair:1", "sceptic:1", "chair:2", "optimist:1", "chair:3", "judge:1"],
    "desk": ["triage:1", "billing:1", "closing:1"],
    "refund": ["triage:1", "billing:1", "billing:2", "closing:1"],
    "guided": ["planner:1", "planner:2"],
    "pipeline": ["plan:1", "left:1", "right:1", "join:1"],
    "lookup": ["counter:1", "tool:count", "counter:2"],
    "search": [
        *("seeker:1", "tool:find-a", "tool:find-b", "seeker:2", "tool:find-c", "seeker:3", "checker:1"),
    ],
    "society": ["writer:1", "reader:1", "office:1", "boss:1"],
    "magentic": [
        *("chief:plan1:0", "chief:plan3:0", "chief:ledger:0", "worker:1", "tool:look-1", "worker:2"),
        *("chief:ledger:1", "helper:1", "chief:ledger:2", "worker:3", "tool:look-3", "worker:4"),
        *("chief:ledger:3", "chief:final:3"),
    ],
}
# What runs side by side.
PARALLEL: dict[str, list[set[str]]] = {
    "pipeline": [{"left:1", "right:1"}],
    "search": [{"tool:find-a", "tool:find-b"}],
}
INPUT: dict[str, Mapping[str, Any]] = {name: {"text": f"a text for {name}"} for name in STEPS}
ANSWERS: dict[str, list[str]] = {"refund": ["granted"], "guided": ["no", "yes"]}
EXPECTED: dict[str, dict[str, Any]] = {
    "review": {"body": "version 2 is APPROVED"},
    "panel": {"points": 7, "reason": "fine"},
    "desk": {"body": "closed: a text for desk DONE"},
    "refund": {"body": "closed: granted DONE"},
    "guided": {"body": "yes"},
    "pipeline": {"body": "L+R"},
    "lookup": {"body": "It has 3 words in j"},
    "search": {"body": "right: a found b found c found"},
    "society": {"body": "read from the office"},
    "magentic": {"body": "final after 3"},
}

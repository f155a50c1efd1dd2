"""Crews with tools, delegation, guardrails and callbacks, and flows with crews in them. Everything they do leaves
evidence."""

from __future__ import annotations

import json
from typing import Any

from crewai import Agent, BaseLLM, Crew, Flow, Process, Task, TaskOutput
from crewai.flow import listen, start
from crewai.tasks.conditional_task import ConditionalTask
from crewai.tools import BaseTool, tool
from pydantic import BaseModel

import batonpass as bp
from tests.apps import evidence
from tests.apps.crewai_app import Article, Small, Topic
from tests.harness.waiting import wait_until

app = bp.App("crewai-steps")

EXPECTED: dict[str, dict[str, Any]] = {
    "sequential": {"text": "ARTICLE on 2 facts after a look, tokens 60"},
    "hierarchical": {"text": "the manager says: WRITTEN, and checked, tokens 40"},
    "gap": {"text": "NORTH and SOUTH, tokens 40"},
    "react": {"text": "saw one, two, three, tokens 40"},
    "native": {"text": "saw one, two, three, tokens 30"},
    "nested": {"text": "saw one, two, three; then FINE"},
    "anested": {"text": "saw one, two, three; then FINE"},
}
INPUT = {name: {"text": "queues"} for name in EXPECTED}
# What runs at the same time, in any order.
PARALLEL: dict[str, list[set[str]]] = {
    "native": [{"look.one", "look.two"}],
}


class Facts(BaseModel):
    facts: list[str]


class Look(BaseTool):
    name: str = "look"
    description: str = "Looks at something."

    def _run(self, at: str) -> str:
        evidence.ran(f"look.{at}")
        return f"seen {at}"


@tool("alook")
async def alook(at: str) -> str:
    """Looks at something."""
    evidence.ran(f"look.{at}")
    return f"seen {at}"


def seen(messages: Any) -> list[str]:
    """What the tools have answered in a conversation."""
    return [at for at in ("one", "two", "three", "gap") if f"seen {at}" in str(messages)]


class Scripted(BaseLLM):
    """Says what the task's script says. A call costs ten tokens."""

    native: bool = False

    def call(self, messages: Any, tools: Any = None, *args: Any, from_task: Any = None, **kwargs: Any) -> Any:
        said = "\n".join(str(message.get("content")) for message in messages)
        name, answer = self._answer(from_task, said, messages)
        if name == "gap.north":
            wait_until(lambda: any(task.output for task in from_task.agent.crew.tasks), timeout=20)
        evidence.ran(name)
        self._track_token_usage_internal({"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10})
        return answer

    def _answer(self, task: Any, said: str, messages: Any) -> tuple[str, Any]:
        name = str(getattr(task, "name", None) or "delegated")
        done = seen(messages)
        if name == "anested":
            return f"{name}.{len(done)}", self._look(["one", "two", "three"], done, tool="alook")
        if name in ("react", "nested"):
            return f"{name}.{len(done)}", self._look(["one", "two", "three"], done)
        if name == "native":
            if len(done) == 3:
                return "native.3", "saw one, two, three"
            asked = [_call(at) for at in (("one", "two") if not done else ("three",))]
            return f"native.{len(done)}", asked
        if name == "gap.south" and not done:
            return "gap.south", _react("look", at="gap")
        if name == "gap.south":
            return "gap.south.1", "Thought: x\nFinal Answer: SOUTH"
        if name == "sequential.facts":
            refused = "too few" in said
            return f"{name}.{int(refused)}", json.dumps({"facts": ["fast", "fair"] if refused else ["fast"]})
        if name == "hierarchical":
            if "WRITTEN" in said:
                return "manager.1", "Thought: x\nFinal Answer: the manager says: WRITTEN, and checked"
            work = {"task": "write on queues", "context": "none", "coworker": "writer"}
            return "manager.0", _react("delegate_work_to_coworker", **work)
        if name == "delegated":
            return f"delegated.{len(done)}", self._look(["one"], done, "WRITTEN")
        after = " after a look" if "LOOKED" in said else ""
        facts = "2 facts" if "fair" in said else "no facts"
        both = "NORTH and SOUTH" if "NORTH" in said and "SOUTH" in said else "a part"
        plain = {"sequential.article": f"ARTICLE on {facts}{after}", "gap.north": "NORTH", "gap.merge": both}
        more = {"sequential.looks": "LOOKED", "sequential.outline": "OUTLINE", "fine": "FINE"}
        return name, {**plain, **more}[name]

    def _look(self, places: list[str], done: list[str], end: str = "", tool: str = "look") -> str:
        if len(done) < len(places):
            return _react(tool, at=places[len(done)])
        return f"Thought: x\nFinal Answer: {end or 'saw ' + ', '.join(done)}"

    def supports_function_calling(self) -> bool:
        return self.native


def _react(name: str, **arguments: str) -> str:
    return f"Thought: x\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def _call(at: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "look", "arguments": json.dumps({"at": at})}}


def _agent(role: str, tools: Any = (), *, native: bool = False) -> Agent:
    return Agent(role=role, goal="g", backstory="b", llm=Scripted(model="scripted", native=native), tools=list(tools))


def _task(name: str, kind: Any = Task, tools: Any = (), *, native: bool = False, **options: Any) -> Any:
    agent = _agent(f"{name} agent", tools, native=native)
    return kind(name=name, description=f"{name} of {{text}}", expected_output="text", agent=agent, **options)


def _crew(*tasks: Any, **options: Any) -> Crew:
    return Crew(agents=[task.agent for task in tasks], tasks=list(tasks), **options)


def counted(result: Any, ctx: bp.Context) -> Article:
    """The text with what the crew says that it cost."""
    return Article(text=f"{result.raw}, tokens {result.token_usage.total_tokens}")


def enough(output: TaskOutput) -> tuple[bool, Any]:
    return (True, output.raw) if "fair" in output.raw else (False, "too few")


@app.crewai("sequential", accepts=Topic, returns=Article, leave=counted)
def sequential() -> Crew:
    facts = _task("sequential.facts", output_pydantic=Facts, guardrail=lambda output: enough(output))
    facts.callback = lambda output: evidence.ran(f"callback {type(output.pydantic).__name__}")
    outline = _task("sequential.outline")
    skipped = _task("sequential.skipped", ConditionalTask, condition=lambda output: "OUT" not in output.raw)
    looks = _task("sequential.looks", ConditionalTask, condition=lambda output: output.raw == "")
    article = _task("sequential.article", context=[facts, looks])
    last = _task("fine", callback=lambda output: evidence.ran("callback"))
    return _crew(facts, outline, skipped, looks, last, article)


@app.crewai("hierarchical", accepts=Topic, returns=Article, leave=counted)
def hierarchical() -> Crew:
    task = Task(name="hierarchical", description="write on {text}", expected_output="text")
    manager = Agent(role="manager", goal="g", backstory="b", llm=Scripted(model="manager"), allow_delegation=True)
    return Crew(agents=[_agent("writer", [Look()])], tasks=[task], process=Process.hierarchical, manager_agent=manager)


@app.crewai("gap", accepts=Topic, returns=Article, leave=counted)
def gap() -> Crew:
    north = _task("gap.north", async_execution=True)
    south = _task("gap.south", tools=[Look()], async_execution=True)
    return _crew(north, south, _task("gap.merge", context=[north, south]))


@app.crewai("react", accepts=Topic, returns=Article, leave=counted)
def react() -> Crew:
    return _crew(_task("react", tools=[Look()]))


@app.crewai("native", accepts=Topic, returns=Article, leave=counted)
def native() -> Crew:
    return _crew(_task("native", tools=[Look()], native=True))


class Nested(Small, Flow[dict]):  # type: ignore[type-arg]
    @start()
    def look(self) -> str:
        return str(_crew(_task("nested", tools=[Look()])).kickoff(inputs={"text": "x"}))

    @listen(look)
    async def end(self, said: str) -> Article:
        fine = await _crew(_task("fine")).kickoff_async(inputs={"text": "x"})
        return Article(text=f"{said}; then {fine}")


class AsyncNested(Small, Flow[dict]):  # type: ignore[type-arg]
    @start()
    async def look(self) -> str:
        return str(await _crew(_task("anested", tools=[alook])).akickoff(inputs={"text": "x"}))

    @listen(look)
    async def end(self, said: str) -> Article:
        fine = await _crew(_task("fine")).akickoff(inputs={"text": "x"})
        return Article(text=f"{said}; then {fine}")


@app.crewai("nested", accepts=Topic, returns=Article)
def nested() -> Nested:
    return Nested()


@app.crewai("anested", accepts=Topic, returns=Article)
def anested() -> AsyncNested:
    return AsyncNested()

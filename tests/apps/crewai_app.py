"""Crews and flows with a scripted model, every unit of work of which leaves evidence."""

from __future__ import annotations

import json
from typing import Any

from crewai import Agent, BaseLLM, Crew, Flow, Task
from crewai.flow import and_, human_feedback, listen, or_, router, start
from pydantic import BaseModel

import batonpass as bp

from . import evidence


class Topic(bp.Contract, name="crewai.topic"):
    text: str


class Facts(bp.Contract, name="crewai.facts"):
    topic: str
    facts: list[str]


class Article(bp.Contract, name="crewai.article"):
    text: str


class Count(bp.Contract, name="crewai.count"):
    n: int


app = bp.App("crewai-tests")

# The labels of an undisturbed run, in order. Those in one PARALLEL group run at the same time, in any order.
STEPS: dict[str, list[str]] = {
    "pair": ["pair.facts", "pair.outline", "pair.article"],
    "async": ["async.north", "async.south", "async.merge"],
    "line": ["line.one", "line.two", "line.three"],
    "join": ["join.a", "join.b", "join.merge", "join.judge", "join.ship"],
    "ask": ["ask.draft", "ask.review", "ask.collapse", "ask.publish"],
    "cycle": ["cycle.one", "cycle.turn.1", "cycle.turn.2", "cycle.turn.3", "cycle.stop"],
    "again": ["again.0", "again.1", "again.2"],
}
# What its model answered, and the task itself.
WRITES_OF_A_UNIT = 2
PARALLEL: dict[str, list[set[str]]] = {"async": [{"async.north", "async.south"}], "join": [{"join.a", "join.b"}]}
INPUT: dict[str, dict[str, Any]] = {
    "pair": {"text": "queues"},
    "async": {"text": "queues"},
    "line": {"text": "queues"},
    "join": {"text": "queues"},
    "ask": {"text": "queues"},
    "cycle": {"n": 0},
    "again": {"n": 0},
}
ANSWERS: dict[str, Any] = {"ask": "ship it"}
EXPECTED: dict[str, dict[str, Any]] = {
    "pair": {"text": "article on queues from 2 facts and the outline"},
    "async": {"text": "north and south of queues"},
    "line": {"topic": "queues", "facts": ["one", "two", "three"]},
    "join": {"text": "shipped A+B"},
    "ask": {"text": "draft on queues, reviewed: ship it (approved)"},
    "cycle": {"n": 3},
    "again": {"n": 3},
}


class ScriptedModel(BaseLLM):
    """CrewAI's own model interface, with what it says written down here. Every call leaves evidence."""

    def call(self, messages: Any, tools: Any = None, *args: Any, from_task: Any = None, **kwargs: Any) -> str:
        said = messages if isinstance(messages, str) else "\n".join(str(m["content"]) for m in messages)
        name = from_task.name if from_task is not None else "ask.collapse"
        evidence.ran(name)
        seen = "2 facts and the outline" if "fair" in said and "OUTLINE of 2 facts" in said else "nothing"
        answers = {
            "pair.facts": json.dumps({"topic": "queues", "facts": ["fast", "fair"]}),
            "pair.outline": "OUTLINE of 2 facts" if "fair" in said else "OUTLINE without facts",
            "pair.article": f"article on queues from {seen}",
            "async.north": "NORTH",
            "async.south": "SOUTH",
            "async.merge": "north and south of queues" if "NORTH" in said and "SOUTH" in said else "a part",
            "ask.collapse": "approved" if "ship it" in said else "rejected",
        }
        return answers[name]

    def supports_function_calling(self) -> bool:
        return False


def _task(name: str, **options: Any) -> Task:
    writer = Agent(role=f"{name} writer", goal="write", backstory="scripted", llm=ScriptedModel(model="scripted"))
    return Task(name=name, description=f"{name} about {{text}}", expected_output="text", agent=writer, **options)


def _crew(*tasks: Task) -> Crew:
    return Crew(agents=[task.agent for task in tasks if task.agent], tasks=list(tasks))


class Small:
    """A flow without CrewAI's memory, whose database takes 2 s to import and does not like to be forked."""

    _skip_auto_memory = True


class Note(BaseModel):
    words: list[str]


class Line(Small, Flow[dict]):  # type: ignore[type-arg]  # CrewAI takes no dict[str, Any]
    @start()
    def one(self) -> dict[str, Any]:
        evidence.ran("line.one")
        self.state["trail"] = ["one"]
        return {"words": ["one"]}

    @listen(one)
    async def two(self, given: dict[str, Any]) -> Note:
        evidence.ran("line.two")
        self.state["trail"].append("two")
        return Note(words=[*given["words"], "two"])

    @listen(two)
    def three(self, note: Note) -> Facts:
        evidence.ran("line.three")
        assert self.state["trail"] == note.words
        return Facts(topic=self.state["text"], facts=[*note.words, "three"])


class Join(Small, Flow[dict]):  # type: ignore[type-arg]  # CrewAI takes no dict[str, Any]
    @start()
    def a(self) -> str:
        evidence.ran("join.a")
        self.state["a"] = "A"
        return "A"

    @start()
    def b(self) -> str:
        evidence.ran("join.b")
        self.state["b"] = "B"
        return "B"

    @listen(and_(a, b))
    def merge(self) -> str:
        evidence.ran("join.merge")
        return f"{self.state['a']}+{self.state['b']}"

    @router(merge)
    def judge(self, merged: str) -> str:
        evidence.ran("join.judge")
        self.state["merged"] = merged
        return "good" if merged == "A+B" else "bad"

    @listen("good")
    def ship(self) -> Article:
        evidence.ran("join.ship")
        return Article(text=f"shipped {self.state['merged']}")

    @listen("bad")
    def drop(self) -> Article:
        evidence.ran("join.drop")
        return Article(text="dropped")


class Ask(Small, Flow[dict]):  # type: ignore[type-arg]  # CrewAI takes no dict[str, Any]
    @start()
    def draft(self) -> str:
        evidence.ran("ask.draft")
        return f"draft on {self.state['text']}"

    @listen(draft)
    @human_feedback(message="Is it good?", emit=["approved", "rejected"], llm=ScriptedModel(model="scripted"))
    def review(self, draft: str) -> Article:
        evidence.ran("ask.review")
        return Article(text=draft)

    @listen("approved")
    def publish(self, said: Any) -> Article:
        evidence.ran("ask.publish")
        return Article(text=f"{said.output.text}, reviewed: {said.feedback} ({said.outcome})")

    @listen("rejected")
    def bin(self) -> Article:
        evidence.ran("ask.bin")
        return Article(text="rejected")


class Loop(BaseModel):
    id: str = "loop"
    n: int = 0


class Cycle(Small, Flow[Loop]):
    @start()
    def one(self) -> None:
        evidence.ran("cycle.one")

    @router(or_(one, "more"))
    def turn(self) -> str:
        evidence.ran(f"cycle.turn.{self.state.n + 1}")
        self.state.n += 1
        return "more" if self.state.n < 3 else "enough"

    @listen("enough")
    def stop(self) -> Count:
        evidence.ran("cycle.stop")
        return Count(n=self.state.n)


class Again(Small, Flow[dict]):  # type: ignore[type-arg]  # CrewAI takes no dict[str, Any]
    @start()
    def once(self) -> Count:
        evidence.ran(f"again.{self.state['n']}")
        return Count(n=self.state["n"] + 1)


@app.crewai("pair", accepts=Topic, returns=Article)
def pair() -> Crew:
    facts = _task("pair.facts", output_pydantic=Facts)
    outline = _task("pair.outline", context=[facts])
    return _crew(facts, outline, _task("pair.article", context=[facts, outline]))


@app.crewai("async", accepts=Topic, returns=Article)
def parallel() -> Crew:
    north, south = _task("async.north", async_execution=True), _task("async.south", async_execution=True)
    return _crew(north, south, _task("async.merge", context=[north, south]))


@app.crewai("line", accepts=Topic, returns=Facts)
async def line() -> Line:
    return Line()


@app.crewai("join", accepts=Topic, returns=Article)
def join() -> Join:
    return Join()


@app.crewai("ask", accepts=Topic, returns=Article)
def ask() -> Ask:
    return Ask()


@app.crewai("cycle", accepts=Count, returns=Count)
def cycle() -> Cycle:
    return Cycle()


def onwards(count: Count, ctx: bp.Context) -> Count | bp.Handoff[Count]:
    return count if count.n == 3 else ctx.hand_off("again", count)


@app.crewai("again", accepts=Count, returns=Count, hands_to={"again": Count}, leave=onwards)
def again() -> Again:
    return Again()

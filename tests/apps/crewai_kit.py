"""What the tests of the CrewAI adapter share: crews with a scripted model, and running them in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crewai import Agent, BaseLLM, Crew, Flow, Task
from crewai.flow import start
from pydantic import BaseModel

import batonpass as bp

from .crewai_app import Article, Small, Topic
from .kit import defeat, outcome


class Two(bp.Contract, name="crewai_tests.two"):
    a: str
    b: str


class Note(BaseModel):
    text: str


class Model(BaseLLM):
    """Says what `script` has for the task, and notes in `ran` that it was asked."""

    script: dict[str, Any]
    ran: list[str]

    def call(self, messages: Any, *args: Any, from_task: Any = None, **kwargs: Any) -> str:
        name = str(from_task.name) if from_task is not None else "collapse"
        self.ran.append(name)
        said = messages if isinstance(messages, str) else "\n".join(str(m["content"]) for m in messages)
        answer = self.script.get(name, f"out of {name}")
        return str(answer(said) if callable(answer) else answer)

    def supports_function_calling(self) -> bool:
        return False


class Crews:
    """Makes tasks and crews of one test, whose model answers from `script`."""

    def __init__(self) -> None:
        self.script: dict[str, Any] = {}
        self.ran: list[str] = []

    def model(self) -> Model:
        model = Model(model="scripted", script={}, ran=[])
        model.script, model.ran = self.script, self.ran
        return model

    def task(self, name: str | None, kind: Any = Task, tools: Any = (), **options: Any) -> Any:
        agent = Agent(role=f"{name}", goal="g", backstory="b", llm=self.model(), tools=list(tools))
        options = {"description": f"{name} of {{text}}", "expected_output": "x", "agent": agent, **options}
        return kind(name=name, **options)

    def crew(self, *tasks: Any, **options: Any) -> Crew:
        return Crew(agents=[], tasks=list(tasks), **options)

    def fails_once(self, name: str, answer: str) -> None:
        """Have the first attempt fail at this task."""
        failures = [OSError("no network")]

        def say(said: str) -> str:
            if failures:
                raise failures.pop()
            return answer

        self.script[name] = say


def only(factory: Callable[..., Any], **options: Any) -> bp.App:
    """An app of one agent, `a`."""
    made = bp.App("one")
    options = {"accepts": Topic, "returns": Article, **options}
    made.crewai("a", **options)(factory)
    return made


async def result(factory: Callable[..., Any], **options: Any) -> Any:
    return await outcome(only(factory, **options), Topic(text="rain"))


async def failure(factory: Callable[..., Any], **options: Any) -> bp.JobFailed:
    return await defeat(only(factory, **options), Topic(text="rain"))


def returning(value: Any) -> type[Any]:
    """A flow of one method, which returns this."""

    class Returns(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def give(self) -> Note | Any:
            return value

    return Returns


class Failing:
    """Fails the first time it is called."""

    def __init__(self) -> None:
        self.failed = False

    def __call__(self) -> None:
        if not self.failed:
            self.failed = True
            raise OSError("no network")

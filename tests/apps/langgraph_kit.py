"""What the tests of the LangGraph adapter share: small graphs, and running them in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph.types import interrupt

import batonpass as bp

from .kit import defeat, outcome
from .langgraph_app import Graph, Notes, Topic, Words, in_order


def only(factory: Callable[..., Any], **options: Any) -> bp.App:
    """An app of one agent, `a`."""
    made = bp.App("one")
    declared: dict[str, Any] = {"accepts": Topic, "returns": Notes, **options}
    made.langgraph("a", **declared)(factory)
    return made


def graph(*nodes: Callable[..., Any], state: Any = Words) -> Graph:
    """The functions as nodes of a line, named after them."""
    return in_order({node.__name__: node for node in nodes}, state)


async def result(factory: Callable[..., Any], **options: Any) -> Any:
    return await outcome(only(factory, **options), Topic(text="rain"))


async def failure(factory: Callable[..., Any], **options: Any) -> bp.JobFailed:
    return await defeat(only(factory, **options), Topic(text="rain"))


def returning(factory: Any, **options: Any) -> bp.App:
    """An app with the agent `a`, which remembers, and an agent that gives each job back to it."""
    app = only(factory, memory="job", hands_to={"b": Topic}, **options)

    @app.agent("b", accepts=Topic, hands_to={"a": Topic})
    def b(topic: Topic, ctx: bp.SyncContext) -> bp.Handoff[Topic]:
        return ctx.hand_off("a", Topic(text=f"{topic.text} back"))

    return app


def passed_on(text: str) -> str:
    return str(interrupt(bp.Handoff("b", Topic(text=text))).text)

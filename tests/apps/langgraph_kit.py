"""What the tests of the LangGraph adapter share: small graphs, and running them in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

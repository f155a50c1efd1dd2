"""Jobs of graphs that have failed at a word, to be redriven with an edited state."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypedDict

import pytest

import batonpass as bp
from batonpass.testing import serving

from ..apps.langgraph_app import Notes, Topic
from ..apps.langgraph_kit import only

RAN: list[str] = []
DOWN: list[str] = []  # words at which nodes fail, each as often as it is here


class Words(TypedDict, total=False):
    text: str
    spare: str
    notes: Annotated[list[str], operator.add]


def work(name: str, word: str) -> str:
    RAN.append(f"{name} {word}".strip())
    if word == "bad" or word in DOWN:
        if word in DOWN:
            DOWN.remove(word)
        raise ValueError(f"{name} fails at {word}")
    return f"{name} {word}"


@asynccontextmanager
async def failed(factory: Callable[..., Any], url: str, text: str, **options: Any) -> AsyncIterator[Any]:
    """A coordinator, and a job that has failed."""
    RAN.clear()
    async with serving(only(factory, retries=1, **options), url=url) as coordinator:
        job = await coordinator.submit("a", Topic(text=text), returns=options.get("returns", Notes))
        with pytest.raises(bp.JobFailed, match=r"fails at|broken"):
            await job.result(timeout=60)
        yield coordinator, job

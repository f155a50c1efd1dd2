"""The agents that are measured: they say on standard output that they have started, and when."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

import batonpass as bp


class Topic(bp.Contract, name="bench.topic"):
    number: int
    text: str = ""


def say(text: str) -> None:
    """Tell the process that measures: one write, so that lines stay whole."""
    os.write(1, f"{text}\n".encode())


@asynccontextmanager
async def _ready() -> AsyncIterator[None]:
    say("ready")
    yield


app = bp.App("bench", lifespan=_ready)


@app.agent("start", accepts=Topic, returns=Topic)
async def start(topic: Topic) -> Topic:
    say(str(time.time_ns()))
    return topic


@app.agent("hold", accepts=Topic, returns=Topic)
async def hold(topic: Topic) -> Topic:
    """Works until it is killed or canceled."""
    say(str(time.time_ns()))
    await anyio.sleep(3600)
    return topic


@app.agent("apart", accepts=Topic, returns=Topic, isolation="process")
def apart(topic: Topic) -> Topic:
    """The same in a child, which says who it is."""
    say(f"{time.time_ns()} {os.getpid()}")
    time.sleep(3600)
    return topic


@app.agent("pass", accepts=Topic, hands_to={"start": Topic})
async def pass_on(topic: Topic, ctx: bp.Context) -> bp.Handoff:
    return ctx.hand_off("start", topic)

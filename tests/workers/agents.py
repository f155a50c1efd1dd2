"""The app that worker processes of these tests serve. Importing it imports no framework.

Gates are files that the test makes: an agent waits at one until the test lets it go on.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

import batonpass as bp
from tests.apps.evidence import ran

FRAMEWORKS = ("autogen_agentchat", "crewai", "langgraph")


class Task(bp.Contract, name="worker-tests.task"):
    text: str = ""
    seconds: float = 0.0


class Done(bp.Contract, name="worker-tests.done"):
    words: list[str]


class Verdict(bp.Contract, name="worker-tests.verdict"):
    word: str


app = bp.App("worker-tests")


def is_open(gate: str) -> bool:
    return (Path(os.environ["BATONPASS_TEST_GATES"]) / gate).exists()


def pass_gate(gate: str) -> None:
    while not is_open(gate):
        time.sleep(0.01)


async def await_gate(gate: str) -> None:
    while not is_open(gate):
        await anyio.sleep(0.01)


def work(label: str) -> str:
    ran(label)
    return label


def gated(label: str, gate: str) -> str:
    ran(label)
    pass_gate(gate)
    return label


async def gated_async(label: str, gate: str) -> str:
    ran(label)
    await await_gate(gate)
    return label


@app.agent("steps", accepts=Task, returns=Done)
async def steps(task: Task, ctx: bp.Context) -> Done:
    words = [await ctx.step("one", work, f"{task.text}:one")]
    words += [await ctx.step("two", gated_async, f"{task.text}:two", "two")]
    words += [await ctx.step("three", work, f"{task.text}:three")]
    return Done(words=words)


@app.agent("sync", accepts=Task, returns=Done)
def sync(task: Task, ctx: bp.SyncContext) -> Done:
    words = [ctx.step("one", work, f"{task.text}:one")]
    words += [ctx.step("two", gated, f"{task.text}:two", "two")]
    words += [ctx.step("three", work, f"{task.text}:three")]
    return Done(words=words)


@app.agent("threaded", accepts=Task, returns=Done)
async def threaded(task: Task, ctx: bp.Context) -> Done:
    """Async, with sync work that runs in a thread."""
    words = [await ctx.step("one", work, f"{task.text}:one")]
    words += [await ctx.step("two", gated, f"{task.text}:two", "two")]
    return Done(words=words)


@app.agent("swallows", accepts=Task, returns=Done)
async def swallows(task: Task, ctx: bp.Context) -> Done:
    """Goes on without what fails, whatever it is."""
    words: list[str] = []
    for piece in ("one", "two", "three"):
        try:
            if piece == "two":
                words.append(await ctx.step(piece, gated_async, f"{task.text}:{piece}", "two"))
            else:
                words.append(await ctx.step(piece, work, f"{task.text}:{piece}"))
        except Exception as error:
            words.append(type(error).__name__)
    return Done(words=words)


@app.agent("swallows-all", accepts=Task, returns=Done, retries=1)
async def swallows_all(task: Task, ctx: bp.Context) -> Done:
    """Fails in its own way if something fails."""
    try:
        done: Done = await steps.fn(task, ctx)
        return done
    except Exception:
        raise ValueError("no words") from None


@app.agent("child", accepts=Task, returns=Done)
async def child(task: Task, ctx: bp.Context) -> Done:
    if task.text == "at once":
        return Done(words=["done"])
    return Done(words=[await ctx.step("one", gated_async, f"{task.text}:one", "two")])


@app.agent("parent", accepts=Task, returns=Done, hands_to={"child": Task})
async def parent(task: Task, ctx: bp.Context) -> Done:
    """Has `seconds` children. If these are more than a few, they do nothing, and the first one done is enough."""
    few = task.seconds < 10
    before = await ctx.step("before", work, f"{task.text}:before")
    texts = [f"{task.text}{number}" if few else "at once" for number in range(int(task.seconds))]
    made = [bp.Handoff("child", Task(text=text)) for text in texts]
    results = await ctx.fan_out(made, wait="all" if few else "any")
    return Done(words=[before, *(word for done in results if done for word in done.words)])


@app.agent("falters", accepts=Task, returns=Done, retries=1)
async def falters(task: Task) -> Done:
    ran(task.text)
    if task.text == "one":
        raise ValueError("it always fails")
    return Done(words=[task.text])


@app.agent("blames", accepts=Task, returns=Done, hands_to={"falters": Task})
async def blames(task: Task, ctx: bp.Context) -> Done:
    """Fails because of an earlier fan-out than its last."""
    failed = None
    try:
        await ctx.fan_out([bp.Handoff("falters", Task(text=text)) for text in ("zero", "one")])
    except bp.ChildrenFailed as error:
        failed = error
    await ctx.fan_out([bp.Handoff("falters", Task(text="two"))])
    if failed:
        raise failed
    return Done(words=[])


def busy(sleep: Callable[[float], object], task: Task) -> Done:
    ran(task.text)
    end = time.monotonic() + task.seconds
    while time.monotonic() < end:
        sleep(end - time.monotonic())
    return Done(words=[task.text])


@app.agent("blocks-thread", accepts=Task, returns=Done)
def blocks_thread(task: Task) -> Done:
    return busy(lambda left: time.sleep(max(left, 0)), task)


@app.agent("computes", accepts=Task, returns=Done)
def computes(task: Task) -> Done:
    return busy(lambda left: sum(range(1000)), task)


@app.agent("blocks-loop", accepts=Task, returns=Done)
async def blocks_loop(task: Task) -> Done:
    return busy(lambda left: time.sleep(max(left, 0)), task)  # the point


@app.agent("moves", accepts=Task, returns=Done)
async def moves(task: Task) -> Done:
    """Changes its process's working directory. Returns the one before."""
    before = os.getcwd()
    os.chdir("/")
    return Done(words=[before])


@app.agent("lingers", accepts=Task, returns=Done, timeout=3.0, retries=1)
def lingers(task: Task) -> Done:
    """Never ends."""
    return Done(words=[gated(task.text, "never")])


@app.agent("lingers-elsewhere", accepts=Task, returns=Done, timeout=3.0, retries=1)
async def lingers_elsewhere(task: Task) -> Done:
    """Works in one of the loop's threads, where frameworks run sync code."""
    return Done(words=[await asyncio.to_thread(gated, task.text, "never")])


@app.agent("modules", accepts=Task, returns=Done)
def modules(task: Task) -> Done:
    """Which frameworks its process has imported."""
    return Done(words=[name for name in FRAMEWORKS if name in sys.modules])


@app.langgraph("graph", accepts=Task, returns=Done, leave=lambda result, ctx: Done(words=result["words"]))
def graph() -> Any:
    from typing import TypedDict

    from langgraph.graph import START, StateGraph

    class Words(TypedDict, total=False):
        text: str
        seconds: float
        words: list[str]

    made = StateGraph(Words)
    made.add_node("only", lambda state: {"words": modules(Task()).words})
    made.add_edge(START, "only")
    return made


@app.crewai("crew", accepts=Task, returns=Done)
def crew() -> Any:
    raise AssertionError("no test runs this: it is here so that a worker may leave it out")


@app.agent("asks", accepts=Task, returns=Done)
async def asks(task: Task, ctx: bp.Context) -> Done:
    before = await ctx.step("before", work, f"{task.text}:before")
    verdict = await ctx.ask("go on?", answer=Verdict, assignee="ann")
    return Done(words=[before, await ctx.step("after", work, f"{task.text}:{verdict.word}")])


async def leave() -> None:
    sys.exit(3)


@app.agent("leaves-in-task", accepts=Task, returns=Done, retries=1)
async def leaves_in_task(task: Task) -> Done:
    """Runs code the way a framework runs a node."""
    await asyncio.create_task(leave())
    return Done(words=[])


@app.agent("forks", accepts=Task, returns=Done)
async def forks(task: Task) -> Done:
    ran("copied" if os.fork() == 0 else "forked")
    return Done(words=[str(os.getpid())])


@app.agent("forks-thread", accepts=Task, returns=Done)
def forks_thread(task: Task) -> Done:
    ran("copied" if os.fork() == 0 else "forked")
    return Done(words=[str(os.getpid())])


@app.agent("breaks-loop", accepts=Task, returns=Done)
def breaks_loop(task: Task) -> Done:
    os.closerange(3, 300)
    return Done(words=[])

"""The app of the tests of isolation: its agents run in processes of their own. Gates and evidence as in agents.py."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import batonpass as bp
from batonpass.coordinator.commands import Complete
from batonpass.workers.session import LeaseSession
from tests.apps.evidence import ran

from .agents import Done, Task, await_gate, gated, gated_async, is_open, pass_gate, work


@asynccontextmanager
async def lifespan() -> AsyncIterator[str]:
    ran("lifespan")
    yield "resources"
    ran("left")


app = bp.App("apart-tests", lifespan=lifespan)
_KEPT: list[bytes] = []


@app.agent("steps", accepts=Task, returns=Done, isolation="process")
def steps(task: Task, ctx: bp.SyncContext) -> Done:
    words = [ctx.step("one", work, f"{task.text}:one")]
    words += [ctx.step("two", gated, f"{task.text}:two", "two")]
    words += [ctx.step("three", work, f"{task.text}:three")]
    return Done(words=words)


def hold_the_gil() -> None:
    re.match("(a+)+$", "a" * 60 + "b")  # takes for ever, in C


@app.agent("hangs", accepts=Task, returns=Done, isolation="process")
async def hangs(task: Task, ctx: bp.Context) -> Done:
    """Keeps every other thread of its process from running until the gate is open."""
    words = [await ctx.step("one", work, f"{task.text}:one")]
    ran(f"{task.text}:hangs")
    if not is_open("hang"):
        hold_the_gil()
    return Done(words=words)


@app.agent("slow", accepts=Task, returns=Done, isolation="process", timeout=5.0, retries=2)
async def slow(task: Task, ctx: bp.Context) -> Done:
    return await hangs.fn(task, ctx)  # type: ignore[no-any-return]


@app.agent("hopeless", accepts=Task, returns=Done, isolation="process", timeout=5.0, retries=1, fallback="pid")
async def hopeless(task: Task, ctx: bp.Context) -> Done:
    ctx.spend(tokens=100)
    if task.text == "pays":
        await ctx.effect("pay", gated_async, "pays", "never")
    return await hangs.fn(task, ctx)  # type: ignore[no-any-return]


@app.agent("dies", accepts=Task, returns=Done, isolation="process")
async def dies(task: Task) -> Done:
    ran("dies")
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


_write = LeaseSession.awrite


async def written_late(session: LeaseSession, command: Any) -> Any:
    """A write. If it ends an attempt, its answer is lost when the gate opens, and it is written again."""
    answer = await _write(session, command)
    if isinstance(command, Complete):
        ran(f"{session.agent}:written")
        await await_gate("answer")
        answer = await _write(session, command)
    return answer


async def ends(task: Task) -> Done:
    LeaseSession.awrite = written_late  # type: ignore[method-assign, assignment]
    return Done(words=[str(os.getpid())])


app.agent("ends", accepts=Task, returns=Done, timeout=5.0)(ends)
app.agent("ends-apart", accepts=Task, returns=Done, timeout=5.0, isolation="process")(ends)


@app.agent("blocks-loop", accepts=Task, returns=Done)
async def blocks_loop(task: Task) -> Done:
    ran("blocks-loop")
    pass_gate("unblock")
    return Done(words=[])


@app.agent("pid", accepts=Task, returns=Done, isolation="process")
async def pid(task: Task, ctx: bp.Context) -> Done:
    _KEPT.append(b"x" * int(task.seconds * 1_000_000))
    return Done(words=[str(os.getpid()), str(ctx.resources)])


@app.agent("leaves-a-thread", accepts=Task, returns=Done, isolation="process")
async def leaves_a_thread(task: Task) -> Done:
    threading.Thread(target=pass_gate, args=("never",)).start()
    return Done(words=[str(os.getpid())])


@app.agent("meets-no-archive", accepts=Task, returns=Done, isolation="process")
async def meets_no_archive(task: Task, ctx: bp.Context) -> Done:
    ran(f"{task.text}:away")
    if task.seconds:
        await ctx.step("before", str)
    raise bp.Unreachable("the archive is away")

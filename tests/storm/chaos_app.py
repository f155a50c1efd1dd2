"""The agents of the chaos run: three hops with steps and effects. Some attempts raise, some hang.

What the agents do, and which ends of deliveries the store acknowledged, is evidence in an external log. Which attempts
fail is a function of the job's number, the hop and the attempt: the judge knows them too.
"""

from __future__ import annotations

import os
import secrets
import time
import zlib
from typing import Any

import anyio

import batonpass as bp
from batonpass.coordinator.commands import Command, Complete, Fail, HandOff
from batonpass.workers.session import LeaseSession
from tests.apps.evidence import note

HOPS, ATTEMPTS, TIMEOUT = 3, 3, 2.0
LATE = "longer than its timeout"
_RAISING, _HANGING = 50, 10  # of 1000 attempts


class Task(bp.Contract, name="chaos.task"):
    number: int


class Done(bp.Contract, name="chaos.done"):
    number: int
    receipt: str


app = bp.App("chaos")


def fate(number: int, hop: int, attempt: int) -> str:
    """What becomes of an attempt that nobody kills: "raises", "hangs", or nothing bad."""
    drawn = zlib.crc32(f"{number} {hop} {attempt}".encode()) % 1000
    return "raises" if drawn < _RAISING else "hangs" if drawn < _RAISING + _HANGING else ""


def hopeless(number: int) -> int | None:
    """The hop at which every attempt of a job fails, if there is one."""
    return next((hop for hop in range(HOPS) if all(fate(number, hop, n + 1) for n in range(ATTEMPTS))), None)


def tell(what: str, label: str, extra: str = "") -> None:
    """Evidence: `what label token`."""
    note(f"{what} {label} {bp.current().token} {extra}".rstrip())


def pay(label: str) -> str:
    """Happens outside: it gives another receipt each time."""
    receipt = secrets.token_hex(8)
    tell("paid", label, receipt)
    return receipt


def part(label: str) -> str:
    tell("ran", label)
    time.sleep(0.002)
    return label


async def part_async(label: str) -> str:
    tell("ran", label)
    await anyio.sleep(0.002)
    return label


async def step(ctx: bp.Context, label: str) -> None:
    """A step; that it is noted as finished means that its record was acknowledged."""
    await ctx.step("part", part_async, label)
    tell("finished", label)


async def trouble(ctx: bp.Context, number: int) -> None:
    """Fail if this attempt is to."""
    which = fate(number, ctx.hop, ctx.attempt)
    if which:
        tell(which, f"{number}:{ctx.hop}:{ctx.attempt}")
    if which == "hangs":
        await anyio.sleep_forever()
    if which == "raises":
        raise ValueError("as planned")


@app.agent("draft", accepts=Task, hands_to={"check": Task}, timeout=TIMEOUT, retries=ATTEMPTS)
async def draft(task: Task, ctx: bp.Context) -> bp.Handoff:
    """In the worker's loop, with an effect that may be repeated."""
    await step(ctx, f"{task.number}:0:a")
    await trouble(ctx, task.number)
    receipt = await ctx.effect("pay", pay, f"{task.number}:0:pay", unsure="repeat")
    tell("recorded", f"{task.number}:0:pay", receipt)
    await step(ctx, f"{task.number}:0:b")
    return ctx.hand_off("check", task)


@app.agent("check", accepts=Task, hands_to={"publish": Task}, timeout=TIMEOUT, retries=ATTEMPTS, isolation="process")
def check(task: Task, ctx: bp.SyncContext) -> bp.Handoff:
    """In a child, with code that blocks."""
    for label in (f"{task.number}:1:a", f"{task.number}:1:b"):
        ctx.step("part", part, label)
        tell("finished", label)
    which = fate(task.number, ctx.hop, ctx.attempt)
    if which:
        tell(which, f"{task.number}:{ctx.hop}:{ctx.attempt}")
    if which == "hangs":
        time.sleep(3600)
    if which == "raises":
        raise ValueError("as planned")
    return ctx.hand_off("publish", task)


@app.agent("publish", accepts=Task, returns=Done, timeout=TIMEOUT, retries=ATTEMPTS)
async def publish(task: Task, ctx: bp.Context) -> Done:
    """With an effect that may not be repeated: if its outcome is not known, that ends the job."""
    await step(ctx, f"{task.number}:2:a")
    await trouble(ctx, task.number)
    receipt = await ctx.effect("pay", pay, f"{task.number}:2:pay")
    tell("recorded", f"{task.number}:2:pay", receipt)
    return Done(number=task.number, receipt=receipt)


def _listen() -> None:
    """Have it noted which ends of deliveries the store acknowledged, and to which token."""
    awrite = LeaseSession.awrite

    async def noting(self: LeaseSession, command: Command[Any]) -> Any:
        answer = await awrite(self, command)
        # Only of workers that a zygote forked: the judge, and the tests that run beside it, import this module, too.
        if "BATONPASS_TEST_KILL" in os.environ and isinstance(command, HandOff | Complete | Fail):
            attempt = f"{self.job_id}:{self.hop}:{self.attempt} {self.fence.token}"
            note(f"ended {attempt} {type(command).__name__}")
            if isinstance(command, Fail) and LATE in command.error:
                note(f"late {attempt}")
        return answer

    LeaseSession.awrite = noting  # type: ignore[method-assign]


_listen()

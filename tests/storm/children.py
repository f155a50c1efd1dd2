"""`python -m tests.storm.children --store redis --children 10000`: a job with many children, and how long it takes."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import batonpass as bp
from tests.harness.redis import some_server


class Number(bp.Contract, name="children.number"):
    value: int = 0


class Numbers(bp.Contract, name="children.numbers"):
    values: list[int]


app = bp.App("children")


@app.agent("one", accepts=Number, returns=Number)
async def one(number: Number) -> Number:
    return Number(value=number.value * 2)


@app.agent("all", accepts=Number, returns=Numbers, hands_to={"one": Number})
async def everyone(number: Number, ctx: bp.Context) -> Numbers:
    results = await ctx.fan_out([bp.Handoff("one", Number(value=each)) for each in range(number.value)])
    return Numbers(values=[each.value for each in results])


async def run(url: str, count: int) -> str:
    """Every child is done once and its result is at its place; how long it took."""
    async with bp.connect(url, app=app) as coordinator, app.worker(coordinator, concurrency=200):
        began = time.monotonic()
        job = await coordinator.submit("all", Number(value=count), returns=Numbers)
        while (await job.info()).reason != "waiting_children":
            await asyncio.sleep(0.02)
        committed = time.monotonic() - began
        assert (await job.result(timeout=3600)).values == [2 * each for each in range(count)]
        seconds = time.monotonic() - began
        children = [info for info in await coordinator.jobs(limit=count + 1) if info.parent == job.id]
        assert len(children) == count
        assert {info.state for info in children} == {bp.JobState.COMPLETED}
    return f"{count} children: committed after {committed:.1f} s, joined after {seconds:.1f} s"


def main() -> None:
    """Run it on a new store."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm.children", description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "redis"], default="redis")
    parser.add_argument("--children", type=int, default=10_000)
    asked = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = f"sqlite:///{folder}/store.db" if asked.store == "sqlite" else stack.enter_context(some_server(folder))
        sys.stdout.write(f"{asked.store}, {asyncio.run(run(url, asked.children))}\n")


if __name__ == "__main__":
    main()

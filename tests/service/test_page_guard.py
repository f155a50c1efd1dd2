"""A job that exceeded its limits is given more on its page: without that, it would only do so again."""

from __future__ import annotations

import batonpass as bp

from ..workers.serving import Ask, Reply, reached, serving
from .service import service_of
from .visitor import visiting

app = bp.App("limits")


@app.agent("start", accepts=Ask, returns=Reply, hands_to={"end": Ask})
async def start(ask: Ask, ctx: bp.Context) -> bp.Handoff[Ask]:
    return ctx.hand_off("end", ask)


@app.agent("end", accepts=Ask, returns=Reply)
async def end(ask: Ask) -> Reply:
    return Reply(text="done")


@app.agent("fails", accepts=Ask, returns=Reply, retries=1)
async def fails(ask: Ask) -> Reply:
    raise ValueError


async def test_limits_are_raised_with_a_redrive(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("start", Ask(), guard=bp.Guard(hops=1, tokens=7))
            info = await reached(job, bp.JobState.FAILED)
            assert info.reason == "chain_guard"
            shown = await visitor.open(f"/ui/jobs/{job.id}")
            for name, kept in (("hops", "1"), ("repeats", "5"), ("tokens", "7"), ("cost", "it without a limit")):
                assert f"Most {name} optional: leave empty to keep {kept}" in shown
            path = f"/ui/jobs/{job.id}/redrive"
            assert "Guard(hops=0): must be a whole number of at least 1" in await visitor.send(path, 422, hops="0")
            assert "Guard(hops='many')" in await visitor.send(path, 422, hops="many", cost="")
            assert 'name="hops" value="many"' in visitor.page
            assert "The job is retried" in await visitor.send(path, hops="3", cost="2.5")
            info = await reached(job, bp.JobState.COMPLETED)
            assert info.guard == bp.Guard(hops=3, tokens=7, cost=2.5)
            other = await coordinator.submit("fails", Ask())
            await reached(other, bp.JobState.FAILED)
            assert "Most hops" not in await visitor.open(f"/ui/jobs/{other.id}")

"""From a job's page one gets to its children, and back, and to the other jobs on its thread."""

from __future__ import annotations

from html import unescape

import batonpass as bp

from ..workers.serving import reached, serving
from .service import service_of
from .visitor import visiting


class Part(bp.Contract, name="page_children.part"):
    number: int


app = bp.App("page children")


@app.agent("whole", accepts=Part, returns=Part, hands_to={"part": Part})
async def whole(part: Part, ctx: bp.Context) -> Part:
    found = await ctx.fan_out([ctx.hand_off("part", Part(number=each)) for each in range(3)], failures="collect")
    return Part(number=len(found))


@app.agent("fails", accepts=Part, returns=Part, hands_to={"part": Part}, retries=1)
async def fails(part: Part, ctx: bp.Context) -> Part:
    await ctx.fan_out([ctx.hand_off("part", part)], failures="collect")
    await ctx.step("note", lambda: None)
    raise ValueError("it broke, too")


@app.agent("part", accepts=Part, returns=Part, retries=1)
def part(part: Part) -> Part:
    if part.number == 1:
        raise ValueError("it broke")
    return part


async def test_a_parent_leads_to_its_children(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, app.worker(coordinator):
            job = await coordinator.submit("whole", Part(number=0))
            await job.result(timeout=20)
            children = await coordinator.jobs(parent=job.id)
        async with visiting(address) as visitor:
            path = f"/ui/jobs?parent={job.id}"
            await visitor.open(f"/ui/jobs/{job.id}")
            assert f'href="{path}">3 jobs: 2 done, 1 lost</a>' in unescape(visitor.page)
            await visitor.open(path)
            assert [child.id in visitor.page for child in children] == [True] * 3
            assert f'href="/ui/jobs/{job.id}"' not in visitor.page
            [failed] = [child for child in children if child.state == "failed"]
            await visitor.open(f"{path}&state=failed")
            assert [child.id in visitor.page for child in children] == [child is failed for child in children]
            await visitor.open("/ui/jobs?state=&agent=&parent=&children=0&thread=")
            assert job.id in visitor.page
            assert not any(child.id in visitor.page for child in children)
            assert 'value="0" checked' in visitor.page
            await visitor.open(f"{path}&children=0")  # the box was checked before
            assert all(child.id in visitor.page for child in children)
            await visitor.open(f"/ui/jobs/{failed.id}")
            assert f'href="/ui/jobs/{job.id}"' in visitor.page


async def test_lost_children_go_on_if_a_box_is_checked(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("fails", Part(number=1))
            await reached(job, bp.JobState.FAILED)
            [child] = await coordinator.jobs(parent=job.id)
            await visitor.open(f"/ui/jobs/{job.id}")
            assert 'name="lost_children"' in visitor.page
            await visitor.send(f"/ui/jobs/{job.id}/redrive", lost_children="1")
            await reached(job, bp.JobState.FAILED)
            assert (await coordinator.job(child.id).info()).updated_at > child.updated_at


async def test_a_job_leads_to_the_others_on_its_thread(sqlite_url: str) -> None:
    async with bp.connect(sqlite_url, app=app) as coordinator:
        jobs = [await coordinator.submit("part", Part(number=0), thread="a & b", on_busy="queue") for _ in range(2)]
        other = await coordinator.submit("part", Part(number=0))
    with service_of(app, sqlite_url) as address:
        async with visiting(address) as visitor:
            await visitor.open(f"/ui/jobs/{jobs[0].id}")
            assert 'href="/ui/jobs?thread=a+%26+b">a & b</a>' in unescape(visitor.page)
            await visitor.open("/ui/jobs?thread=a+%26+b")
            assert [job.id in visitor.page for job in [*jobs, other]] == [True, True, False]

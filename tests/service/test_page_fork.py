"""The page of `batonpass serve`: continuing from a checkpoint as a new job, and pages that load anew by themselves."""

from __future__ import annotations

import re

import batonpass as bp

from ..apps.page_app import Draft, app
from ..workers.serving import reached, serving
from .service import caller, service_of
from .visitor import visiting


def new_job(page: str) -> str:
    """The job whose page is open."""
    found = re.search(r"/ui/jobs/(j\w+)/events", page)
    assert found
    return found[1]


async def test_a_checkpoint_is_continued_as_a_new_job(store_url: str) -> None:
    with service_of(app, store_url) as address:
        async with serving(app, store_url) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("state", {"text": "rain", "names": ["ann"]})
            await reached(job, bp.JobState.COMPLETED)
            saved = await coordinator.save(thread="t", agent="state", state={"text": "rain", "names": ["ann"]})
            await visitor.open(f"/ui/checkpoints/{saved.id}")
            assert re.search(r'<option value="state" selected>state<', visitor.page)
            path = f"/ui/checkpoints/{saved.id}/fork"
            form = visitor.page
            told = await visitor.send(path, agent="state", changes='text="snow"\r\nnames[1]="bo"\r\n', payload="")
            assert "continues from that checkpoint" in told
            forked = coordinator.job(new_job(visitor.page))
            assert dict(await forked.payload()) == {"text": "snow", "names": ["ann", "bo"]}
            assert (await forked.info()).thread != "t"
            await reached(forked, bp.JobState.COMPLETED)

            visitor.page = form  # the same form, sent twice, is the same job
            await visitor.send(path, agent="state", changes='text="snow"\nnames[1]="bo"', payload="")
            assert new_job(visitor.page) == forked.id
            await visitor.open(f"/ui/checkpoints/{saved.id}")
            await visitor.send(path, agent="free", changes="", payload='{"text": "other"}')
            other = coordinator.job(new_job(visitor.page))
            assert (other.id != forked.id, await other.payload()) == (True, Draft(text="other"))


async def test_a_continuation_that_is_refused(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            saved = await coordinator.save(thread="t", agent="state", state={"text": "rain"})
            path = f"/ui/checkpoints/{saved.id}/fork"
            await visitor.open(f"/ui/checkpoints/{saved.id}")
            assert "choose the agent" in await visitor.send(path, 400, agent="", changes="", payload="")
            assert 'a text needs quotes, e.g. text="hi"' in await visitor.send(
                path, 422, agent="state", changes="text=hi"
            )
            assert ">\ntext=hi</textarea>" in visitor.page  # what was typed is kept
            assert "has nothing at 'nobody'" in await visitor.send(path, 422, agent="state", changes="nobody.x=1")
            assert "JSON object" in await visitor.send(path, 422, agent="state", payload="[1]")
            assert "number" in await visitor.send(path, 422, agent="steps", payload='{"number": "many"}')
            assert "nobody" in await visitor.send(path, 422, agent="nobody")
            gone = f"/ui/checkpoints/{saved.id[:-1]}{'0' if saved.id[-1] != '0' else '1'}"
            await visitor.send(f"{gone}/fork", 404, agent="state")
            visitor.page = ""
            await visitor.send(path, 403, agent="state")  # from no page of ours
            assert await coordinator.jobs() == []
            async with caller(address, "") as http:
                assert (await http.post(path, data={"agent": "state"})).status_code == 401


async def test_pages_keep_themselves_up_to_date_if_asked(sqlite_url: str) -> None:
    refresh = '<meta http-equiv="refresh"'
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("free", Draft())
            for path in ("/ui/", "/ui/jobs?state=submitted&agent=free", f"/ui/jobs/{job.id}"):
                assert "Keep updating" in await visitor.open(path)
                assert refresh not in visitor.page
                found = re.search(r'class="watch" href="(.*?)"', visitor.page)
                assert found
                there = path.partition("?")[0] + found[1].replace("&amp;", "&")
                assert "Stop updating" in await visitor.open(there)
                assert refresh in visitor.page
                assert job.id in visitor.page or path == "/ui/"
            assert "updating" not in await visitor.send(f"/ui/jobs/{job.id}/redrive", 409)  # its address is a form's
            await job.cancel()
            assert "updating" not in await visitor.open(f"/ui/jobs/{job.id}?watch=1")
            assert refresh not in visitor.page
            assert "updating" not in await visitor.open("/ui/inbox?watch=1")  # somebody may be typing there


async def test_the_address_alone_leads_to_the_page(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with caller(address, "") as http:
            reply = await http.get("/")
            assert (reply.status_code, reply.headers["location"]) == (303, "/ui/")

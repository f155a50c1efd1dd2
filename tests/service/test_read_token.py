"""The read token: everything can be seen with it, and nothing changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

import batonpass as bp

from ..apps.page_app import Draft
from ..apps.page_app import app as page_app
from ..workers.serving import DEADLINE, reached, serving
from .service import READ, TOKEN, caller, service_of
from .visitor import visiting

ACTS = ("answer", "cancel", "redrive", "run-now", "fork")


@contextmanager
def read_too(url: str) -> Iterator[str]:
    with service_of(page_app, url, "--read-token", READ) as address:
        yield address


async def test_programs_read_everything_and_change_nothing(sqlite_url: str) -> None:
    with read_too(sqlite_url) as address:
        async with serving(page_app, sqlite_url) as coordinator:
            job = await coordinator.submit("research", Draft(text="rain"))
            info = await reached(job, bp.JobState.INPUT_REQUIRED)
        async with caller(address, READ) as http:
            paths: dict[str, Any] = (await http.get("/openapi.json")).json()["paths"]
            before = [(await http.get(path)).json() for path in ("/jobs", "/inbox", "/threads", "/schedules")]
            for path, methods in paths.items():
                at = path.replace("{id}", info.checkpoint_id or "" if "checkpoints" in path else job.id)
                if "get" in methods:
                    await seen(address, at, thread=job.id, old=info.checkpoint_id or "", new=info.checkpoint_id or "")
                for method in methods.keys() - {"get"}:
                    reply = await http.request(method, at, headers={"content-type": "application/json"})
                    assert (reply.status_code, "which changes nothing" in reply.json()["error"]) == (403, True), path
            after = [(await http.get(path)).json() for path in ("/jobs", "/inbox", "/threads", "/schedules")]
            assert after == before
            assert 'batonpass_questions_open{agent="review"} 1.0' in (await http.get("/metrics")).text
        for wrong in (READ + "x", READ[:-1]):
            async with caller(address, wrong) as http:
                assert (await http.get("/jobs")).status_code == 401
        async with caller(address) as http:  # the full token still does all
            assert (await http.post(f"/jobs/{job.id}/cancel", json={})).json()["canceled"]


async def seen(address: str, path: str, **parameters: str) -> None:
    """Asked for with the parameters that it takes, and not read to the end: streams have none."""
    takes = {"/timeline": ("thread",), "/diff": ("old", "new")}.get(path, ())
    headers = {"authorization": f"Bearer {READ}"}
    async with (
        httpx.AsyncClient(base_url=address, headers=headers, timeout=DEADLINE) as http,
        http.stream("GET", path, params={name: parameters[name] for name in takes}) as reply,
    ):
        assert reply.status_code == 200, path


async def test_the_page_shows_everything_and_offers_nothing(sqlite_url: str) -> None:
    with read_too(sqlite_url) as address:
        async with serving(page_app, sqlite_url) as coordinator:
            asking = await coordinator.submit("research", Draft(text="rain"))
            failed = await coordinator.submit("fragile", Draft(text="sun"))
            info = await reached(asking, bp.JobState.INPUT_REQUIRED)
            await reached(failed, bp.JobState.FAILED)
        paths = ["", "inbox", "jobs", "dead-letters", f"jobs/{asking.id}", f"jobs/{failed.id}"]
        paths.append(f"checkpoints/{info.checkpoint_id}")
        async with visiting(address, READ) as visitor:
            for path in paths:
                assert "read only" in await visitor.open(f"/ui/{path}")
                assert re.findall('method="post" action="([^"]*)"', visitor.page) == ["/ui/sign-out"], path
            assert "May it be published?" in await visitor.open("/ui/inbox")
            for act in ACTS:
                of = f"checkpoints/{info.checkpoint_id}" if act == "fork" else f"jobs/{asking.id}"
                shown = await visitor.send(f"/ui/{of}/{act}", 403, agent="research", text="yes")
                assert "use its full token, after signing out" in shown, act
                await visitor.open("/ui/")
            assert (await coordinator_state(sqlite_url, asking.id)) == "input_required"
            assert "Sign in" in await visitor.send("/ui/sign-out", 401)
        async with visiting(address) as visitor:
            assert "read only" not in await visitor.open(f"/ui/jobs/{asking.id}")
            assert f"/ui/jobs/{asking.id}/answer" in visitor.page


async def coordinator_state(url: str, job: str) -> str:
    async with bp.connect(url, app=page_app) as coordinator:
        return str((await coordinator.job(job).info()).state)


async def test_a_browser_has_one_session(sqlite_url: str) -> None:
    """Whoever signs in with the other token has what that one gives, and nothing of the first one's."""
    with read_too(sqlite_url) as address:
        async with httpx.AsyncClient(base_url=address, timeout=DEADLINE) as http:
            for token, told in ((TOKEN, False), (READ, True), (TOKEN, False)):
                await http.post("/ui/sign-in", data={"token": token})
                assert len(http.cookies) == 1
                assert ("read only" in (await http.get("/ui/")).text) == told

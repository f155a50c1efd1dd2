"""Signing in leads to what was asked for, and from a form that came too late back to its page."""

from __future__ import annotations

import httpx

import batonpass as bp
from batonpass.service.page.session import Sessions

from ..workers.serving import DEADLINE, Ask
from .service import TOKEN, app, caller, service
from .visitor import Visitor, visiting


async def test_it_leads_to_the_whole_address(sqlite_url: str) -> None:
    with service(sqlite_url) as address:
        async with httpx.AsyncClient(base_url=address, timeout=DEADLINE) as http:
            visitor = Visitor(http)
            await visitor.open("/ui/jobs?state=failed&agent=a%26b", 401)
            assert 'href="/ui/jobs?state=failed&amp;agent=a%26b"' in visitor.page
            visitor.page = visitor.page.replace("&amp;", "&")
            await visitor.send("/ui/sign-in", token=TOKEN)
            assert http.cookies[Sessions(TOKEN).cookie]
            assert '<option value="failed" selected>' in visitor.page


async def test_a_form_that_comes_too_late_leads_back_to_its_job(sqlite_url: str) -> None:
    with service(sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("plain", Ask())
            await visitor.open(f"/ui/jobs/{job.id}")
            visitor.http.cookies.clear()
            assert "Nothing was sent" in await visitor.send(f"/ui/jobs/{job.id}/cancel", 401)
            assert job.id in await visitor.send("/ui/sign-in", token=TOKEN)
            assert not (await job.info()).state.ended


def test_services_on_one_machine_keep_their_own_sessions() -> None:
    """Cookies know no ports."""
    assert Sessions(TOKEN).cookie != Sessions("another").cookie
    assert TOKEN not in Sessions(TOKEN).cookie


async def test_methods_and_other_protocols(sqlite_url: str) -> None:
    with service(sqlite_url) as address:
        async with caller(address) as http:
            reply = await http.put("/jobs", json={})
            assert (reply.status_code, sorted(reply.headers["allow"].split(", "))) == (405, ["GET", "HEAD", "POST"])
            assert (await http.head("/jobs")).status_code == 200

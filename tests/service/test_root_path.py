"""The service behind a proxy that offers it below a path, and either takes the path away or passes it on."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import httpx
import pytest

import batonpass as bp
from batonpass.service.settings import OWN

from ..apps.page_app import Draft
from ..apps.page_app import app as page_app
from ..harness.browser import binary, browsing
from ..workers.serving import DEADLINE, Ask, reached, serving
from .proxy import proxied
from .service import TOKEN, app, asked, caller, process, service, service_of, started
from .visitor import Visitor

ROOT = "/ops/batonpass"
POSTS = ("/sign-in", "/sign-out", "/answer", "/redrive", "/cancel", "/run-now", "/fork", "/pause", "/resume")
either = pytest.mark.parametrize("strips", [True, False], ids=["stripped", "passed on"])


def links(page: str) -> set[str]:
    """All addresses in a page: its links, style sheets and forms."""
    return {unescape(each) for each in re.findall(r'(?:href|action)="([^"]*)"', page)}


@either
async def test_no_link_leads_out(strips: bool, sqlite_url: str) -> None:
    """Everything that pages refer to is below the path, and is there."""
    with (
        service_of(page_app, sqlite_url, root=ROOT) as address,
        proxied(address, ROOT, strips=strips) as outside,
    ):
        async with serving(page_app, sqlite_url) as coordinator:
            asking = await coordinator.submit("research", Draft(text="rain"))
            failed = await coordinator.submit("fragile", Draft(text="sun"))
            await reached(asking, bp.JobState.INPUT_REQUIRED)
            await reached(failed, bp.JobState.FAILED)
        async with httpx.AsyncClient(base_url=outside, timeout=DEADLINE, follow_redirects=True) as http:
            visitor = Visitor(http)
            assert "Overview" in await visitor.send("/ui/sign-in", token=TOKEN)
            assert 'aria-current="page">Overview' in visitor.page
            host, found, seen = outside.removesuffix(ROOT), {f"{ROOT}/ui/", ROOT, f"{ROOT}/"}, set[str]()
            while found - seen:
                seen.add(path := min(found - seen))
                reply = await http.get(host + path)
                assert reply.status_code == (405 if path.endswith(POSTS) else 200), path
                found |= {each for each in links(reply.text) if not each.startswith(("#", "?"))}
            assert all(path == ROOT or path.startswith(f"{ROOT}/") for path in seen)
            for wanted in (f"jobs/{asking.id}", f"jobs/{failed.id}/redrive", f"jobs/{asking.id}/answer", "style.css"):
                assert [path for path in seen if path.startswith(f"{ROOT}/ui/{wanted}")], wanted


@either
async def test_forms_and_cookies(strips: bool, sqlite_url: str) -> None:
    with service(sqlite_url, root=ROOT) as address, proxied(address, ROOT, strips=strips) as outside:
        async with bp.connect(sqlite_url, app=app) as coordinator, httpx.AsyncClient(base_url=outside) as http:
            job = await coordinator.submit("plain", Ask())
            assert (await http.get("")).headers["location"] == f"{ROOT}/ui/"
            reply = await http.get(f"/ui/jobs/{job.id}")
            assert f'name="to" value="{ROOT}/ui/jobs/{job.id}"' in reply.text
            for given, to in (
                (f"{ROOT}/ui/inbox", f"{ROOT}/ui/inbox"),
                ("/ui/inbox", f"{ROOT}/ui/"),
                ("//x.test", f"{ROOT}/ui/"),
            ):
                reply = await http.post("/ui/sign-in", data={"token": TOKEN, "to": given})
                assert (reply.status_code, reply.headers["location"]) == (303, to)
            assert f"; path={ROOT}/ui" in reply.headers["set-cookie"].lower()
            visitor = Visitor(http)
            await visitor.open(f"/ui/jobs/{job.id}")
            assert "The job was canceled" in await visitor.send(f"/ui/jobs/{job.id}/cancel")
            assert (await job.info()).state == "canceled"
            await visitor.open(f"/ui/jobs/{job.id}")
            assert "Sign in" in await visitor.send("/ui/sign-out", 401)
            assert not http.cookies


def test_what_a_proxy_says_of_its_client_is_believed_if_it_is_known(sqlite_url: str) -> None:
    for known, scheme, client in (("127.0.0.1", "https", "192.0.2.7"), ("192.0.2.0/24", "http", "127.0.0.1")):
        given = ("--forwarded-allow-ips", known)
        with process(sqlite_url, "--json", *given, BATONPASS_TOKEN=TOKEN) as running:
            assert running.stderr is not None
            with proxied(started(running)["url"], "", strips=True, scheme=scheme) as outside:
                reply = httpx.post(f"{outside}/ui/sign-in", data={"token": TOKEN})
            assert ("; secure" in reply.headers["set-cookie"].lower()) == (scheme == "https")
            assert json.loads(running.stderr.readline())["client"] == client


@either
async def test_programs(strips: bool, sqlite_url: str) -> None:
    with service(sqlite_url, root=ROOT) as address, proxied(address, ROOT, strips=strips) as outside:
        async with serving(app, sqlite_url), caller(address) as direct:
            http = httpx.AsyncClient(base_url=outside, headers=direct.headers)
            async with http:
                given = {"agent": "plain", "payload": {"text": "rain"}}
                job = (await http.post("/jobs", json=given)).raise_for_status().json()["id"]
                await asked(http, 1)
                assert (await http.get(f"/jobs/{job}")).json()["state"] == "input_required"
                assert (await http.get("/openapi.json")).json()["servers"] == [{"url": ROOT}]
                assert (await http.get("/health")).json() == {"ok": True}
                assert (await http.get("/nothing")).status_code == 404
            assert (await direct.get("/health")).status_code == 200  # a probe that does not come by the proxy
            assert (await direct.get(f"{ROOT}/ops/jobs")).status_code == 404


async def test_no_path_begins_like_the_services_own(sqlite_url: str) -> None:
    """It would not be known whether the proxy took it away."""
    with service(sqlite_url) as address:
        async with caller(address) as http:
            document = (await http.get("/openapi.json")).json()
    assert document["servers"] == [{"url": "/"}]
    assert {"ui", "openapi.json", *(path.split("/")[1] for path in document["paths"])} == OWN


def test_a_browser(sqlite_url: str, tmp_path: Path) -> None:
    program = binary()
    if program is None:
        pytest.skip("no Chromium is installed")
    with (
        service(sqlite_url, root=ROOT) as address,
        proxied(address.replace("127.0.0.1", "localhost"), ROOT, strips=True) as outside,
        bp.connect(sqlite_url, app=app) as coordinator,
        browsing(tmp_path / "browser", program) as browser,
    ):
        job = coordinator.submit("plain", Ask())
        browser.open(f"{outside}/ui/jobs/{job.id}")
        browser.type("The service", TOKEN)
        browser.press("Sign in")
        assert browser.run("location.pathname") == f"{ROOT}/ui/jobs/{job.id}"
        assert browser.run("document.styleSheets[0].cssRules.length") > 10
        browser.run("document.querySelector('details.danger').open = true")
        browser.press("Cancel it")
        assert "The job was canceled" in browser.text("[role=status]")
        browser.press("Jobs")
        assert browser.run("location.pathname") == f"{ROOT}/ui/jobs"
        browser.press("Sign out")
        assert browser.text("h1") == "Sign in"

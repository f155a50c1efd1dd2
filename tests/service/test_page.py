"""The page of `batonpass serve`, over HTTP as a browser speaks it: who gets in, what is shown and what is refused."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

import batonpass as bp
from batonpass.service.page.session import Sessions

from ..apps.page_app import EVIL, Draft, app
from ..harness.redis import RedisServer
from ..workers.serving import DEADLINE, reached, serving
from .service import TOKEN, caller, service_of
from .visitor import Visitor, visiting

COOKIE = Sessions(TOKEN).cookie


async def test_who_gets_in(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address, "") as http:
            job = await coordinator.submit("free", Draft())
            paths = ["", "inbox", "jobs", f"jobs/{job.id}", f"jobs/{job.id}/events", "dead-letters", "checkpoints/x"]
            for path in paths:
                reply = await http.get(f"/ui/{path}", headers={"authorization": f"Bearer {TOKEN}"})
                assert (reply.status_code, job.id in reply.text.replace(f"/ui/jobs/{job.id}", "")) == (401, False), path
            for act in ("answer", "cancel", "redrive"):
                assert (await http.post(f"/ui/jobs/{job.id}/{act}")).status_code == 401
            assert (await http.get("/ui")).headers["location"] == "/ui/"
            for given, to in (
                ("/ui/inbox", "/ui/inbox"),
                ("https://x.test/", "/ui/"),
                ("//x.test", "/ui/"),
                ("", "/ui/"),
            ):
                reply = await http.post("/ui/sign-in", data={"token": TOKEN, "to": given})
                assert (reply.status_code, reply.headers["location"]) == (303, to)
            cookie = reply.headers["set-cookie"].lower()
            assert all(part in cookie for part in ("; httponly", "; path=/ui", "; samesite=strict"))
            assert "secure" not in cookie
            assert TOKEN not in cookie
            reply = await http.post("/ui/sign-in", data={"token": TOKEN}, headers={"x-forwarded-proto": "https"})
            assert "; secure" in reply.headers["set-cookie"].lower()
            for token in (
                "",
                "wrong",
                TOKEN + "x",
                "\u00e9\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
            ):
                assert (await http.post("/ui/sign-in", data={"token": token})).status_code == 401
            assert (await http.post("/ui/sign-in", data={"token": "x" * 20_000})).status_code == 413  # anybody's
            foreign = {"sec-fetch-site": "cross-site"}
            assert (await http.post("/ui/sign-in", data={"token": TOKEN}, headers=foreign)).status_code == 403
            await cookies_that_do_not_hold(http, job.id)
        async with visiting(address) as visitor:
            for path in ("/inbox", f"/jobs/{job.id}", "/metrics"):  # the cookie opens only pages
                for cookies in ({}, {"cookie": f"{COOKIE}={visitor.http.cookies[COOKIE]}"}):
                    assert (await visitor.http.get(path, headers=cookies)).status_code == 401
            assert "Sign in" in await visitor.send("/ui/sign-out", 401)
            await visitor.open("/ui/", 401)


async def cookies_that_do_not_hold(http: httpx.AsyncClient, job: str) -> None:
    good = http.cookies[COOKIE]
    http.cookies.clear()
    ends, rest = good.split(".", 1)
    for cookie in (
        "",
        "x",
        "..",
        f"{ends}.x",
        good[:-1],
        f"{int(ends) + 9}.{rest}",
        f"x{good}",
        "\u0660.x.y".encode().decode("latin-1"),
    ):
        reply = await http.get(f"/ui/jobs/{job}", headers={b"cookie": f"{COOKIE}={cookie}".encode("latin-1")})
        assert reply.status_code == 401, cookie
    assert (await http.get(f"/ui/jobs/{job}", headers={"cookie": f"{COOKIE}={good}"})).status_code == 200


async def test_a_form_is_of_a_page_that_is_open(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("free", Draft())
            path = f"/ui/jobs/{job.id}/cancel"
            for typed in ({"x": ""}, {"proof": ""}, {"proof": "0" * 64}, {"proof": "\u00e9"}):
                assert (await visitor.http.post(path, data=typed)).status_code == 403
            async with visiting(address) as other:
                await other.open("/ui/")
                [proof] = set(re.findall(r'name="proof" value="(\w+)"', other.page))
            assert (await visitor.http.post(path, data={"proof": proof})).status_code == 403
            assert (await visitor.http.post(path, json={"proof": proof})).status_code == 415
            assert (await visitor.http.post("/ui/sign-out")).status_code == 415
            assert (await job.info()).state == "submitted"
            await visitor.open(f"/ui/jobs/{job.id}")
            assert "was canceled" in await visitor.send(path)
            assert "Cancel it" not in visitor.page
            assert (await job.info()).state == "canceled"


async def test_a_job_that_waits_for_its_time_is_run_now(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("free", Draft(), delay=3600)
            await visitor.open(f"/ui/jobs/{job.id}")
            assert "Run it now" in visitor.page
            assert "runs as soon as a worker" in await visitor.send(f"/ui/jobs/{job.id}/run-now")
            assert "Run it now" not in visitor.page
            assert (await job.info()).reason == "ready"
            await job.cancel()
            assert "only one that waits" in await visitor.send(f"/ui/jobs/{job.id}/run-now", 409)


async def test_what_is_not_there(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("free", Draft())
            unknown = f"{job.id[:-6]}aaaaaa"
            for path, status, told in (
                (f"jobs/{unknown}", 404, "there is no job"),
                ("jobs/nonsense", 404, "'nonsense' is not a job id"),
                ("jobs/nonsense/events", 404, "not a job id"),
                ("checkpoints/nonsense", 404, "nonsense"),
                ("nothing", 404, "nothing at this path"),
                ("inbox/", 404, "nothing at this path"),
                ("jobs?state=asleep", 400, "state: "),
                ("jobs?before=x", 404, "not a job id"),
                ("inbox?after=x", 404, "neither a question's id"),
                (f"jobs/{job.id}/answer", 405, "does not take this method"),
                (f"jobs/{job.id}?before=x", 404, "x"),
                (f"jobs/{job.id}/events?after=x", 422, "not an event cursor"),
            ):
                assert told in await visitor.open(f"/ui/{path}", status), path
            await visitor.open("/ui/")
            assert "there is no job" in await visitor.send(f"/ui/jobs/{unknown}/cancel", 404)
            assert (await visitor.http.delete("/ui/")).status_code == 405
            style = re.search(r'href="(/ui/style.css\?\w+)"', visitor.page)
            assert style
            assert (await visitor.http.get(style[1])).headers["content-type"].startswith("text/css")


@pytest.mark.each_store
async def test_questions_of_every_form(store_url: str) -> None:
    with service_of(app, store_url) as address:
        async with serving(app, store_url) as coordinator, visiting(address) as visitor:
            nested = await coordinator.submit("nested", Draft())
            free, other = [await coordinator.submit("free", Draft(text=text)) for text in ("this", "that")]
            for job in (nested, free, other):
                await reached(job, bp.JobState.INPUT_REQUIRED)
            shown = await visitor.open("/ui/inbox")
            assert "Where to?" in shown
            assert '"this"' in shown
            assert "everybody" in visitor.page
            assert "for this person" in await visitor.open("/ui/inbox?assignee=bob")

            page = await visitor.open(f"/ui/jobs/{nested.id}")
            assert "Answer, as JSON" in page
            assert '"places"' in page  # the schema
            path = f"/ui/jobs/{nested.id}/answer"
            assert "not JSON" in await visitor.send(path, 422, json='{"places": [}')
            assert "{&#34;places&#34;: [}</textarea>" in visitor.page
            assert "places: 7 is not of type 'array'" in await visitor.send(path, 422, json='{"places": 7}')
            await visitor.send(path, json='{"places": ["rome"]}')
            await reached(nested, bp.JobState.COMPLETED)
            assert "Places(places=['rome'])" in await visitor.open(f"/ui/jobs/{nested.id}")

            await visitor.open(f"/ui/jobs/{free.id}")
            await late(visitor, free, nested)
            await visitor.send(f"/ui/jobs/{free.id}/answer", text="line\r\n[1]")
            await reached(free, bp.JobState.COMPLETED)
            await visitor.open(f"/ui/jobs/{other.id}")
            await visitor.send(f"/ui/jobs/{other.id}/answer", 422, json="{")
            await visitor.send(f"/ui/jobs/{other.id}/answer", json='{"ok": true}')
            await reached(other, bp.JobState.COMPLETED)
            assert "{'ok': True}" in await visitor.open(f"/ui/jobs/{other.id}")
            assert r"'line\n[1]'" in (await visitor.open(f"/ui/jobs/{free.id}")).replace("\\\\", "\\")


async def late(visitor: Visitor, free: bp.Job[Any], nested: bp.Job[Any]) -> None:
    """An answer to a question that is no longer open changes nothing. What was typed is shown, to be copied."""
    asked = (await free.info()).question
    form = visitor.page
    told = await visitor.send(f"/ui/jobs/{nested.id}/answer", 409, text="my answer")
    assert "that question belongs to another job" in told
    assert "my answer" in told
    assert (await free.info()).question == asked
    visitor.page = form


async def test_a_redrive_that_is_refused(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("fragile", Draft(), thread="t")
            await reached(job, bp.JobState.FAILED)
            other = await coordinator.submit("free", Draft(), thread="t")
            await reached(other, bp.JobState.INPUT_REQUIRED)
            await visitor.open("/ui/dead-letters")
            path = f"/ui/jobs/{job.id}/redrive"
            assert other.id in await visitor.send(path, 409)  # it has the thread
            assert "must be a JSON object" in await visitor.send(path, 422, payload="[1]")
            assert "not JSON" in await visitor.send(path, 422, payload='{"number": 1')
            assert "{&#34;number&#34;: 1</textarea>" in visitor.page
            assert "too deep" in await visitor.send(path, 422, payload="[" * 100_000)
            await other.cancel()
            await visitor.send(path, payload='{"number": 1}')
            await reached(job, bp.JobState.COMPLETED)
            assert "is completed" in await visitor.send(path, 409, payload='{"number": 2}')


async def test_lists_go_on(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            for n in range(110):
                await coordinator.submit("free" if n % 2 else "state", {})
            found = await coordinator.jobs(limit=200)
            ids, free = [job.id for job in found], [job.id for job in found if job.agent == "free"]
            seen: list[str] = []
            path = "/ui/jobs"
            while path:
                await visitor.open(path)
                seen += re.findall(r'href="/ui/jobs/(j\w+)"', visitor.page)
                further = re.search(r'rel="next" href="(.*?)"', visitor.page)
                path = unescape(further[1]) if further else ""
            assert seen == ids
            await visitor.open("/ui/jobs?state=submitted&agent=free")
            assert re.findall(r'href="/ui/jobs/(j\w+)"', visitor.page) == free[:50]
            assert "state=submitted&agent=free&parent=&children=&thread=&before=" in unescape(visitor.page)
            assert "no such jobs" in await visitor.open("/ui/jobs?state=failed&agent=")
            assert "110 ready to run" in await visitor.open("/ui/")


async def test_a_timeline_goes_on(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator:
            await coordinator.save(thread="t", agent="a", state={})
        async with serving(app, sqlite_url) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("steps", Draft(number=45), thread="t")
            await reached(job, bp.JobState.COMPLETED)
            steps: list[str] = []
            path = f"/ui/jobs/{job.id}"
            while path:
                await visitor.open(path)
                steps += re.findall(r'data-is="Step">(\w+)', visitor.page)
                further = re.search(r'rel="next" href="(.*?)"', visitor.page)
                path = further[1] if further else ""
            assert steps == [f"s{n}" for n in range(44, -1, -1)]
            events = await visitor.open(f"/ui/jobs/{job.id}/events")
            assert "job.submitted" in events
            assert "job.completed" in events
            later = await coordinator.submit("steps", Draft(), delay=1000)
            due = (await later.info()).due_at
            assert due
            assert f"due {due:%Y-%m-%d %H:%M:%S} UTC" in await visitor.open(f"/ui/jobs/{later.id}/events")


async def test_checkpoints_that_are_damaged(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            large = {str(n): "x" * 100_000 for n in range(3)}
            first = await coordinator.save(thread="t", agent="a", state={**large, "n": 1}, context={"who": EVIL})
            second = await coordinator.save(thread="t", agent="a", state={**large, "n": 2})
            page = await visitor.open(f"/ui/checkpoints/{second.id}")
            assert "~ state['n']: 1 -> 2" in page
            assert "100,045 characters more" in page
            assert "console.log" in await visitor.open(f"/ui/checkpoints/{first.id}")
            with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as db:
                db.execute("UPDATE checkpoint SET state = CAST(state || x'00' AS BLOB) WHERE id = ?", (first.id,))
                db.commit()
            assert "It can't be compared with its parent: " in await visitor.open(f"/ui/checkpoints/{second.id}")
            with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as db:
                db.execute("UPDATE checkpoint SET header = x'00' WHERE id = ?", (first.id,))
                db.commit()
            assert first.id in await visitor.open(f"/ui/checkpoints/{first.id}", 500)


async def test_without_the_key(sqlite_url: str) -> None:
    codec = bp.Codec(encrypt={"k": b"k" * 32})
    with service_of(app, sqlite_url) as address:
        async with visiting(address) as visitor, bp.connect(sqlite_url, app=app, codec=codec) as coordinator:
            async with app.worker(coordinator):
                free, done = await coordinator.submit("free", Draft()), await coordinator.submit("state", {"a": 1})
                failed = await coordinator.submit("fragile", Draft(text="a secret"))
                await reached(free, bp.JobState.INPUT_REQUIRED)
                await reached(done, bp.JobState.COMPLETED)
                await reached(failed, bp.JobState.FAILED)
            assert "a key that this service lacks" in await visitor.open("/ui/inbox")
            assert "Its question is damaged, or kept with a key" in await visitor.open(f"/ui/jobs/{free.id}")
            assert "Its result can't be read: " in await visitor.open(f"/ui/jobs/{done.id}")
            assert "can't be read" in await visitor.open("/ui/jobs")
            shown = await visitor.open(f"/ui/jobs/{failed.id}")
            assert "leave empty to keep the old one" in shown
            assert not re.search("a secret|the one above", shown)
            async with caller(address) as http:
                told = (await http.get(f"/jobs/{failed.id}")).raise_for_status().json()
            assert (told["unreadable"], told["payload"]) == (["envelope"], None)
            kept = await coordinator.save(thread="t", agent="a", state={})
            assert "BATONPASS_ENCRYPT_KEYS" in await visitor.open(f"/ui/checkpoints/{kept.id}", 500)
            await visitor.open("/ui/")


async def test_a_store_that_is_away(own_redis: RedisServer) -> None:
    with service_of(app, own_redis.url) as address:
        async with visiting(address) as visitor:
            own_redis.kill()
            assert "The store can't be reached" in await visitor.open("/ui/inbox", 503)
            assert "Nothing is lost" in await visitor.open("/ui/", 503)
            own_redis.start()
            with anyio.fail_after(DEADLINE):
                while (await visitor.http.get("/ui/")).status_code == 503:
                    await anyio.sleep(0.05)
            assert "There are no open questions" in await visitor.open("/ui/inbox")


async def test_a_store_that_was_deleted(tmp_path: Path) -> None:
    """Waiting does not help, and what was written since may be lost, so the page promises neither."""
    file = tmp_path / "batonpass.db"
    with service_of(app, f"sqlite:///{file}") as address:
        async with visiting(address) as visitor:
            await visitor.open("/ui/inbox")
            for end in ("", "-wal", "-shm"):
                await anyio.Path(f"{file}{end}").unlink()
            with anyio.fail_after(DEADLINE):
                while (shown := await visitor.http.get("/ui/")).status_code == 200:
                    await anyio.sleep(0.05)
            assert (shown.status_code, "was deleted" in shown.text) == (500, True)
            assert "Nothing is lost" not in shown.text


async def test_an_event_that_is_damaged_takes_no_others_along(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("steps", Draft(number=3))
            await reached(job, bp.JobState.COMPLETED)
            path, third = f"/ui/jobs/{job.id}/events", [event async for event in coordinator.events(job=job.id)][2]
            with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as db:
                damage = "UPDATE event SET fields = json_set(fields, '$.time', 'soon') WHERE number = ?"
                db.execute(damage, (third.cursor,))
            pages: list[str] = []
            while path:
                pages.append(await visitor.open(path))
                further = re.search(r'rel="next" href="(.*?)"', visitor.page)
                path = unescape(further[1]) if further else ""
    assert [("job.submitted" in page, "can't be read" in page, "job.completed" in page) for page in pages] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]

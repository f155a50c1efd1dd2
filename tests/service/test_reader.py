"""A service whose Redis user may only read: it shows everything, and says why it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import batonpass as bp

from ..apps.page_app import Draft, app
from ..harness.redis import RedisServer
from ..redis_store.needed import FILES
from ..workers.serving import reached, serving
from .service import TOKEN, caller, process, started
from .visitor import visiting


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server with the shipped reader."""
    reader = (FILES / "reader.acl").read_text().replace(" off ", " on >a-password ")
    (tmp_path / "users.acl").write_text("user default on nopass ~* &* +@all\n" + reader)
    made = RedisServer(tmp_path, "--aclfile", str(tmp_path / "users.acl"))
    made.start()
    yield made
    made.close()


async def test_what_it_refuses_is_a_403(server: RedisServer) -> None:
    reader = server.url.replace("://", "://batonpass-reader:a-password@")
    async with serving(app, server.url) as coordinator:
        asking = await coordinator.submit("research", Draft(text="rain"))
        failed = await coordinator.submit("fragile", Draft(text="sun"))
        info = await reached(asking, bp.JobState.INPUT_REQUIRED)
        await reached(failed, bp.JobState.FAILED)
    with process(reader, "--json", BATONPASS_TOKEN=TOKEN) as running:
        address = started(running)["url"]
        async with caller(address) as http:
            for path in ("health", "metrics", "jobs", f"jobs/{asking.id}", "inbox", "agents", "workers", "events"):
                assert (await http.get(f"/{path}")).status_code == 200, path
            for path, given in (
                ("/jobs", {"agent": "research", "payload": {"text": "sun"}}),
                (f"/jobs/{asking.id}/cancel", {}),
                (f"/jobs/{failed.id}/redrive", {}),
                (f"/checkpoints/{info.checkpoint_id}/fork", {"agent": "research"}),
                ("/schedules", {"name": "s", "agent": "research", "payload": {"text": "a"}, "cron": "0 9 * * *"}),
            ):
                reply = await http.post(path, json=given)
                assert reply.status_code == 403, (path, reply.text)
                assert "this service may not change anything here: " in reply.json()["error"]
                assert "the user lacks permissions" in reply.json()["error"]
                assert "a-password" not in reply.text
            assert (await http.delete(f"/jobs/{failed.id}")).status_code == 403
        async with visiting(address) as visitor:
            for path in ("", "jobs", "inbox", "dead-letters", f"checkpoints/{info.checkpoint_id}"):
                await visitor.open(f"/ui/{path}")
            await visitor.open(f"/ui/jobs/{asking.id}")
            assert "may not change anything here" in await visitor.send(f"/ui/jobs/{asking.id}/cancel", 403)
            await visitor.open(f"/ui/jobs/{failed.id}")
            assert "may not change anything here" in await visitor.send(f"/ui/jobs/{failed.id}/redrive", 403)

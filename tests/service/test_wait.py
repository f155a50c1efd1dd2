"""`GET /jobs/JOB?wait=`: a program that has no other way to wait for a job."""

from __future__ import annotations

from typing import Any

import anyio

import batonpass as bp

from ..workers.serving import DEADLINE, Ask, reached, serving
from .service import app, caller, service


async def test_a_jobs_end_is_waited_for(store_url: str) -> None:
    async def shown(path: str, wait: float) -> dict[str, Any]:
        told: dict[str, Any] = (await http.get(path, params={"wait": wait})).raise_for_status().json()
        return told

    with service(store_url) as address:
        async with serving(app, store_url) as coordinator, caller(address) as http:
            job = await coordinator.submit("plain", Ask(text="rain"))
            await reached(job, bp.JobState.INPUT_REQUIRED)
            path = f"/jobs/{job.id}"
            assert (await shown(path, 0.05))["state"] == "input_required"
            with anyio.fail_after(DEADLINE):
                async with anyio.create_task_group() as tasks:

                    async def wait() -> None:
                        ended = await shown(path, 60)
                        assert (ended["state"], ended["result"]) == ("completed", {"text": "Verdict(ok=True)"})

                    tasks.start_soon(wait)
                    await job.answer({"ok": True})
            canceled = await coordinator.submit("plain", Ask(text="snow"))
            await canceled.cancel()
            assert (await shown(f"/jobs/{canceled.id}", 60))["state"] == "canceled"
            for wrong in ("61", "-1", "nan", "x"):
                refused = await http.get(path, params={"wait": wrong})
                assert (refused.status_code, "wait: " in refused.text) == (400, True), refused.text


async def test_a_question_that_the_service_can_not_read_is_waited_for(sqlite_url: str) -> None:
    """A service that only watches has no keys."""
    codec = bp.Codec(encrypt={"k": b"k" * 32})
    with service(sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app, codec=codec) as coordinator, app.worker(coordinator):
            job = await coordinator.submit("plain", Ask(text="rain"))
            await reached(job, bp.JobState.INPUT_REQUIRED)
            async with caller(address) as http:
                told = [await http.get(f"/jobs/{job.id}", params={"wait": wait}) for wait in (0, 0.05)]
    assert [each.status_code for each in told] == [200, 200]
    assert [each.json()["unreadable"] for each in told] == [["envelope", "question"]] * 2

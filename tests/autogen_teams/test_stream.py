"""What a team's models stream can be read while the job runs."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

import batonpass as bp
from tests.apps import autogen_app

pytestmark = [pytest.mark.anyio, pytest.mark.capability("autogen")]


async def test_a_streamed_answer_comes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATONPASS_TEST_LOG", str(tmp_path / "log"))
    async with bp.connect("memory://", app=autogen_app.app) as coordinator, autogen_app.app.worker(coordinator):
        job = await coordinator.submit("search", {"text": "a draft"}, returns=autogen_app.Report)
        with anyio.fail_after(30):
            parts = [part async for part in job.stream()]
        assert {part["agent"] for part in parts} == {"seeker"}
        assert len({(part["message"], part["lease"]) for part in parts}) == 1
        said = "".join(part["chunk"] for part in parts).strip()
        assert len(parts) > 2
        assert said in (await job.result(timeout=30)).body

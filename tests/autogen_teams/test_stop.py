"""A team can be stopped at any moment of its turn, and its slot is free again."""

from __future__ import annotations

import random
from pathlib import Path

import anyio
import pytest

import batonpass as bp
from tests.apps import autogen_app

pytestmark = [pytest.mark.anyio, pytest.mark.capability("autogen")]


async def test_a_team_canceled_at_any_moment_frees_its_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AutoGen waits forever for a task of its own that was cancelled before it began."""
    monkeypatch.setenv("BATONPASS_TEST_LOG", str(tmp_path / "log"))
    moments = random.Random(7)
    async with bp.connect("memory://", app=autogen_app.app) as coordinator:
        # The worker's end waits for what still runs.
        with anyio.fail_after(40):
            async with autogen_app.app.worker(coordinator, concurrency=2, lease=0.05):
                for _ in range(40):
                    job = await coordinator.submit("review", {"text": "a draft"})
                    await anyio.sleep(moments.uniform(0, 0.03))
                    await job.cancel()
                last = await coordinator.submit("review", {"text": "a draft"}, returns=autogen_app.Report)
                assert (await last.result(timeout=20)).body == autogen_app.EXPECTED["review"]["body"]

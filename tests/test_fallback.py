"""`fallback=`: a job goes on at another agent when its attempts run out."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.commands import Declare
from batonpass.testing import serving

from .apps.switch_desk import Draft, Topic, half_done_desk, happened

pytestmark = [
    pytest.mark.usefixtures("log", "seen"),
    pytest.mark.capability("langgraph", "crewai", "autogen"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


async def test_a_job_goes_on_at_the_fallback_when_attempts_run_out(seen: dict[str, Any]) -> None:
    async with serving(half_done_desk(fallback="plain")) as coordinator:
        job = await coordinator.submit("research", Topic(text="streams"))
        assert await job.result(timeout=20) == Draft(body="streams: 3")
        assert (await job.info()).path == ("research", "plain")
        handed = await happened(coordinator, job, "batonpass.job.handed_off")
        assert (handed["sender"], handed["agent"], handed["reason"]) == ("research", "plain", "fallback")
        assert re.fullmatch(r"OSError: no network \(tests/apps/switch_desk.py:\d+ in tools\)", handed["error"])
        assert handed["checkpoint"] == seen["plain"].checkpoint


@pytest.mark.parametrize("url", ["sqlite", "redis"])
async def test_a_fallback_in_another_framework_says_what_is_lost(url: str, request: pytest.FixtureRequest) -> None:
    async with serving(half_done_desk(fallback="write"), request.getfixturevalue(f"{url}_url")) as coordinator:
        job = await coordinator.submit("research", Topic(text="streams"))
        assert await job.result(timeout=20) == Draft(body="a draft")
        handed = await happened(coordinator, job, "batonpass.job.handed_off")
        assert json.loads(handed["lost"])["unfinished call"] == 1


async def test_agents_that_stand_in_for_each_other_fail_in_the_end() -> None:
    app = bp.App("circle")

    def fails(topic: Topic) -> Draft:
        raise OSError("no network")

    for name, other in (("one", "two"), ("two", "one")):
        declared: dict[str, Any] = {"accepts": Topic, "returns": Draft, "retries": 1, "fallback": other}
        declare: Any = app.agent(name, **declared)
        declare(fails)
    async with serving(app) as coordinator:
        job = await coordinator.submit("one", Topic(text="x"))
        with pytest.raises(bp.JobFailed, match="no network") as caught:
            await job.result(timeout=20)
        assert caught.value.reason == "attempts"
        assert (await job.info()).path == ("one", "two")


async def test_a_fallback_that_nobody_knows_leaves_a_dead_letter(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(half_done_desk(fallback="nobody")) as coordinator:
        job = await coordinator.submit("research", Topic(text="x"))
        with pytest.raises(bp.JobFailed, match="no network"):
            await job.result(timeout=20)
        assert "can't continue at the fallback of agent 'research'" in caplog.text


async def test_a_fallback_whose_record_can_not_be_read_leaves_a_dead_letter(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with bp.connect(sqlite_url, app=bp.App("other")) as other:
        await other.store.acall(Declare({"nobody": b"damaged"}))
        async with serving(half_done_desk(fallback="nobody"), sqlite_url) as coordinator:
            job = await coordinator.submit("research", Topic(text="x"))
            with pytest.raises(bp.JobFailed, match="no network"):
                await job.result(timeout=10)
            assert "can't continue at the fallback of agent 'research'" in caplog.text


async def test_a_violation_is_no_case_for_the_fallback() -> None:
    app = bp.App("violating")

    @app.agent("wrong", accepts=Topic, returns=Draft, fallback="right")
    def wrong(topic: Topic) -> Any:
        return None

    app.agent("right", accepts=Topic, returns=Draft)(lambda topic: Draft(body="right"))
    async with serving(app) as coordinator:
        job = await coordinator.submit("wrong", Topic(text="x"))
        with pytest.raises(bp.JobFailed, match="did you forget return"):
            await job.result(timeout=20)


def test_fallbacks_that_can_not_work_are_refused() -> None:
    app = bp.App("bad")
    with pytest.raises(bp.BadSetup, match="its own fallback"):
        app.agent("a", accepts=Topic, returns=Draft, fallback="a")(lambda topic: topic)
    app.agent("b", accepts=Topic, returns=Draft, fallback="c")(lambda topic: topic)
    app.agent("c", accepts=Draft, returns=Draft)(lambda draft: draft)
    with pytest.raises(
        bp.BadSetup, match=r"its fallback 'c' switch\.draft@1: a fallback must accept the same contract"
    ):
        app.check()

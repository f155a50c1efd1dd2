"""`GET /metrics`: what has happened, counted from the events."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import batonpass as bp
from batonpass.contracts import event as kinds
from batonpass.coordinator.calls import events
from batonpass.service import tally as counting
from batonpass.service.tally import Tally

from ..workers.serving import Ask, Reply, reached, serving
from .service import caller, service

busy = bp.App("busy")


@busy.agent("first", accepts=Ask, hands_to={"second": Ask})
async def first(ask: Ask, ctx: bp.Context) -> bp.Handoff:
    return ctx.hand_off("second", await ctx.step("more", lambda: ask))


@busy.agent("second", accepts=Ask, returns=Reply, retries=bp.Retry(attempts=2, first=0.01))
def second(ask: Ask) -> Reply:
    if ask.text == "bad":
        raise ValueError("no")
    return Reply(text=ask.text)


async def counted(http: Any) -> dict[tuple[str, str], float]:
    """The counter by type and agent, and how many values each histogram has."""
    found: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families((await http.get("/metrics")).raise_for_status().text):
        for sample in family.samples:
            if sample.name == "batonpass_events_total":
                found[sample.labels["type"], sample.labels["agent"]] = sample.value
            elif sample.name.endswith("_seconds_count"):
                found[sample.name.removeprefix("batonpass_job_"), sample.labels["agent"]] = sample.value
    return found


@pytest.mark.each_store
async def test_what_happened_is_counted_once(store_url: str) -> None:
    with service(store_url) as address:
        async with caller(address) as http, serving(busy, store_url) as coordinator:
            early = await coordinator.submit("first", Ask(text="early"))
            await early.result()
            before = await counted(http)
            assert {*before.values()} == {0}  # counting begins with the first look
            assert {("job.failed", "second"), ("lease.expired", "first"), ("store.rewound", "")} <= before.keys()
            jobs = [await coordinator.submit("first", Ask(text=text)) for text in ("good", "good", "bad")]
            for job, state in zip(
                jobs, (bp.JobState.COMPLETED, bp.JobState.COMPLETED, bp.JobState.FAILED), strict=True
            ):
                await reached(job, state)
            expected = {
                ("job.submitted", "first"): 3,
                ("job.started", "first"): 3,
                ("job.submitted", "second"): 1,  # when the retry was due
                ("checkpoint.saved", "first"): 3,
                ("job.handed_off", "second"): 3,
                ("job.started", "second"): 4,
                ("job.retrying", "second"): 1,
                ("job.completed", "second"): 2,
                ("job.failed", "second"): 1,
                ("wait_seconds_count", "first"): 3,
                ("wait_seconds_count", "second"): 4,
                ("run_seconds_count", "first"): 3,
                ("run_seconds_count", "second"): 4,
            }
            for _ in range(2):
                found = await counted(http)
                assert {name: value for name, value in found.items() if value} == expected


async def test_a_job_is_not_ready_while_it_waits_for_its_thread() -> None:
    def happened(second: int, kind: str, **data: Any) -> bp.Event:
        time = datetime.fromtimestamp(second, UTC)
        return bp.Event(id="", type=kind, source="", subject="j", time=time, data={"agent": "a", **data}, cursor="")

    async with bp.connect("memory://") as coordinator:
        tally = Tally(coordinator)
        queued, begins = happened(1, kinds.SUBMITTED, behind="other"), happened(100, kinds.SUBMITTED)
        tally.count([queued, begins, happened(101, kinds.STARTED)])
        assert tally.waits["a"].sum == 1.0


async def test_failures_are_counted_by_their_reason(sqlite_url: str) -> None:
    """An effect whose outcome is unknown needs a person; other failures may not."""
    doubtful = bp.App("doubtful")

    @doubtful.agent("pays", accepts=Ask, returns=Reply, retries=bp.Retry(attempts=2, first=0.01))
    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await ctx.effect("pay", pay, ask.text))

    def pay(text: str) -> str:
        raise OSError("the line is dead")

    with service(sqlite_url) as address:
        async with caller(address) as http, serving(doubtful, sqlite_url) as coordinator:
            assert {*(await failed(http)).values()} == {0}
            job = await coordinator.submit("pays", Ask(text="1 EUR"), returns=Reply)
            await reached(job, bp.JobState.FAILED)
            found = await failed(http)
            assert {labels: number for labels, number in found.items() if number} == {("pays", "ambiguous"): 1}
            assert ("pays", "poison") in found


async def failed(http: Any) -> dict[tuple[str, str], float]:
    """The counter of failures, by agent and reason."""
    families = text_string_to_metric_families((await http.get("/metrics")).raise_for_status().text)
    samples = [
        sample for family in families for sample in family.samples if sample.name == "batonpass_jobs_failed_total"
    ]
    return {(sample.labels["agent"], sample.labels["reason"]): sample.value for sample in samples}


@pytest.mark.each_store
async def test_agents_outside_of_jobs_are_not_told_apart(store_url: str) -> None:
    """Their names are any texts, and each would be a time series of its own for ever."""
    with service(store_url) as address:
        async with caller(address) as http, bp.connect(store_url) as coordinator:
            await counted(http)
            for user in ("ann", "bob"):
                await coordinator.save(thread="t", agent=f"chat with {user}", state={"user": user})
            found = {name: value for name, value in (await counted(http)).items() if value}
            assert found == {("checkpoint.saved", ""): 2}


async def test_a_damaged_event_costs_no_other_its_count(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with bp.connect(f"sqlite:///{path}") as coordinator:
        tally = Tally(coordinator)
        await tally.look()
        for number in range(5):
            await coordinator.save(thread="t", agent="a", state=number)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("UPDATE event SET fields = '{' WHERE number = (SELECT max(number) FROM event)")
        await tally.look()
        assert tally.events == {(kinds.SAVED, ""): 4}


async def test_how_far_it_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look ends after a time, and goes on at the next one."""
    async with bp.connect("memory://") as coordinator:
        tally = Tally(coordinator)
        await tally.look()
        for number in range(5):
            await coordinator.save(thread="t", agent="a", state=number)
        monkeypatch.setattr(events, "PAGE", 3)
        monkeypatch.setattr(counting, "time", Clock(stands=2))
        await tally.look()
        assert tally.events.total() == 3
        assert tally.behind > 0
        await tally.look()
        assert tally.events.total() == 5
        assert tally.behind == 0


class Clock:
    """Stands still for so many looks at it, and then makes a leap."""

    def __init__(self, stands: int) -> None:
        self._left = stands

    def monotonic(self) -> float:
        self._left -= 1
        return 0.0 if self._left >= 0 else 100.0 - self._left

    def time(self) -> float:
        return time.time()

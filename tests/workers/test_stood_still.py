"""Code that holds Python's lock keeps every thread of its process from running, also the one that renews leases."""

from __future__ import annotations

import ctypes
import re
from typing import cast

import pytest

import batonpass as bp
from batonpass.coordinator.commands import Fence
from batonpass.coordinator.store import Store
from batonpass.workers.keeper import LeaseKeeper
from tests.harness.waiting import wait_until

from .agents import Task
from .blocking import app
from .processes import Desk
from .test_trouble import FullStore

_TOLD = re.compile(r"this process stood still for (\d+\.\d) s or longer: .* may repeat (jobs? .*?)\. Code that")


def hold_the_lock(seconds: float) -> None:
    """As a slow regular expression does: a library that is called as PyDLL keeps Python's lock."""
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))


def test_a_process_that_stood_still_says_so_once_each_time(caplog: pytest.LogCaptureFixture) -> None:
    store = FullStore(failures=0)
    keeper = LeaseKeeper(cast(Store, store), shortest=400)
    for number in range(7):
        keeper.hold(Fence(f"j{number}", 1, f"l{number}"), 400, lambda lease, why: None)
    keeper.hold(Fence("long", 1, "long"), 60_000, lambda lease, why: None)
    keeper.start()
    for times in (1, 2):
        before = store.calls
        wait_until(lambda before=before: store.calls > before, what="a heartbeat")  # type: ignore[misc]
        hold_the_lock(1.5)
        wait_until(lambda times=times: len(_TOLD.findall(caplog.text)) == times, what="the warning")  # type: ignore[misc]
    keeper.stop()
    assert [jobs for _, jobs in _TOLD.findall(caplog.text)] == ["jobs j0, j1, j2, j3, j4 and 2 more"] * 2
    assert all(float(seconds) > 0.7 for seconds, _ in _TOLD.findall(caplog.text))


@pytest.mark.timeout(240)
def test_a_worker_names_the_job_and_what_to_do(desk: Desk) -> None:
    with bp.connect(desk.url, app=app) as coordinator:
        worker = desk.start("--lease", "1", app="tests.workers.blocking:app")
        worker.wait_for("serves")
        job = coordinator.submit("holds-the-lock", Task(text="a", seconds=3.0))
        worker.wait_for("this process stood still")
        job.result(timeout=60)
    assert [jobs for _, jobs in _TOLD.findall(desk.said())] == [f"job {job.id}"]
    assert 'isolation="process", or give the worker a longer --lease' in desk.said()

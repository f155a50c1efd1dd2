"""What keeps failing is told once, and again when it is over: not at each of the attempts, ten a second."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

import batonpass as bp
from batonpass.coordinator.commands import Fence
from batonpass.coordinator.store import Store
from batonpass.workers.keeper import LeaseKeeper
from tests.harness.waiting import wait_until


class FullStore:
    """Fails a few times."""

    def __init__(self, failures: int) -> None:
        self.calls, self._failures = 0, failures

    def call(self, command: Any) -> list[str]:
        self.calls += 1
        if self.calls <= self._failures:
            raise bp.Overloaded("no space left")
        return ["" for _ in command.leases]

    def close(self) -> None: ...


def test_heartbeats_that_fail_do_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="batonpass.worker")
    store = FullStore(failures=5)
    keeper = LeaseKeeper(cast(Store, store), shortest=40)
    keeper.hold(Fence("j1", 1, "l1"), 40, lambda lease, why: None)
    keeper.start()
    wait_until(lambda: store.calls > 6, what="the heartbeat is not tried again")
    keeper.stop()
    begun, over = [record.getMessage() for record in caplog.records]
    assert begun == "heartbeat failed, trying again: no space left"
    assert over.startswith("heartbeat failed for 0.")
    assert over.endswith(" s: that is over")

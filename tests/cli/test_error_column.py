"""The ERROR column of `batonpass jobs` says what is wrong, and nothing else."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c

from ..harness.bench import MINUTE, fence_of, new_job, new_target
from .commandline import CommandLine


@pytest.mark.each_store
def test_a_completed_job_has_no_trouble(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a worker died while it ran is told by `show`. In a list it looks like a failure."""
    run = CommandLine(store_url, capsys, monkeypatch)
    with bp.connect(store_url) as coordinator:
        coordinator.store.call(new_job())

        def claimed() -> c.Fence:
            claim = c.Claim("w", ((new_target().queue, MINUTE),), (mint("l"),))
            [delivery] = coordinator.store.call(claim)
            return fence_of(delivery)

        coordinator.store.call(c.Release(claimed(), "it died"))
        assert "1 worker(s) died" in run("jobs").out
        coordinator.store.call(c.Complete(claimed(), b""))
        assert "worker(s) died" not in run("jobs").out

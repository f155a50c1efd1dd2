"""A short chaos run, as a part of every run of the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kills.harness import Zygote
from tests.storm.chaos import Length, Report, on_redis, on_sqlite, versions

SECONDS, KILLS, JOBS = 12.0, 3, 30


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("store", "chaos", "restarts"), [("sqlite", on_sqlite, 0), ("redis", on_redis, 2)])
def test_nothing_is_lost_doubled_or_left(
    store: str, chaos: Callable[[Path, list[Zygote], Length, int], Report], restarts: int, tmp_path: Path
) -> None:
    (older := tmp_path / "older").mkdir()
    with versions(older, store) as parents:
        report = chaos(tmp_path, parents, Length(SECONDS, KILLS, JOBS, restarts), 1)
    assert not report.verdict.problems, report
    assert (report.kills >= KILLS, report.jobs >= JOBS, report.restarts >= restarts) == (True, True, True), report

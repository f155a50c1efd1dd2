"""A short chaos run, as a part of every run of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kills.harness import Zygote
from tests.storm.chaos import Length, Report, on_redis, on_sqlite, versions

SECONDS, KILLS, JOBS = 12.0, 3, 30


@pytest.fixture(scope="module")
def parents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Zygote]]:
    with versions(tmp_path_factory.mktemp("older")) as made:
        yield made


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("chaos", "restarts"), [(on_sqlite, 0), (on_redis, 2)])
def test_nothing_is_lost_doubled_or_left(
    chaos: Callable[[Path, list[Zygote], Length, int], Report], restarts: int, tmp_path: Path, parents: list[Zygote]
) -> None:
    report = chaos(tmp_path, parents, Length(SECONDS, KILLS, JOBS, restarts), 1)
    assert not report.verdict.problems, report
    assert (report.kills >= KILLS, report.jobs >= JOBS, report.restarts >= restarts) == (True, True, True), report

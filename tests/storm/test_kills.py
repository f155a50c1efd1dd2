"""A short storm of kills, as a part of every run of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kills.harness import Zygote
from tests.storm.kills import Report, on_redis, on_sqlite, warm

KILLS = 5


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with warm() as made:
        yield made


@pytest.mark.timeout(240)
@pytest.mark.parametrize("storm", [on_sqlite, on_redis])
def test_nothing_is_lost(storm: Callable[[Path, Zygote, int, int], Report], tmp_path: Path, zygote: Zygote) -> None:
    report = storm(tmp_path, zygote, KILLS, 1)
    assert report.kills == KILLS
    assert report.acknowledged >= 10 * KILLS
    assert report.jobs > 20

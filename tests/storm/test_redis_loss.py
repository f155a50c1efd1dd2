"""A short storm over a Redis server, as a part of every run of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.storm.redis_loss import Report, cut, killed


@pytest.mark.timeout(240)
def test_a_server_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    report = Report()
    killed(tmp_path, 4, 1, report)
    assert report.kills == 4
    assert report.acknowledged > 200


@pytest.mark.timeout(240)
def test_a_power_loss_is_whole_and_said(tmp_path: Path) -> None:
    report = Report()
    cut(tmp_path, 6, 1, report)
    assert report.cuts == report.reported == 6
    assert report.lost > 0
    assert report.fenced > 0
    assert report.held > 0

"""A few frozen jobs, as a part of every run of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.storm.freeze import Report, freeze, warm


@pytest.mark.each_store
@pytest.mark.timeout(300)
def test_who_was_frozen_writes_nothing(store_url: str, tmp_path: Path) -> None:
    report = Report()
    with warm() as parent:
        freeze(store_url, tmp_path, parent, 6, 2.0, 1.0, report)
    assert report.problems == []
    assert report.tries == report.insights == 6
    assert report.refused > 6

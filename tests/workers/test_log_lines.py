"""A worker's log: what agents and users have written begins no records, and does not act on a terminal."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator

import pytest

from batonpass.workers.logs import log_lines

EVIL = "\x1b[2J\x9b31m\u202e\r\n2026-11-29 15:00:00,000 INFO    job j1 hop 0 weather: completed"
logger = logging.getLogger("batonpass.test")


@pytest.fixture(autouse=True)
def own_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sets up a whole process: put it back."""
    ours = logging.getLogger("batonpass")
    before = (*ours.handlers,), ours.level, ours.propagate
    monkeypatch.setattr("warnings.showwarning", lambda *_: None)
    yield
    ours.handlers[:], level, ours.propagate = before
    ours.setLevel(level)


def logged(capsys: pytest.CaptureFixture[str], *, as_json: bool) -> str:
    log_lines(as_json, "default")
    logger.warning("no weather for %s", EVIL)
    try:
        raise ValueError(EVIL)
    except ValueError:
        logger.exception("it failed")
    return capsys.readouterr().err


def test_records_begin_where_they_begin(capsys: pytest.CaptureFixture[str]) -> None:
    written = logged(capsys, as_json=False)
    assert not set("\x1b\x9b\u202e\r") & set(written)
    begun = [line for line in written.splitlines() if not line.startswith("  ")]
    assert [re.sub(r"^[\d-]+ [\d:,]+ ", "", line) for line in begun] == [
        r"WARNING no weather for \x1b[2J\x9b31m\u202e\r",
        "ERROR   it failed",
    ]


def test_a_traceback_stays_readable(capsys: pytest.CaptureFixture[str]) -> None:
    trace = logged(capsys, as_json=False).partition("it failed\n")[2].splitlines()
    assert trace[0] == "  Traceback (most recent call last):"
    assert trace[1].startswith('    File "')
    assert trace[-2:] == [r"  ValueError: \x1b[2J\x9b31m\u202e\r", f"  {EVIL.splitlines()[-1]}"]


def test_json_says_exactly_what_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    written = logged(capsys, as_json=True)
    assert not set("\x1b\x9b\u202e\r") & set(written)
    first, second = map(json.loads, written.splitlines())
    assert first["message"] == f"no weather for {EVIL}"
    assert second["trace"].endswith(f"ValueError: {EVIL}")

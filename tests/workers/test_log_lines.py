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


HALF = "bad name \udc80: " + EVIL


def logged_half(capsys: pytest.CaptureFixture[str], *, as_json: bool) -> str:
    log_lines(as_json, "default")
    error = ValueError(HALF)
    logger.error("no file %s", HALF, exc_info=error, extra={"fields": {"job": HALF, "hop": 3}})
    return capsys.readouterr().err


def test_half_a_surrogate_pair_loses_no_record(capsys: pytest.CaptureFixture[str]) -> None:
    """`os.listdir` makes them of names that are no UTF-8. Readers of JSON refuse them."""
    written = logged_half(capsys, as_json=True)
    assert written.isascii()
    [line] = map(json.loads, written.splitlines())
    said = HALF.replace("\udc80", "\\udc80")
    assert line["message"] == f"no file {said}"
    assert line["trace"].endswith(f"ValueError: {said}")
    assert written.startswith('{"time":"')  # as all others
    assert (line["job"], line["hop"], line["level"], line["time"][-1]) == (said, 3, "error", "Z")


def test_nor_does_it_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    [begun] = [line for line in logged_half(capsys, as_json=False).splitlines() if not line.startswith("  ")]
    assert "no file bad name" in begun


@pytest.mark.parametrize("as_json", [True, False])
def test_what_cannot_be_written_is_told_in_a_record(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    """Python's own message about it has what was not written as it is."""
    log_lines(as_json, "default")
    logger.warning("%s has %d", EVIL, EVIL)
    written = capsys.readouterr().err
    assert not set("\x1b\x9b\u202e\r") & set(written)
    [line] = written.splitlines()
    assert re.search(r"a line of .*test_log_lines.py:\d+ is lost: .*(TypeError|%d format)", line)

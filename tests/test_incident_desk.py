"""The incident desk's pure computation on logs, hand-made ones and the recorded one."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.examples.incident_desk import figures, log, tools
from batonpass.examples.incident_desk.contracts import Figure, Moment
from batonpass.examples.incident_desk.line import Line, parse
from batonpass.examples.incident_desk.models import prose

RECORDED = Path(log.__file__).parent / "data" / "cache-outage.log"


@pytest.mark.parametrize(
    ("line", "time", "level", "source", "text"),
    [
        ("2026-11-21T05:09:34.462Z host app[7]: ERROR boom", "2026-11-21 05:09:34", "error", "host app", "boom"),
        ("2026-11-21 05:09:34,462 WARN slow", "2026-11-21 05:09:34", "warning", "", "slow"),
        ("2026-11-21T07:09:34+02:00 [info] up", "2026-11-21 05:09:34", "info", "", "[info] up"),
        ("Nov  1 05:10:01 db-1 postgres: FATAL: no role", "2024-11-01 05:10:01", "error", "db-1 postgres", "no role"),
        (
            "<34>Oct 11 22:14:15 mail su: 'su root' failed",
            "2024-10-11 22:14:15",
            "error",
            "mail su",
            "'su root' failed",
        ),
        ("12:M 21 Nov 2026 05:09:34.462 # Out of memory", "2026-11-21 05:09:34", "warning", "", "Out of memory"),
        (
            "2026-11-21T05:09:35Z c redis[12]: 12:M 21 Nov 2026 05:09:34.462 * Ready",
            "2026-11-21 05:09:35",
            "info",
            "c redis",
            "Ready",
        ),
        (
            '127.0.0.1 - - [10/Oct/2020:13:55:36 -0700] "GET / HTTP/1.1" 502 12',
            "2020-10-10 20:55:36",
            "error",
            "",
            '127.0.0.1 - - "GET / HTTP/1.1" 502 12',
        ),
        ('{"ts":"2026-11-21T05:09:34Z","level":"warn","msg":"m"}', "2026-11-21 05:09:34", "warning", "", "m"),
        ('{"half": ', None, "plain", "", '{"half":'),
        ("web-1  | 2026/11/21 05:09:34 [crit] oops", "2026-11-21 05:09:34", "error", "", "web-1  | [crit] oops"),
        ("level=error msg=x", None, "error", "", "level=error msg=x"),
        ("Traceback (most recent call last):", None, "error", "", "Traceback (most recent call last):"),
        ("INFO no error here", None, "info", "", "no error here"),
        ("status installed libgpg-error-dev", None, "plain", "", "status installed libgpg-error-dev"),
        ("just words", None, "plain", "", "just words"),
        ("2026-13-45 10:10:10 WARN no such day", None, "warning", "", "2026-13-45 10:10:10 WARN no such day"),
        ("10:10:10 INFO a clock without a day", None, "info", "", "10:10:10 INFO a clock without a day"),
        ("\x1b[31mERROR\x1b[0m red \x00\x07", None, "error", "", "red"),
    ],
)
def test_a_line_is_recognised(line: str, time: str | None, level: str, source: str, text: str) -> None:
    seen = parse(line, 3, year=2024)
    assert (tools.show_time(seen.time), seen.level, seen.source, seen.text) == (time, level, source, text)
    assert seen.number == 3


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_blank_lines_count_in_numbers_only(tmp_path: Path) -> None:
    lines = list(log.read(write(tmp_path / "a.log", b"\n\none\r\n   \nERROR two")))
    assert [(line.number, line.text) for line in lines] == [(3, "one"), (5, "two")]


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    (line,) = log.read(write(tmp_path / "a.log", b"ERROR \xff\xfe\x00 in \x80 block\n"))
    assert line.level == "error"
    assert line.text == "\ufffd\ufffd in \ufffd block"


def test_of_a_huge_line_only_the_start_is_read(tmp_path: Path) -> None:
    lines = list(log.read(write(tmp_path / "a.log", b"ERROR " + b"x" * 3_000_000 + b"\nWARN next\n")))
    assert [(line.number, line.level) for line in lines] == [(1, "error"), (2, "warning")]
    assert len(lines[0].text) <= log.MAX_LINE


@pytest.mark.parametrize("data", [b"", b"\n \n\t\n"])
def test_an_empty_log_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(bp.BadSetup, match="is empty"):
        log.check_readable(write(tmp_path / "a.log", data))


def test_a_log_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(bp.BadSetup, match="can't be read: No such file"):
        log.check_readable(tmp_path / "none.log")
    with pytest.raises(bp.BadSetup, match="is a folder"):
        log.check_readable(tmp_path)


def at(number: int, minute: int, level: str = "error", text: str = "boom") -> Line:
    return parse(f"2026-11-21T05:{minute:02}:07Z {level.upper()} {text}", number)


def test_levels_are_counted() -> None:
    levels = tools.count_levels([at(1, 0), at(2, 3, "info"), parse("words", 3)])
    assert (levels.lines, levels.error, levels.info, levels.plain) == (3, 1, 1, 1)
    assert (levels.first_time, levels.last_time) == ("2026-11-21 05:00:07", "2026-11-21 05:03:07")
    assert tools.worst_level(levels) == "error"
    assert tools.worst_level(tools.count_levels([parse("words")])) == "plain"


def test_bursts_are_the_fullest_minutes_against_the_median() -> None:
    lines = [
        at(1, 0, "info"),
        *[at(n, 2) for n in range(2, 9)],
        at(9, 3),
        at(10, 4),
        at(11, 4),
        parse("ERROR late", 12),
    ]
    bursts = tools.find_bursts(lines)
    assert [(peak.minute, peak.count, peak.first_line) for peak in bursts.peaks] == [
        ("2026-11-21 05:02", 7, 2),
        ("2026-11-21 05:04", 2, 10),
        ("2026-11-21 05:03", 1, 9),
    ]
    assert (bursts.minutes, bursts.median_per_minute, bursts.untimed) == (5, 1.0, 1)


def test_a_span_of_years_costs_nothing() -> None:
    lines = [parse("2001-01-01 00:00:00 ERROR old", 1), parse("2026-01-01 00:00:00 ERROR new", 2)]
    assert tools.find_bursts(lines).median_per_minute == 0.0


def test_without_times_there_are_no_bursts() -> None:
    bursts = tools.find_bursts([parse("ERROR a", 1), parse("ERROR b", 2)])
    assert (bursts.peaks, bursts.minutes, bursts.untimed) == ([], 0, 2)


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("order 17 took 2.5 s", "order <n> took <n> s"),
        ("from 10.0.0.7:6379 to 10.0.0.8", "from <address> to <address>"),
        ("id 6f1c2a34-9b1e-4f7a-8c3d-0123456789ab at 0xdeadBEEF", "id <id> at <hex>"),
        ("commit a1b2c3d failed", "commit <hex> failed"),
        ("a deadbeef feed stays", "a deadbeef feed stays"),
    ],
)
def test_what_varies_is_left_out_of_a_signature(text: str, signature: str) -> None:
    assert tools.signature(text) == signature


def test_signatures_are_ranked_by_count_and_by_first_line() -> None:
    lines = [at(4, 0, text="disk 1 full"), at(7, 1, text="order 1 lost"), at(8, 2, text="order 2 lost")]
    top = tools.top_signatures(lines).signatures
    assert [(s.signature, s.count, s.first_line, s.last_line) for s in top] == [
        ("order <n> lost", 2, 7, 8),
        ("disk <n> full", 1, 4, 4),
    ]
    assert [s.first_line for s in tools.first_occurrences(lines).signatures] == [4, 7]


def test_an_excerpt_quotes_the_lines_asked_for() -> None:
    lines = [at(1, 0, text="a"), at(2, 0, text="b" * 999), at(3, 0, text="c")]
    quotes = tools.excerpt(lines, [3, 2, 99])
    assert [(quote.line, len(quote.text)) for quote in quotes] == [(2, tools.MAX_TEXT), (3, 1)]


def results_of(path: Path) -> list[figures.Result]:
    lines = list(log.read(path))
    worst = tools.worst_level(tools.count_levels(lines))
    return [
        ("count_levels", tools.count_levels(lines).model_dump()),
        ("find_bursts", tools.find_bursts(lines, worst).model_dump()),
        ("top_signatures", tools.top_signatures(lines, worst).model_dump()),
        ("first_occurrences", tools.first_occurrences(lines, worst).model_dump()),
    ]


def test_the_recorded_log_gives_figures_that_a_plain_count_confirms() -> None:
    rows = RECORDED.read_text().splitlines()
    found = {figure.name: figure for figure in figures.figures(results_of(RECORDED))}
    assert 1500 <= len(rows) <= 6000
    assert found["lines"].value == str(sum(bool(row.strip()) for row in rows))
    errors = [(n, row) for n, row in enumerate(rows, 1) if "]: ERROR " in row]
    assert found["error lines"].value == str(len(errors))
    assert found["first error line"].value == str(errors[0][0])
    minute, count = Counter(row[:16].replace("T", " ") for _, row in errors).most_common(1)[0]
    assert found["fullest minute of error lines"].value == minute
    assert found["error lines in that minute"].value == str(count)
    assert figures.severity(results_of(RECORDED)) == "high"


def test_the_recorded_log_names_no_place_of_its_recording() -> None:
    text = RECORDED.read_text()
    assert len(text) < 600_000
    for place in ("/tmp", "/root", "/home", "/usr", "root@"):
        assert place not in text


def test_figures_and_moments_survive_their_way_through_text() -> None:
    numbers = [
        Figure(name='count of "x = 3 (line 4) | y"', value="5", line=9),
        Figure(name="first time", value="2026-11-21 05:09:34", line=None),
    ]
    moments = [Moment(time="2026-11-21 05:09", what="a | b (line 2) = 3", line=7), Moment(time="", what="c", line=None)]
    text = f"Figures:\n{figures.write_figures(numbers)}\n\nTimeline:\n{figures.write_timeline(moments)}\nEnd."
    assert figures.read_figures(text) == numbers
    assert figures.read_timeline(text) == moments


def test_an_unknown_tool_gives_no_figures() -> None:
    assert figures.figures([("weather", {"sun": 1})]) == []
    assert figures.severity([]) == "low"


def test_the_offline_rules_ask_every_tool_once_and_then_sum_up(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"ERROR disk 7 full\nINFO fine\nERROR disk 8 full\n")
    offered = ["count_levels", "find_bursts", "top_signatures", "first_occurrences", "excerpt"]
    first = prose.next_calls(offered, [])
    assert [name for name, _ in first] == offered[:3]
    results = results_of(path)
    assert prose.next_calls(offered, results) == [("excerpt", {"lines": [1]})]
    assert prose.next_calls(offered, [*results, ("excerpt", [])]) == []
    assert prose.summary(results).startswith("2 of the log's 3 lines are errors.")


def test_the_offline_rules_know_no_figure_that_was_not_said() -> None:
    assert prose.summary([]) == ""
    assert figures.read_figures(prose.facts("Incident: x\nno figures here")) == []


def test_times_are_utc() -> None:
    assert parse("2026-11-21T05:09:34-05:00 x").time == datetime(2026, 11, 21, 10, 9, 34, tzinfo=UTC)

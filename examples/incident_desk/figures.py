"""Turns what the tools returned into figures and a timeline, and writes those as text that a model can quote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from .contracts import Figure, Moment, Severity
from .tools import Bursts, Levels, Signatures

MAX_NAME = 110  # characters of a signature that a figure's name or a moment quotes

Result = tuple[str, Any]  # a tool's name, and the plain value that it returned


def figures(results: Iterable[Result]) -> list[Figure]:
    """Every figure that the results hold, once each, in the order in which they came."""
    found: dict[str, Figure] = {}
    for tool, value in results:
        if tool in _READERS:
            for figure in _READERS[tool](value):
                found.setdefault(figure.name, figure)
    return list(found.values())


def timeline(results: Sequence[Result]) -> list[Moment]:
    """When each kind of message was first seen, and the fullest minute, in the log's order."""
    moments: dict[tuple[int, int, str], Moment] = {}
    for tool, value in results:
        if tool == "first_occurrences":
            for seen in Signatures.model_validate(value).signatures:
                what = f"first of {seen.count}: {_short(seen.signature)}"
                moments[seen.first_line, 1, what] = Moment(time=seen.first_time or "", what=what, line=seen.first_line)
        elif tool == "find_bursts":
            bursts = Bursts.model_validate(value)
            for peak in bursts.peaks[:1]:
                what = f"fullest minute begins: {peak.count} {bursts.level} lines"
                moments[peak.first_line, 0, what] = Moment(time=peak.minute, what=what, line=peak.first_line)
    return [moments[key] for key in sorted(moments)]


def severity(results: Iterable[Result]) -> Severity:
    """High: one line in fifty or more is an error. Medium: some are. Low: none is."""
    counts = next((Levels.model_validate(value) for tool, value in results if tool == "count_levels"), None)
    if counts is None or not counts.error:
        return "low"
    return "high" if counts.error * 50 >= counts.lines else "medium"


def _of_levels(value: Any) -> list[Figure]:
    levels = Levels.model_validate(value)
    numbers = {"lines": levels.lines, "error lines": levels.error, "warning lines": levels.warning}
    found = [Figure(name=name, value=str(number), line=None) for name, number in numbers.items()]
    times = {"first time": levels.first_time, "last time": levels.last_time}
    return found + [Figure(name=name, value=time, line=None) for name, time in times.items() if time]


def _of_bursts(value: Any) -> list[Figure]:
    bursts = Bursts.model_validate(value)
    found: list[Figure] = []
    for peak in bursts.peaks[:1]:
        found = [
            Figure(name=f"fullest minute of {bursts.level} lines", value=peak.minute, line=peak.first_line),
            Figure(name=f"{bursts.level} lines in that minute", value=str(peak.count), line=peak.first_line),
            Figure(name=f"median {bursts.level} lines per minute", value=f"{bursts.median_per_minute:g}", line=None),
        ]
    return found


def _of_top(value: Any) -> list[Figure]:
    return [
        Figure(name=f'count of "{_short(seen.signature)}"', value=str(seen.count), line=seen.first_line)
        for seen in Signatures.model_validate(value).signatures
    ]


def _of_first(value: Any) -> list[Figure]:
    found = Signatures.model_validate(value)
    return [
        Figure(name=f"first {found.level} line", value=str(seen.first_line), line=seen.first_line)
        for seen in found.signatures[:1]
    ]


_READERS = {
    "count_levels": _of_levels,
    "find_bursts": _of_bursts,
    "top_signatures": _of_top,
    "first_occurrences": _of_first,
}


def _short(text: str) -> str:
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 3] + "..."


def write_figures(figures: Iterable[Figure]) -> str:
    """One figure a line, as prompts and drafts carry them."""
    return "\n".join(f"- {f.name} = {f.value}{_where(f.line)}" for f in figures)


def write_timeline(moments: Iterable[Moment]) -> str:
    """One moment a line."""
    return "\n".join(f"* {m.time or 'no time'} | {m.what}{_where(m.line)}" for m in moments)


def _where(line: int | None) -> str:
    return "" if line is None else f" (line {line})"


_FIGURE = re.compile(r"^- (?P<name>.+) = (?P<value>.+?)(?: \(line (?P<line>\d+)\))?$", re.MULTILINE)
_MOMENT = re.compile(r"^\* (?P<time>no time|[\d :-]+) \| (?P<what>.+?)(?: \(line (?P<line>\d+)\))?$", re.MULTILINE)


def read_figures(text: str) -> list[Figure]:
    """The figures that a text carries, as `write_figures` writes them."""
    found = {f["name"]: f for f in _FIGURE.finditer(text)}
    return [Figure(name=name, value=f["value"], line=_line(f["line"])) for name, f in found.items()]


def read_timeline(text: str) -> list[Moment]:
    """The moments that a text carries, as `write_timeline` writes them."""
    found = {m[0]: m for m in _MOMENT.finditer(text)}
    return [
        Moment(time="" if m["time"] == "no time" else m["time"], what=m["what"], line=_line(m["line"]))
        for m in found.values()
    ]


def _line(number: str | None) -> int | None:
    return int(number) if number else None

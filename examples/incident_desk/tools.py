"""What triage can ask of a log. Plain functions over its lines, with typed results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from statistics import median

from pydantic import BaseModel, ConfigDict

from .line import Level, Line

_GRAVEST_FIRST: tuple[Level, ...] = ("error", "warning", "info", "debug")
MAX_TEXT = 300  # characters of a line or signature that a result quotes


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True)


class Levels(_Result):
    """How many lines of each level (plain: of none), and what the log spans. Blank lines are not counted."""

    lines: int
    error: int
    warning: int
    info: int
    debug: int
    plain: int
    first_time: str | None
    last_time: str | None
    sources: dict[str, int]


class Minute(_Result):
    """One minute, how many lines of the level fell into it, and the first of them."""

    minute: str
    count: int
    first_line: int


class Bursts(_Result):
    """The fullest minutes of a level against the median of all minutes from the log's first to its last.

    `untimed` lines of the level have no time and are not in any minute.
    """

    level: Level
    peaks: list[Minute]
    median_per_minute: float
    minutes: int
    untimed: int


class Signature(_Result):
    """Messages that are equal but for their numbers, ids and addresses."""

    signature: str
    count: int
    first_line: int
    first_time: str | None
    last_line: int
    last_time: str | None


class Signatures(_Result):
    """Signatures of one level: the most frequent first, or the earliest first."""

    level: Level
    signatures: list[Signature]


class Quote(_Result):
    """One line of the log, as it stands there (cut if it is long)."""

    line: int
    time: str | None
    text: str


def count_levels(lines: Iterable[Line]) -> Levels:
    """Count the lines of each level, and who wrote how many."""
    levels: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    first: datetime | None = None
    last: datetime | None = None
    for line in lines:
        levels[line.level] += 1
        if line.source:
            sources[line.source] += 1
        if line.time is not None:
            first = min(first or line.time, line.time)
            last = max(last or line.time, line.time)
    counts = {level: levels[level] for level in ("error", "warning", "info", "debug", "plain")}
    return Levels(
        lines=levels.total(),
        **counts,
        first_time=show_time(first),
        last_time=show_time(last),
        sources=dict(sources.most_common(10)),
    )


def worst_level(levels: Levels) -> Level:
    """The gravest level that the log has lines of."""
    for level in _GRAVEST_FIRST:
        if getattr(levels, level):
            return level
    return "plain"


def find_bursts(lines: Iterable[Line], level: Level = "error", top: int = 3) -> Bursts:
    """The minutes with the most lines of a level, fullest first."""
    counts: Counter[datetime] = Counter()
    where: dict[datetime, int] = {}
    span: tuple[datetime, datetime] | None = None
    untimed = 0
    for line in lines:
        minute = line.time.replace(second=0, microsecond=0) if line.time else None
        if minute is not None:
            span = (min(span[0], minute), max(span[1], minute)) if span else (minute, minute)
        if line.level != level:
            continue
        if minute is None:
            untimed += 1
            continue
        counts[minute] += 1
        where.setdefault(minute, line.number)
    minutes = int((span[1] - span[0]) / timedelta(minutes=1)) + 1 if span else 0
    fullest = sorted(counts, key=lambda minute: (-counts[minute], minute))[:top]
    return Bursts(
        level=level,
        peaks=[Minute(minute=f"{m:%Y-%m-%d %H:%M}", count=counts[m], first_line=where[m]) for m in fullest],
        median_per_minute=_median_of_span(list(counts.values()), minutes),
        minutes=minutes,
        untimed=untimed,
    )


def _median_of_span(counts: list[int], minutes: int) -> float:
    """The median over all minutes of the span, those without a line included, without listing them: it may be years."""
    empty = minutes - len(counts)
    if not minutes or empty > len(counts):
        return 0.0
    return float(median([0] * empty + counts))


def top_signatures(lines: Iterable[Line], level: Level = "error", top: int = 5) -> Signatures:
    """The most frequent messages of a level."""
    ranked = sorted(_signatures(lines, level), key=lambda s: (-s.count, s.first_line))
    return Signatures(level=level, signatures=ranked[:top])


def first_occurrences(lines: Iterable[Line], level: Level = "error", top: int = 10) -> Signatures:
    """The messages of a level in the order in which each was first seen."""
    ranked = sorted(_signatures(lines, level), key=lambda s: s.first_line)
    return Signatures(level=level, signatures=ranked[:top])


def excerpt(lines: Iterable[Line], numbers: Iterable[int]) -> list[Quote]:
    """The lines of these numbers. Numbers that the log does not have are left out."""
    wanted = set(numbers)
    return [
        Quote(line=line.number, time=show_time(line.time), text=line.text[:MAX_TEXT])
        for line in lines
        if line.number in wanted
    ]


def show_time(time: datetime | None) -> str | None:
    """A time as results and reports write it, to the second."""
    return f"{time:%Y-%m-%d %H:%M:%S}" if time else None


_VARIES = [
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<hex>"),
    (re.compile(r"\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{6,}\b"), "<hex>"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "<n>"),
]


def signature(text: str) -> str:
    """The message with what varies between its repetitions replaced."""
    text = text[:MAX_TEXT]
    for pattern, stand_in in _VARIES:
        text = pattern.sub(stand_in, text)
    return text


def _signatures(lines: Iterable[Line], level: Level) -> list[Signature]:
    counts: Counter[str] = Counter()
    first: dict[str, Line] = {}
    last: dict[str, Line] = {}
    for line in lines:
        if line.level == level:
            known = signature(line.text)
            counts[known] += 1
            first.setdefault(known, line)
            last[known] = line
    return [
        Signature(
            signature=known,
            count=count,
            first_line=first[known].number,
            first_time=show_time(first[known].time),
            last_line=last[known].number,
            last_time=show_time(last[known].time),
        )
        for known, count in counts.items()
    ]

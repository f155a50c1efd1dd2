"""A line of a text log of any kind: its time, level and source, as far as they can be told."""

from __future__ import annotations

import json
import re
from calendar import month_abbr
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

Level = Literal["error", "warning", "info", "debug", "plain"]


@dataclass(frozen=True)
class Line:
    """One line. `number` counts from 1; `time` is UTC (taken as such where the log names no zone); None: not told.

    `source` is who wrote it ("host program" in a syslog line), empty where it can't be told. `text` is the message
    without what was recognised before it.
    """

    number: int
    time: datetime | None
    level: Level
    source: str
    text: str


def parse(line: str, number: int = 1, year: int = 2000) -> Line:
    """Recognise ISO, syslog, Redis, access-log, JSON and bare lines. `year` is for times without one (syslog)."""
    text = _CONTROL.sub("", line).strip()
    if text.startswith("{") and (record := _json(text)):
        return _from_json(record, text, number, year)
    redis = _REDIS.match(text)
    time, rest = (None, text) if redis else _take_time(text, year)
    source = ""
    if time is not None and (syslog := _SYSLOG.match(rest)):
        source, rest = f"{syslog['host']} {syslog['program']}", rest[syslog.end() :]
        redis = _REDIS.match(rest)
    if redis:
        inner, _ = _take_time(redis["time"], year)
        return Line(number, time or inner, _MARKS[redis["mark"]], source, rest[redis.end() :].strip())
    return Line(number, time, _level(rest), source, _LEADING.sub("", rest).strip())


_CONTROL = re.compile(r"\x1b\[[\d;]*m|[\x00-\x08\x0b-\x1f\x7f]")
_SYSLOG = re.compile(r"(?P<host>[\w.-]+) (?P<program>[\w./-]+)(?:\[\d+\])?: ")
_REDIS = re.compile(r"\d+:[XMSC] (?P<time>\d{2} [A-Z][a-z]{2} \d{4} [\d:.]+) (?P<mark>[.*#-]) ")
_MARKS: dict[str, Level] = {".": "debug", "-": "debug", "*": "info", "#": "warning"}

_MONTHS = {name.lower(): number for number, name in enumerate(month_abbr) if name}
_CLOCK = r"(?P<h>\d{2}):(?P<mi>\d{2}):(?P<s>\d{2})(?:[.,](?P<frac>\d{1,9}))?"
_ZONE = r"\s?(?P<zone>Z|[+-]\d{2}:?\d{2})?"
_NEAR = 80  # a full date may stand after a few words (a container's name, a client's address)
_DATED = [
    re.compile(rf"\[?\b(?P<y>\d{{4}})[-/](?P<mo>\d{{2}})[-/](?P<d>\d{{2}})[T ]{_CLOCK}{_ZONE}"),
    re.compile(rf"\[?\b(?P<d>\d{{1,2}})[ /](?P<mon>[A-Z][a-z]{{2}})[ /](?P<y>\d{{4}})[ :]{_CLOCK}{_ZONE}"),
]
_SYSLOG_TIME = re.compile(rf"(?:<\d{{1,3}}>)?(?P<mon>[A-Z][a-z]{{2}}) {{1,2}}(?P<d>\d{{1,2}}) {_CLOCK}")


def _take_time(text: str, year: int) -> tuple[datetime | None, str]:
    """The line's time, and the text without it. A clock without a day is no time: the day would be made up."""
    for found in (*(dated.search(text, 0, _NEAR) for dated in _DATED), _SYSLOG_TIME.match(text)):
        if found and (time := _moment(found.groupdict(), year)):
            return time, (text[: found.start()] + text[found.end() :].lstrip(" ]),:|")).strip()
    return None, text


def _moment(part: dict[str, str | None], year: int) -> datetime | None:
    month = _MONTHS.get((part.get("mon") or "").lower()) or int(part.get("mo") or 1)
    day, hour, minute, second = (int(part[name] or 0) for name in ("d", "h", "mi", "s"))
    micro = int((part["frac"] or "0").ljust(6, "0")[:6])
    try:
        time = datetime(int(part.get("y") or year), month, day, hour, minute, second, micro, tzinfo=UTC)
        zone = part.get("zone") or "Z"
        return time if zone == "Z" else datetime.fromisoformat(time.isoformat()[:-6] + zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


_LEADING = re.compile(r"\A[\[(<]?(?:ERROR|WARNING|WARN|INFO|DEBUG|CRITICAL|FATAL|NOTICE)[\])>]?:?\s+")
_HEAD = 120  # a level stands near the start of a message; further on it is a word like others
_FIELD = re.compile(r"\b(?:level|severity|lvl)[\"']?\s?[=:]\s?[\"']?(?P<name>[A-Za-z]+)", re.IGNORECASE)
_BRACKETED = re.compile(r"[\[(<](?P<name>[A-Za-z]+)[\])>]")
_WORD = re.compile(r"\b(?P<name>[A-Z]{3,9})\b")
_STATUS = re.compile(r"HTTP/\d(?:\.\d)?\" (?P<kind>[1-5])\d\d ")
# Words of their own: libgpg-error is a package, not an error.
_SAYS_ERROR = re.compile(r"(?<![\w-])(?:error|exception|fatal|panic|traceback|failed|failure)(?![\w-])", re.IGNORECASE)
_SAYS_WARNING = re.compile(r"(?<![\w-])warn(?:ing)?(?![\w-])", re.IGNORECASE)
_NAMES: dict[str, Level] = {
    **dict.fromkeys(("error", "err", "critical", "crit", "fatal", "emerg", "alert", "panic", "severe"), "error"),
    **dict.fromkeys(("warning", "warn"), "warning"),
    **dict.fromkeys(("info", "notice", "information"), "info"),
    **dict.fromkeys(("debug", "trace", "verbose"), "debug"),
}


def _level(text: str) -> Level:
    """The level that the line names, else the one that its words suggest, else "plain"."""
    head = text[:_HEAD]
    for pattern in (_FIELD, _BRACKETED, _WORD):
        for found in pattern.finditer(head):
            if level := _NAMES.get(found["name"].lower()):
                return level
    if status := _STATUS.search(text):
        kinds: dict[str, Level] = {"4": "warning", "5": "error"}
        return kinds.get(status["kind"], "info")
    if _SAYS_ERROR.search(text):
        return "error"
    return "warning" if _SAYS_WARNING.search(text) else "plain"


def _json(text: str) -> dict[str, Any] | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", record) if isinstance(record, dict) else None


def _from_json(record: dict[str, Any], text: str, number: int, year: int) -> Line:
    """A line of JSON, by the names that loggers commonly use."""

    def first(*names: str) -> str:
        return next((str(record[name]) for name in names if record.get(name)), "")

    time, _ = _take_time(first("time", "timestamp", "@timestamp", "ts", "asctime"), year)
    message = first("message", "msg", "event") or text
    level = _NAMES.get(first("level", "severity", "levelname", "lvl").lower()) or _level(message)
    return Line(number, time, level, first("logger", "name", "service", "source"), message)

"""Words: times and values as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from batonpass.cli.printing import shortened
from batonpass.contracts.jsonable import as_json
from batonpass.contracts.visible import visible_json

_BRIEF = 160  # characters of a text that is folded
_LINES = 12  # of a text that is not
_MOST = 200_000  # characters of one text in a page
_SPANS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True)
class Shown:
    """A value as text. `prose` says that the value is a text itself. `brief` is its beginning in one line. `folded`
    says that it is too long to be shown at once. `left` is how many of its characters are left out."""

    text: str
    brief: str
    prose: bool
    folded: bool
    left: int = 0


def shown(value: Any) -> Shown:
    """Any value. A text stays as it is, other values become JSON."""
    text = value if isinstance(value, str) else in_json(value)
    left = max(len(text) - _MOST, 0)
    text = text[:_MOST]
    brief = shortened(" ".join(text[: 4 * _BRIEF].split()), _BRIEF)
    long = len(text) > 4 * _BRIEF or text.count("\n") >= _LINES
    return Shown(text, brief, isinstance(value, str), long, left)


def in_json(value: Any) -> str:
    """A value as JSON over several lines; if it holds what JSON can't, as Python writes it."""
    try:
        return visible_json(as_json(value, indent=2).decode())
    except ValueError:  # half of a character, say
        return repr(value)


def span(seconds: float) -> str:
    """A time span in the one or two units that count."""
    left = int(seconds)
    parts: list[str] = []
    for size, name in _SPANS:
        number, left = divmod(left, size)
        if number:
            parts.append(plural(number, name))
        elif parts:
            break
    return " ".join(parts[:2]) or "0 seconds"


def when(at: datetime, now: datetime | None = None) -> str:
    """A time as seen from now: the nearest unit, or the day."""
    ahead = (at - (now or datetime.now(UTC))).total_seconds()
    if abs(ahead) < 1:
        return "now"
    if abs(ahead) >= 30 * 86_400:
        return f"{at.astimezone(UTC):%Y-%m-%d}"
    size, name = next(each for each in _SPANS if abs(ahead) >= each[0])
    text = plural(int(abs(ahead) // size), name)
    return f"in {text}" if ahead > 0 else f"{text} ago"


def exactly(at: datetime) -> str:
    """A time to the second, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def plural(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def limits(numbers: Mapping[str, Any]) -> str:
    """Numbers with their names. Those that are not set are left out."""
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items() if number is not None)

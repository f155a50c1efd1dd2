"""Checks of what callers give, before anything is sent."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ...contracts.agent import Agent, name_of
from ...contracts.bounds import is_count
from ...contracts.contract import Contract
from ...contracts.duration import Duration, seconds_of
from ...contracts.errors import BadSetup

# A hundred years. Longer durations are mistakes, and would overflow a store's clock.
_LONGEST = 100 * 366 * 86_400.0
# Characters of a name. It is stored with each job, event and checkpoint that it is about, and may come from a stranger.
LONGEST_NAME = 1024
MOST_HEADERS = 8192  # characters: as many as a baggage header may have
# In exact steps, because floats would round the last moment of the year 9999 up to one that can't be read again.
_MS, _EPOCH = timedelta(milliseconds=1), datetime.fromtimestamp(0, UTC)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MS
# A number, a position in a stream, or a position with one for each partition.
_PLACE = r"[0-9]{1,18}-[0-9]{1,18}"
_CURSOR = re.compile(rf"[0-9]{{1,18}}|{_PLACE}|[0-9]{{1,4}}\.{_PLACE}(~({_PLACE})?)+", re.ASCII)


def text(value: str, what: str) -> str:
    """A name from a caller. It must be Unicode text, which half of a surrogate pair is not."""
    given: Any = value
    if not isinstance(given, str):
        raise BadSetup(f"the {what} {value!r} is not text")
    try:
        if not value.isascii():
            value.encode()
    except UnicodeEncodeError:
        raise BadSetup(f"the {what} {value!r} is not Unicode text: it holds half of a character") from None
    return value


def bounded(value: str, what: str) -> str:
    """A name from a caller by which something is stored. (Longer ones were stored before, so `text` reads any.)"""
    if len(text(value, what)) > LONGEST_NAME:
        raise BadSetup(f"the {what} {value[:20]!r}... has {len(value):,} characters: a name may have {LONGEST_NAME:,}")
    return value


def texts(values: Sequence[str], what: str) -> list[str]:
    """A list of names. One that is given alone would be taken apart."""
    given: Any = values  # users without a type checker give anything
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise BadSetup(f"{what}={given!r}, but it must be a list of texts")
    return [text(each, what) for each in values]


def identifier(given: Any, kind: str) -> None:
    """Refuse an id that is not text: mostly the object was passed instead of its id."""
    if not isinstance(given, str):
        said = "None" if given is None else f"a {type(given).__qualname__}"
        raise BadSetup(f"{said} is not a {kind} id: give the .id of a {kind}")


def known(options: Mapping[str, object], form: type, of: str) -> None:
    """Refuse options that a method does not have, as Python itself does where it knows them."""
    if strange := options.keys() - form.__annotations__.keys():
        raise TypeError(f"{of}() got an unexpected keyword argument {min(strange)!r}")


def mapping(value: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """Values by name from a caller."""
    given: Any = value
    if not isinstance(given, Mapping):
        raise BadSetup(f"{what}={value!r}, but it must be a dict: values by name")
    return value


def headers(trace: Mapping[str, str]) -> dict[str, str]:
    """A trace context from a caller: short texts by name."""
    given: Any = mapping(trace, "trace")
    if not all(isinstance(each, str) for pair in given.items() for each in pair):
        raise BadSetup(f"trace={trace!r}, but it must be a dict of texts by name")
    size = sum(len(text(each, "trace")) for pair in given.items() for each in pair)
    if size > MOST_HEADERS:
        raise BadSetup(f"trace= has {size} characters: it goes with every handoff, so it may have {MOST_HEADERS}")
    return dict(given)


def fitting(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers that a library made. Those that don't fit any more are left out: whoever submits the job may not even
    know of them."""
    kept, room = dict[str, str](), MOST_HEADERS
    for name, value in found:
        if value and len(name) + len(value) <= room:
            kept[name] = value
            room -= len(name) + len(value)
    return kept


def milliseconds(duration: Duration, what: str, *, least: float = 0.0) -> int:
    """A duration from a caller, in ms."""
    seconds: Any = seconds_of(duration)
    if seconds is None:
        raise BadSetup(f"{what}=None, but it must be a duration: give seconds, or a timedelta")
    if not least <= seconds <= _LONGEST:
        raise BadSetup(f"{what}={seconds} seconds, but it must be from {least:g} to {_LONGEST:g}")
    return int(seconds * 1000)


def name_wanted(agent: str | Agent[Any] | None) -> str | None:
    """The agent by which a caller filters; None for all."""
    return None if agent is None else text(name_of(agent), "agent")


def contract_wanted(returns: type[Contract] | None) -> type[Contract] | None:
    """The contract as which a caller wants a result. It may be one without a name."""
    given: Any = returns
    if given is not None and not (isinstance(given, type) and issubclass(given, Contract)):
        raise BadSetup(f"returns={given!r}, but it must be a contract: a subclass of batonpass.Contract")
    return returns


def count(given: int, what: str) -> None:
    """How many results a caller wants, at most."""
    if not is_count(given, least=0):
        raise BadSetup(f"{what}={given!r}, but it must be a number, 0 or more")


def deadline(timeout: Duration | None, what: str) -> float:
    """When a caller's timeout ends, by the monotonic clock. Never for None."""
    seconds = math.inf if timeout is None else seconds_of(timeout)
    if math.isnan(seconds):
        raise BadSetup(f"{what}={seconds}, but it must be a number of seconds, or a timedelta")
    return time.monotonic() + seconds


def instant(value: datetime, what: str) -> int:
    """A time from a caller, in ms since 1970. Earlier times are 1, those after the year 9999 its end."""
    given: Any = value
    if not isinstance(given, datetime):
        raise BadSetup(f"{what}={value!r}, but it must be a datetime")
    if value.tzinfo is None:
        raise BadSetup(f"{what}={value} has no time zone: use datetime.now(UTC) + ..., or value.astimezone()")
    return min(max((value - _EPOCH) // _MS, 1), _LAST)


def span(since: datetime | None, until: datetime | None) -> tuple[int, int]:
    """The times, in ms since 1970, between which something is wanted: the first of them counts, the other does not."""
    first = 0 if since is None else instant(since, "since")
    end = _LAST if until is None else instant(until, "until")
    if end <= first:
        raise BadSetup(f"since={since} is not before until={until}: nothing is between them")
    return first, end


def cursor(value: str, of: str = "an event") -> str:
    """A cursor from a caller, or from a stranger's browser; "" is the beginning."""
    given: Any = value  # users without a type checker give anything
    if not isinstance(given, str) or (given and not _CURSOR.fullmatch(given)):
        raise BadSetup(f'{value!r} is not {of} cursor: use the .cursor of {of}, or "" for the beginning')
    return value

"""Doubt: which effects of a hop have started, and may or may not have happened. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass
from shlex import quote
from typing import Any, cast

from ..coordinator.commands import DOUBT, EFFECT, OUTCOME
from .journal import named
from .session import LeaseSession

_STATE = "effect:"  # where the outcome is in a plain function's state


@dataclass(frozen=True, slots=True)
class Started:
    """The record that an effect starts: its idempotency key, its arguments' digest (None: any), and whether it may be
    repeated."""

    about: str
    digest: bytes | None = None
    repeats: bool = False


def noted(key: str, start: Started | None) -> dict[str, Any]:
    """The journal record that an effect starts. None takes it back, since nothing was done."""
    return {EFFECT + key: list(astuple(start)) if start else None, DOUBT + key: True if start else None}


def settled(full: str) -> dict[str, Any]:
    """The journal record that the outcome of an effect is recorded, if this is the key of one among the steps'."""
    key = full.removeprefix(_STATE)
    return {DOUBT + key: None} if key != full else {}


def start_of(journal: Mapping[str, Any], key: str) -> Started | None:
    """How an effect started. None if it has not."""
    record = journal.get(EFFECT + key)
    if isinstance(record, str):  # by an older release: only the key
        return Started(record)
    return Started(*record) if record else None


def about_of(session: LeaseSession, key: str, start: Started | None) -> str:
    """An effect's idempotency key. If it has started, perhaps an older release or an earlier hop has made it."""
    return start.about if start else f"{session.effects}.{session.hop}.{key}"


def in_doubt(session: LeaseSession, *, over: bool = False, known: Collection[str] = ()) -> list[str]:
    """What to do about each effect that may have happened, and must not happen again, except those that are `known`.
    `over`: the agent would not call it again."""
    return [unknown(start.about, key, over=over) for key, start in _open(session).items() if key not in known]


def is_open(session: LeaseSession, key: str) -> bool:
    """Whether an effect may have happened, and must not happen again."""
    start = start_of(session.journal, key)
    return start is not None and not start.repeats and not session.journal.get(OUTCOME + key)


def known_in(session: LeaseSession) -> frozenset[str]:
    """The keys of those of whose error the agent's code was told, and went on."""
    return session.told.known(session.home) if session.told else frozenset()


def not_named(session: LeaseSession, text: str) -> list[str]:
    """The same for those that an error's text does not name."""
    left = {key: start for key, start in _open(session).items() if _named(key) not in text}
    return [unknown(start.about, key) for key, start in left.items()]


def _open(session: LeaseSession) -> dict[str, Started]:
    state = session.checkpoint.state if session.checkpoint else None
    told = cast("dict[str, Any]", state) if isinstance(state, dict) else {}  # a redrive may have told the outcome
    started, over = named(session.journal, EFFECT), named(session.journal, OUTCOME)
    open_ = [key for key in started if not over.get(key) and _STATE + key not in told]
    starts = [(key, start_of(session.journal, key)) for key in open_]
    return {key: start for key, start in starts if start and not start.repeats}


def unknown(about: str, key: str, *, before: str = "", over: bool = False) -> str:
    """What to do about an effect that may have happened."""
    text = f"{_named(key)}, and its outcome is unknown{before}: {_look(about, key)}"
    if over:
        return text
    return f"{text}, or if it has not happened, with not_done=[{key!r}] (--not-done {quote(key)}): it is called again"


def changed(about: str, key: str) -> str:
    """The same for one that is called with other arguments now, so that it can't be repeated."""
    look = _look(about, key)
    return f"{_named(key)} with other arguments, and its outcome is unknown: {look}, or give it those again"


def _named(key: str) -> str:
    return f"effect {key!r} started"


def _look(about: str, key: str) -> str:
    added = quote(f"{_STATE}{key}=RESULT")
    told = f"changes={{'{_STATE}{key}': RESULT}} (batonpass redrive JOB --add {added})"
    return f"look for {about!r} in the other system, then redrive the job with {told}"

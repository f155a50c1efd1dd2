"""Doubt: which effects of a hop have started, and may or may not have happened. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, cast

from .session import LeaseSession

_PREFIX = "effect/"
# Where the outcome is, among the recorded steps and in a plain function's state.
_STEP, _STATE = "step/effect:", "effect:"


@dataclass(frozen=True, slots=True)
class Started:
    """The record that an effect starts: its idempotency key, its arguments' digest (None: any), and whether it may be
    repeated."""

    about: str
    digest: bytes | None = None
    repeats: bool = False


def noted(key: str, start: Started | None) -> dict[str, Any]:
    """The journal record that an effect starts. None takes it back, since nothing was done."""
    return {_PREFIX + key: list(astuple(start)) if start else None}


def start_of(journal: Mapping[str, Any], key: str) -> Started | None:
    """How an effect started. None if it has not."""
    record = journal.get(_PREFIX + key)
    if isinstance(record, str):  # by an older release: only the key
        return Started(record)
    return Started(*record) if record else None


def in_doubt(session: LeaseSession, *, editable: bool) -> list[str]:
    """What to do about each effect that may have happened, and must not happen again."""
    state = session.checkpoint.state if session.checkpoint else None
    told = cast("dict[str, Any]", state) if isinstance(state, dict) else {}  # a redrive may have told the outcome
    keys = [key.removeprefix(_PREFIX) for key in session.journal if key.startswith(_PREFIX)]
    open_ = [key for key in keys if _STEP + key not in session.journal and _STATE + key not in told]
    starts = [(key, start_of(session.journal, key)) for key in open_]
    return [unknown(start.about, key, editable=editable) for key, start in starts if start and not start.repeats]


def unknown(about: str, key: str, *, editable: bool, before: str = "") -> str:
    """What to do about an effect that may have happened. `editable`: a redrive can tell its result."""
    repeat = f"let it repeat (unsure='repeat'{'' if editable else ', with that as its idempotency key'})"
    return f"effect {key!r} started, and its outcome is unknown{before}: {_look(about, key, editable)}{repeat}"


def changed(about: str, key: str, *, editable: bool) -> str:
    """The same for one that is called with other arguments now, so that it can't be repeated."""
    look = _look(about, key, editable)
    return f"effect {key!r} started with other arguments, and its outcome is unknown: {look}give it those again"


def _look(about: str, key: str, editable: bool) -> str:
    known = f"redrive the job with changes={{'effect:{key}': RESULT}}, or " if editable else ""
    return f"look for {about!r} in the other system, then {known}"

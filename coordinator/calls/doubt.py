"""Doubt: what people found out about effects whose outcome is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from ...contracts.errors import BadSetup
from ..blobs import open_envelope, seal_blob
from ..commands import EFFECT, OUTCOME, STEP, ReadKept
from ..rows import JobRow, KeptJob
from . import Call
from .sources import Source

RESULT = "effect:"
"""What the name of an effect's result begins with, in a state and in an edit."""


def check_started(row: JobRow, source: Source | None, told: Iterable[str]) -> Call[None]:
    """An effect whose outcome is told is never called. So a name that is mistyped would leave out another one, and
    nobody would learn that the right one is still open."""
    kept: KeptJob = yield ReadKept(row.id)
    state: Any = source.checkpoint.state if source is not None else None
    held = set(cast("dict[str, Any]", state)) if isinstance(state, dict) else set[str]()
    for name in told:
        if name not in held and STEP + name not in kept.journal:
            _check(row, kept, name)


def taken_back(row: JobRow, keys: Iterable[str]) -> Call[dict[str, bytes]]:
    """What to record of effects that did not happen, so that they are called again."""
    kept: KeptJob = yield ReadKept(row.id)
    open_envelope(row.envelope, of=f"the envelope of job {row.id}")  # who can't read the job says nothing of it
    for key in keys:
        _check(row, kept, RESULT + key)
        if OUTCOME + key in kept.journal:
            raise BadSetup(f"effect {key!r} of job {row.id} has happened: its result is recorded")
    return {EFFECT + key: seal_blob(None, path=RESULT + key) for key in keys}


def _check(row: JobRow, kept: KeptJob, name: str) -> None:
    started = sorted(RESULT + key.removeprefix(EFFECT) for key in kept.journal if key.startswith(EFFECT))
    if name not in started:
        known = f"it has {', '.join(started)}" if started else "it has started none"
        raise BadSetup(f"hop {row.hop} of job {row.id} has not started {name!r}, so it has no outcome to tell: {known}")

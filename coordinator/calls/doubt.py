"""Doubt: what people found out about effects whose outcome is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from ...contracts.alike import alike
from ...contracts.errors import BadSetup
from ..blobs import open_blob, open_envelope, seal_blob
from ..commands import DOUBT, EFFECT, OUTCOME, STEP, ReadKept
from ..paths import is_inside
from ..rows import JobRow, KeptJob
from . import Call
from .sources import Source

RESULT = "effect:"
"""What the name of an effect's result begins with, in a state and in an edit."""


def outcome_of(name: object) -> str:
    """The record that goes when an edit of this name tells an effect's outcome. "" if it is no effect's."""
    return DOUBT + name.removeprefix(RESULT) if isinstance(name, str) and name.startswith(RESULT) else ""


def told(row: JobRow, source: Source | None, changes: Mapping[str, Any]) -> Call[dict[str, bytes]]:
    """What to record of the outcomes of effects that an edit tells.

    An effect whose outcome is told is never called. So a name that is mistyped would leave out another one, and nobody
    would learn that the right one is still open: it is refused.
    """
    names = [name for name in changes if str(name).startswith(RESULT)]
    if not names:
        return {}
    open_envelope(row.envelope, of=f"the envelope of job {row.id}")  # or its workers would take that to be forged
    kept, state = yield from _kept(row, source)
    records = dict[str, bytes]()
    for name in names:
        if is_inside(name, state) and EFFECT + name.removeprefix(RESULT) not in kept.journal:
            continue
        if name not in state and STEP + name not in kept.journal:
            _check(row, kept, name)
        records[outcome_of(name)] = b""
        if source is None or source.checkpoint.framework != "python":  # else the state has it
            records[STEP + name] = seal_blob([None, changes[name]], path=name)
    return records


def confirmed(row: JobRow, source: Source | None, changes: Mapping[str, Any]) -> Call[dict[str, bytes]]:
    """What to record of a plain function's results that an edit gives as they are: they count whatever the arguments
    are, as those do that it changes."""
    state = _results(source)
    same = [name for name, value in changes.items() if name in state and alike(state[name], value)]
    if not same:
        return {}
    kept: KeptJob = yield ReadKept(row.id)
    return {STEP + name: seal_blob([None, state[name]], path=name) for name in same if STEP + name in kept.journal}


def taken_back(row: JobRow, source: Source | None, keys: Iterable[str]) -> Call[dict[str, bytes]]:
    """What to record of effects that did not happen, so that they are called again."""
    kept, state = yield from _kept(row, source)
    open_envelope(row.envelope, of=f"the envelope of job {row.id}")
    records = dict[str, bytes]()
    for key in keys:
        if RESULT + key in state or _holds(kept, OUTCOME + key):
            raise BadSetup(f"effect {key!r} of job {row.id} has happened: its result is recorded")
        _check(row, kept, RESULT + key)
        records |= {EFFECT + key: seal_blob(None, path=RESULT + key), DOUBT + key: b""}
    return records


def _kept(row: JobRow, source: Source | None) -> Call[tuple[KeptJob, dict[str, Any]]]:
    kept: KeptJob = yield ReadKept(row.id)
    return kept, _results(source)


def _results(source: Source | None) -> dict[str, Any]:
    """What a plain function has recorded, which is its state."""
    state: Any = source.checkpoint.state if source is not None and source.checkpoint.framework == "python" else None
    return cast("dict[str, Any]", state) if isinstance(state, dict) else {}


def _holds(kept: KeptJob, key: str) -> bool:
    """Whether there is a record that was not taken back."""
    return key in kept.journal and open_blob(kept.journal[key], of=f"record {key!r} of job {kept.job.id}") is not None


def _check(row: JobRow, kept: KeptJob, name: str) -> None:
    started = sorted(RESULT + key.removeprefix(EFFECT) for key in kept.journal if key.startswith(EFFECT))
    if name not in started:
        known = f"it has {', '.join(started)}" if started else "it has started none"
        raise BadSetup(f"hop {row.hop} of job {row.id} has not started {name!r}, so it has no outcome to tell: {known}")

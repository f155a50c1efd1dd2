"""Parts: which parts of an agent have recorded a step or an effect, or have found it recorded. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..coordinator.commands import EFFECT, OUTCOME, PART, STEP
from ..coordinator.session import Parts

_EFFECTS = OUTCOME.removeprefix(STEP)  # what an effect's key begins with among the steps'


def with_parts(
    records: Mapping[str, Any], parts: Parts | None, given: str, journal: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Journal records, and for each of a step or an effect one that says whose it is: the part that runs here, or which
    gave its context to the code that runs here, or any of those that run."""
    if parts is None:
        return records
    theirs = [key for key in records if key.startswith((STEP, EFFECT))]
    return {**records, **_marked(theirs, parts, _part(parts, given), journal)}


def found(full: str, parts: Parts | None, given: str, journal: Mapping[str, Any]) -> dict[str, Any]:
    """What to record if a part finds a step or an effect recorded. If it was another one's, it is this one's, too: it
    must find it again if it goes on in a later hop."""
    if parts is None:
        return {}
    part = _part(parts, given)
    keys = [STEP + full, *([EFFECT + full.removeprefix(_EFFECTS)] if full.startswith(_EFFECTS) else [])]
    others = [key for key in keys if key in journal and not part <= _known(key, journal)]
    return _marked(others, parts, part, journal)


def _part(parts: Parts, given: str) -> set[str]:
    return set((parts.here() or given or parts.likely()).split())


def _marked(keys: Iterable[str], parts: Parts, part: set[str], journal: Mapping[str, Any]) -> dict[str, Any]:
    """Records that say whose these are. Those whose they were stay only if they still run: the others have ended."""
    running = set(parts.likely().split())
    return {PART + key: " ".join(sorted(part | (running & _known(key, journal)))) for key in keys}


def _known(key: str, journal: Mapping[str, Any]) -> set[str]:
    known: str = journal.get(PART + key, "")
    return set(known.split())

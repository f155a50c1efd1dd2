"""Parts: which parts of an agent have recorded a step or an effect, or have found it recorded. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from ..coordinator.commands import EFFECT, OUTCOME, STEP
from ..coordinator.marks import PERHAPS, SURE, is_marked, left_to, mark
from ..coordinator.session import Parts

_EFFECTS = OUTCOME.removeprefix(STEP)  # what an effect's key begins with among the steps'


def with_marks(records: Mapping[str, Any], parts: Parts | None, given: str) -> Mapping[str, Any]:
    """Journal records, and marks on those of steps and effects that say whose they are: the part's that runs here, or
    which gave its context to the code that runs here, or any of those that run."""
    if parts is None:
        return records
    return {**records, **_marks([key for key in records if key.startswith((STEP, EFFECT))], _part(parts, given))}


def found(full: str, parts: Parts | None, given: str, journal: Mapping[str, Any]) -> dict[str, Any]:
    """What to record if a part finds a step or an effect recorded. If it was another one's, it is this one's, too: it
    must find it again if it goes on in a later hop."""
    if parts is None:
        return {}
    part = _part(parts, given)
    keys = [key for key in (STEP + full, *_start(full)) if key in journal and not part <= left_to(key, journal)]
    return {name: said for name, said in _marks(keys, part).items() if name not in journal}


def is_anothers(full: str, parts: Parts | None, given: str, journal: Mapping[str, Any]) -> bool:
    """Whether a step or an effect is only there because it is perhaps that of a part which goes on from an earlier
    visit, and it can't be that of the part that runs here."""
    if parts is None or not journal.get(STEP + full):
        return False
    part, keys = _part(parts, given), [key for key in (STEP + full, *_start(full)) if journal.get(key)]
    left = [left_to(key, journal) for key in keys]
    return all(each and part.isdisjoint(each) for each in left) and not any(is_marked(key, journal) for key in keys)


def _start(full: str) -> list[str]:
    """The key of the record that an effect has started, if this is the key of an effect among the steps'."""
    return [EFFECT + full.removeprefix(_EFFECTS)] if full.startswith(_EFFECTS) else []


def _part(parts: Parts, given: str) -> Set[str]:
    return frozenset((parts.here() or given or parts.likely()).split())


def _marks(keys: Iterable[str], part: Set[str]) -> dict[str, str]:
    said = SURE if len(part) == 1 else PERHAPS
    return {mark(each, key): said for key in keys for each in part}

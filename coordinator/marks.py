"""Marks: journal records that say which parts of an agent have recorded a step or an effect, or have found it recorded.

Each part has a mark of its own on each record, which is only ever written whole. So parts that find a record at the
same moment can't undo each other's marks, in whatever order those are written. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from .commands import EFFECT, LEFT, MARK, OUTCOME

# What a mark says: that the record is the part's, or that it is the part's or another's that ran at the same time.
SURE, PERHAPS = "sure", "perhaps"


def mark(part: str, key: str) -> str:
    """The key of a part's mark on a record."""
    return f"{MARK}{part} {key}"


def left_to(key: str, journal: Mapping[str, Any]) -> Set[str]:
    """The parts of which a record perhaps is that an earlier visit has left."""
    parts: str = journal.get(LEFT + key, "")
    return frozenset(parts.split())


def is_marked(key: str, journal: Mapping[str, Any]) -> bool:
    """Whether a part surely or perhaps recorded or found a record in this visit, or surely in an earlier one."""
    return any(name.startswith(MARK) and name.partition(" ")[2] == key for name in [*journal])


def carried(journal: Mapping[str, Any], parts: Set[str]) -> dict[str, Any]:
    """The steps and effects of these parts, and whose they are, for a later visit. If one could be theirs or others',
    it is there, too: to do an effect twice is worse than to find an old one."""
    journal = {**journal}  # threads that were left behind may still add to it
    theirs = [each for each in _marks(journal) if each[0] in parts]
    sure = {key for _, key, said in theirs if said == SURE}
    found: dict[str, Any] = {mark(part, key): said for part, key, said in theirs if key in sure}
    for part, key, _ in theirs:
        if key not in sure:
            found[LEFT + key] = f"{found.get(LEFT + key, '')} {part}".strip()
    keys = dict.fromkeys(key for _, key, _ in theirs)
    # A redrive may have told outcomes of effects, and does not know whose they are.
    told = [OUTCOME + key.removeprefix(EFFECT) for key in keys if key.startswith(EFFECT)]
    return found | {key: journal[key] for key in (*keys, *told) if journal.get(key)}


def _marks(journal: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """All marks: the part, the key of the record, and what is said."""
    for name, said in journal.items():
        if name.startswith(MARK):
            part, _, key = name.removeprefix(MARK).partition(" ")
            yield part, key, said
        elif name.startswith(LEFT):
            for part in said.split():
                yield part, name.removeprefix(LEFT), PERHAPS

"""Identities: which of a crew's tasks is which, also after new code has changed, added or dropped some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import count
from typing import Any

from pydantic_core import to_json

from . import internals

_NAME_LENGTH = 60
_TEXT, _NAME, TITLE = "text", "name", "title"

# By what a task is found once it is not quite the same any more: its text (a digest) and its name. None if another task
# of its crew had the same, which it must not be taken for. Workers of an older release look for its title.
Clues = dict[str, str | None]


class Identities:
    """The identities of a crew's tasks. A task's place is made of its name, its text (description and expected output,
    before the inputs are filled in), the role of its agent, and its number among those which are equal in all of this.

    If they are `managed`, the manager is the agent of all, though CrewAI sets it only as they run.
    """

    def __init__(self, tasks: Iterable[Any] = (), *, managed: bool = False) -> None:
        all_of_them = list({id(task): task for task in tasks}.values())  # a crew may run one twice
        names, texts = [_name(task) for task in all_of_them], [str(task.key) for task in all_of_them]
        roles = ["" if managed or task.agent is None else internals.role_of(task.agent) for task in all_of_them]
        whole = [_digest(each) for each in zip(names, texts, roles, strict=True)]
        ids = list(map(id, all_of_them))
        self.places = dict(zip(ids, _numbered(whole), strict=True))
        self.titles = dict(zip(ids, _titles(names), strict=True))
        every = zip(_unique(texts), _unique(names), self.titles.values(), strict=True)
        clues: Iterable[Clues] = ({_TEXT: text, _NAME: name, TITLE: title} for text, name, title in every)
        self.clues = dict(zip(self.places.values(), clues, strict=True))
        # By what an older release told tasks: places that were made of texts alone, with titles.
        formerly = zip(_numbered(texts), self.titles.values(), strict=True)
        self._formerly: dict[tuple[str, str | None], str] = dict(zip(formerly, self.places.values(), strict=True))

    def present(self, saved: Mapping[str, Clues]) -> dict[str, str]:
        """Where tasks are now, by the places at which an earlier delivery saved something, with their clues. Without
        those that are gone. What has the same text is the same task, rather than what has the same name."""
        found = {place: place for place in saved if place in self.clues}
        older = {place: (place, of.get(TITLE)) for place, of in saved.items()}
        found |= {place: self._formerly[known] for place, known in older.items() if known in self._formerly}
        for clue in (_TEXT, _NAME):
            by_text = set(found.values()) - found.keys()
            now = {clues[clue]: place for place, clues in self.clues.items() if clues[clue] and place not in by_text}
            left = {place: _clues(place, saved)[clue] for place in saved if place not in found}
            found |= {place: now[value] for place, value in left.items() if value in now}
        return found


def _name(task: Any) -> str:
    return task.name or internals.text_of(task).strip().partition("\n")[0][:_NAME_LENGTH] or "task"


def _clues(place: str, saved: Mapping[str, Clues]) -> Clues:
    """Clues that were saved. An older release had only the title, and a digest of the text in the place."""
    if _TEXT in saved[place]:
        return saved[place]
    text = place.partition("#")[0]
    alone = [other for other in saved if other.partition("#")[0] == text] == [place]
    return {_TEXT: text if alone else None, _NAME: saved[place][TITLE]}


def _digest(values: Any) -> str:
    return blake2b(to_json(values), digest_size=16).hexdigest()


def _numbered(digests: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    places: list[str] = []
    for digest in digests:
        places.append(f"{digest}#{seen[digest]}")
        seen[digest] += 1
    return places


def _titles(names: list[str]) -> list[str]:
    """The names, with numbers at those that an earlier task has. No two titles are the same."""
    numbers: dict[str, Iterator[int]] = {}
    titles: list[str] = []
    taken = set(names)
    for name in names:
        title = name
        if name in numbers:
            title = next(new for new in (f"{name} ({number})" for number in numbers[name]) if new not in taken)
        else:
            numbers[name] = count(2)
        taken.add(title)
        titles.append(title)
    return titles


def _unique(values: list[str]) -> list[str | None]:
    seen = Counter(values)
    return [value if seen[value] == 1 else None for value in values]

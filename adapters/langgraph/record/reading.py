"""Reading: decodes states that share a beginning, each element of it once."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from ....contracts.checkpoint import Checkpoint as Stored
from ....coordinator.parts.body import LIST, value_of
from ....coordinator.parts.stored import STATE, StoredPart
from ....coordinator.snapshots import Opened
from ..serde.copying import ListTemplate, NoCopy


@dataclass(slots=True)
class _Decoded:
    body: bytes
    count: int
    elements: ListTemplate


class Reading:
    """Makes the states of several checkpoints of a thread, before any of them is handed out. A list that is the
    beginning of another list is copied from it, element by element, so that no two states share an object."""

    def __init__(self) -> None:
        self._lists: dict[Any, _Decoded] = {}

    @contextmanager
    def undisturbed(self) -> Generator[None]:
        """A block without garbage collection. It makes tens of thousands of objects, none of them garbage, and looking
        for garbage among them takes longer than making them."""
        paused = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if paused:
                gc.enable()

    def stored(self, opened: Opened) -> Stored:
        """The same as `Opened.checkpoint`."""
        lists = [part for part in opened.parts if _is_list(part)]
        stored = replace(opened, parts=[part for part in opened.parts if not _is_list(part)]).checkpoint
        for part in lists:
            stored.state[part.path[0]] = self._list(part)
        return stored

    def _list(self, stored: StoredPart) -> list[Any]:
        part = stored.part
        assert part is not None
        body, known = part.body, self._lists.get(stored.path)
        if known is not None and part.count <= known.count and known.body.startswith(body):
            with suppress(NoCopy):
                return known.elements.first(part.count)
        made = cast("list[Any]", value_of(part.kind, part.count, body))
        self._lists[stored.path] = _Decoded(body, part.count, ListTemplate(made))
        return made


def _is_list(stored: StoredPart) -> bool:
    """Whether it is a channel's list, and not damaged."""
    part = stored.part
    return part is not None and part.kind == LIST and stored.root == STATE and len(stored.path) == 1

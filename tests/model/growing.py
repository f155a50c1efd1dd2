"""States that grow, so that checkpoints share what others keep, and those that were saved are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator.commands import NewCheckpoint
from batonpass.coordinator.parts.nodes import Base
from batonpass.coordinator.parts.writer import Sharing
from batonpass.coordinator.rows import Place
from batonpass.coordinator.snapshots import draft

# A state of this many texts is large enough to be shared from its first checkpoint on. Most texts are so short that a
# fork which adds one needs no log.
_TEXT, _SHORT, _FIRST, _MOST = 120, 40, 28, 38
HOW = list(Sharing)


def text(number: float) -> str:
    """A text that nothing else holds."""
    return f"{number:09.2f} " * (_SHORT if round(number * 100) % 3 else _TEXT)


class Growing:
    """Drafts by their checkpoint's id."""

    def __init__(self) -> None:
        self._said: dict[str, list[str]] = {}
        self._nodes: dict[str, Base] = {}

    @property
    def ids(self) -> Sequence[str]:
        """Checkpoints that another one may share with."""
        return list(self._nodes)

    def state(self, checkpoint_id: str) -> Any:
        """What a checkpoint holds."""
        return {"said": self._said[checkpoint_id]}

    def draft(
        self,
        number: int,
        base: str,
        sharing: Sharing,
        *,
        thread: str,
        checkpoint_id: str = "",
        ttl: int = 0,
        place: Place | None = None,
    ) -> NewCheckpoint:
        """What `base` holds, with more added, without its beginning, or with another end."""
        before = self._said.get(base) or [text(number + at / 100) for at in range(_FIRST)]
        grown = [*before, text(number)]
        changed = [[*before[:-1], text(number)], [*before[1:], text(number)], [*before[:9], *before[10:]]]
        said = changed[number % 3] if number % 4 == 0 or len(before) >= _MOST else grown
        made = draft(
            Snapshot(step="step", state={"said": said}),
            thread=thread,
            agent="write",
            ttl=ttl,
            base=self._nodes.get(base),
            sharing=sharing,
            checkpoint_id=checkpoint_id,
            place=place,
        )
        self._said[made.new.id] = said
        self._nodes[made.new.id] = made.nodes
        return made.new

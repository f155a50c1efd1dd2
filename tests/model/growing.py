"""States that grow, so that checkpoints share what others keep, and those that were saved are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator.commands import NewCheckpoint
from batonpass.coordinator.parts.nodes import Base
from batonpass.coordinator.parts.share import Sharing
from batonpass.coordinator.snapshots import draft

# Large enough to be kept apart from its neighbours.
_TEXT = 120
HOW = list(Sharing)


def text(number: int) -> str:
    """A text that nothing else holds."""
    return f"{number:06} " * _TEXT


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
        self, number: int, base: str, sharing: Sharing, *, thread: str, checkpoint_id: str = "", ttl: int = 0
    ) -> NewCheckpoint:
        """What `base` holds and more, or without what was first, or with another end."""
        said = self._said.get(base, [])
        grown = [*said, text(number)]
        changed = [[*said[:-1], text(number)], said[1:] + [text(number)]]
        said = changed[number % 2] if number % 5 == 0 or len(said) > 8 else grown
        made = draft(
            Snapshot(step="step", state={"said": said}),
            thread=thread,
            agent="write",
            ttl=ttl,
            base=self._nodes.get(base),
            sharing=sharing,
            checkpoint_id=checkpoint_id,
        )
        self._said[made.new.id] = said
        self._nodes[made.new.id] = made.nodes
        return made.new

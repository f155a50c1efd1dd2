"""Editing: whether a framework can go on from a state that a person has changed."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from ..contracts.checkpoint import Checkpoint
from .transcripts import GROUP


class Editable(Protocol):
    """What an adapter may have beside `run`: static, and without importing its framework."""

    @staticmethod
    def check_edit(source: Checkpoint, state: Any) -> None:
        """Refuse, by `BadSetup`, a state that can't take the place of the checkpoint's."""
        ...


def check_edit(source: Checkpoint, state: Any) -> None:
    """Have the checkpoint's framework look at the state, if it does that."""
    for point in entry_points(group=GROUP, name=source.framework):
        found: Any = point.load()
        if hasattr(found, "check_edit"):
            cast("Editable", found).check_edit(source, state)

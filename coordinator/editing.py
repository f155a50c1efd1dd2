"""Editing: whether a framework can go on from a state that a person has changed."""

from __future__ import annotations

from typing import Any, Protocol, cast

from ..contracts.checkpoint import Checkpoint
from .frameworks import adapter_of


class Editable(Protocol):
    """What an adapter may have beside `run`: static, and without importing its framework."""

    @staticmethod
    def check_edit(source: Checkpoint, state: Any) -> None:
        """Refuse, by `BadSetup`, a state that can't take the place of the checkpoint's."""
        ...


def check_edit(source: Checkpoint, state: Any) -> None:
    """Have the checkpoint's framework look at the state, if it does that."""
    found = adapter_of(source.framework)
    if hasattr(found, "check_edit"):
        cast("Editable", found).check_edit(source, state)

"""Editing: whether a framework can go on with what a person has changed."""

from __future__ import annotations

from typing import Any, Protocol, cast

from ..contracts.checkpoint import Checkpoint
from ..contracts.errors import BadSetup
from .frameworks import adapter_of


class Editable(Protocol):
    """What an adapter may have beside `run`: static, and without importing its framework."""

    @staticmethod
    def check_edit(source: Checkpoint, state: Any) -> None:
        """Refuse, by `BadSetup`, a state that can't take the place of the checkpoint's."""
        ...

    @staticmethod
    def holds_payload(source: Checkpoint) -> bool:
        """Whether who goes on from the checkpoint has the payload in its state, and never looks at it again."""
        ...


def check_edit(source: Checkpoint, state: Any) -> None:
    """Have the checkpoint's framework look at the state, if it does that."""
    found = adapter_of(source.framework)
    if hasattr(found, "check_edit"):
        cast("Editable", found).check_edit(source, state)


def check_payload(source: Checkpoint) -> None:
    """Refuse another payload that would change nothing."""
    found = adapter_of(source.framework)
    if hasattr(found, "holds_payload") and cast("Editable", found).holds_payload(source):
        raise BadSetup(
            f"agent {source.agent!r} has already started and keeps its payload in its state, so another payload "
            f"would change nothing: change the state (changes=, --set), or make a new job that continues from there: "
            f"batonpass fork {source.id} --agent {source.agent} --payload ..."
        )

"""Edits: what a person's changes of a job's state leave in its checkpoint, for the run that goes on from it. Needs no
LangGraph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...contracts.alike import alike
from ...contracts.checkpoint import Checkpoint
from ...contracts.errors import BadSetup
from ..dialects import dict_of


def native_after(source: Checkpoint, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The frame of the edited checkpoint: with the values as they were before (a list of one, or of none).

    What runs next was decided with those, and tasks that were sent have their arguments from them. Only the graph can
    decide it anew, so that is left to the run. Earlier edits that no run has seen yet count as part of this one.
    """
    native, held = dict_of(source.native), dict_of(source.state)
    for name, value in changes.items():
        _check(native, held, name, value)
    before = {name: [held[name]] if name in held else [] for name in changes}
    return {**native, "before": {**before, **dict_of(native.get("before"))}}


def _check(native: Mapping[str, Any], held: Mapping[str, Any], name: str, value: Any) -> None:
    """Refuse a change that the graph would never see."""
    if "__start__" in native.get("kept", ()):
        raise BadSetup(
            "nothing has run yet of what the payload begins, and it would overwrite the change: submit another payload "
            "as a new job"
        )
    if name not in held and (
        str(name).startswith("__") or name not in native.get("empty", (name,))
    ):  # older ones don't say
        known = ", ".join(sorted({*held, *native["empty"]}))
        raise BadSetup(f"there is no {name!r}: the graph's state has only {known}")
    if name in native.get("kept", ()) and not (name in held and alike(held[name], value)):
        raise BadSetup(
            f"state[{name!r}] is an object that its checkpoint only shows, so a change of it would be lost: keep plain "
            "values in the graph's state to edit them, or make a new job with another payload (fork it to its agent)"
        )

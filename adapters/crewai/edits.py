"""Edits: what a person's changes of a crew's state mean for the run that goes on from it. Needs no CrewAI."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from ...contracts.alike import alike
from ...contracts.checkpoint import Checkpoint
from ...contracts.errors import BadSetup
from ..dialects import dict_of

# What a task's output is besides its text, if the task has a class for it.
_TYPED = ("pydantic", "json")


def of_finished_tasks(source: Checkpoint) -> str:
    """Why a crew in the middle takes no other payload: its next tasks would put it beside outputs of the first one."""
    titles = _finished(source)
    named = ", ".join(map(repr, titles))
    return (
        f"has finished {'tasks' if len(titles) > 1 else 'task'} {named} with the payload that it has, and would mix "
        "another one with that: change an output instead (changes=, --set "
        f"'{place_of(titles[0] if titles else 'TITLE')}.raw=\"...\"'), or submit a new job with the other payload"
    )


def _finished(source: Checkpoint) -> list[str]:
    """The titles of the tasks whose outputs the run that goes on needs. An older release let an edit drop some."""
    return [str(dict_of(saved).get("task")) for saved in dict_of(dict_of(source.native).get("outputs")).values()]


def place_of(title: str) -> str:
    """Where a task's output is in a crew's state, as `--set` takes it."""
    return f"tasks.{title}" if title.isidentifier() else f"tasks[{json.dumps(title, ensure_ascii=False)}]"


def taken(source: Checkpoint, values: Any) -> Any:
    """Edited values of a crew's state. Where a task's output has a class, the run that goes on makes its object of the
    text, so that the two agree: None in its place says so. `BadSetup` for outputs that can't be."""
    if "tasks" not in dict_of(values):
        return values
    before, after = (dict_of(dict_of(state).get("tasks")) for state in (source.state, values))
    titles = _finished(source)
    if after.keys() != set(titles):  # the run would look for what is missing, and never at what is new
        wrong = ", ".join(map(repr, sorted(after.keys() ^ set(titles))))
        raise BadSetup(
            f"a crew goes on with the outputs of just the tasks that it has finished ({', '.join(map(repr, titles))}), "
            f"and with this edit {wrong} would be missing there, or be one too many: change an output in its place"
        )
    if not after:
        return values
    return {**values, "tasks": {title: _output(title, before.get(title), new) for title, new in after.items()}}


def _output(title: str, before: Any, new: Any) -> Any:
    if before is None or alike(before, new):
        return new
    output, old = dict_of(new), dict_of(before)
    if not isinstance(output.get("raw"), str):
        raise BadSetup(
            f"{place_of(title)} is a task's output, so it needs its text: --set '{place_of(title)}.raw=\"...\"'"
        )
    for kind in _TYPED:
        if kind in old:
            return {**output, **_agreeing(title, kind, old, output)}
    return output


def _agreeing(title: str, kind: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """An edited output's text and object, of which one may be edited alone. The other one follows."""
    place, held = place_of(title), new.get(kind)
    if alike(new["raw"], old["raw"]):
        edited = held is not None and not alike(held, old[kind])
        return {"raw": json.dumps(held, ensure_ascii=False), kind: None} if edited else {kind: old[kind]}
    try:
        said = from_json(new["raw"])
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise BadSetup(
            f"the output of task {title!r} has a class, so {place}.raw must be JSON of it, such as the one that "
            f"{place}.{kind} shows"
        )
    if held is not None and not alike(held, old[kind]) and not alike(held, said):
        raise BadSetup(f"{place}.raw and {place}.{kind} say different things: give one of them, the other one follows")
    return {kind: None}

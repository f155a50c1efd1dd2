"""Outputs: a task's output as plain values, split into the part that the user sees and the rest."""

from __future__ import annotations

from typing import Any

from crewai import Task, TaskOutput

from ....contracts.errors import Unserializable
from ..values.values import plain, revive

_LOGICAL = {"raw", "pydantic", "json_dict"}
_DERIVED = {"summary"}


def dump_output(task: Task, output: TaskOutput, title: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """`{"raw": text}` (with "pydantic" or "json" if the task has such an output), and CrewAI's own fields."""
    state: dict[str, Any] = {"raw": output.raw}
    if output.json_dict is not None:
        state["json"] = output.json_dict
    if output.pydantic is not None:
        state["pydantic"] = plain(output.pydantic)
        if task.output_pydantic is None or revive(task.output_pydantic, state["pydantic"]) != output.pydantic:
            raise Unserializable(
                f"output of task {title!r} is a {type(output.pydantic).__qualname__} that can't be restored: declare "
                "the class as the task's output_pydantic, with fields that come back equal from JSON",
                path=f"state['tasks'][{title!r}]",
            )
    return state, output.model_dump(mode="json", exclude=_LOGICAL | _DERIVED)


def load_output(task: Task, state: dict[str, Any], native: dict[str, Any]) -> TaskOutput:
    """The output that `dump_output` took apart."""
    typed = state.get("pydantic")
    own = {name: value for name, value in native.items() if name in TaskOutput.model_fields}
    return TaskOutput(
        **own,
        raw=state["raw"],
        json_dict=state.get("json"),
        pydantic=None if typed is None or task.output_pydantic is None else revive(task.output_pydantic, typed),
    )

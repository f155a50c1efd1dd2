"""Outputs: a task's output as plain values, split into the part that the user sees and the rest."""

from __future__ import annotations

import copy
from typing import Any

from crewai import Task, TaskOutput
from pydantic import BaseModel, ValidationError

from ....contracts.codec import pack
from ....contracts.errors import BadSetup, Unserializable
from ....contracts.unfit import unfit
from ..edits import place_of
from ..values.contract_versions import Present, marks
from ..values.values import plain, revive

_LOGICAL = {"raw", "pydantic", "json_dict"}
_DERIVED = {"summary"}
_CONTRACTS = "contracts"

# A part for the state, and CrewAI's own fields.
Dumped = tuple[dict[str, Any], dict[str, Any]]


def dump_output(task: Task, output: TaskOutput, title: str) -> Dumped:
    """`{"raw": text}` (with "pydantic" or "json" if the task has such an output), and CrewAI's own fields."""
    own = output.model_dump(mode="json", exclude=_LOGICAL | _DERIVED, warnings=False)
    state: dict[str, Any] = {"raw": _back(own, output, title).raw}
    if output.json_dict is not None:
        state["json"] = copy.deepcopy(output.json_dict)
    if output.pydantic is not None:
        state["pydantic"] = plain(output.pydantic)
        if task.output_pydantic is None or revive(task.output_pydantic, state["pydantic"]) != output.pydantic:
            raise Unserializable(
                f"output of task {title!r} is a {type(output.pydantic).__qualname__} that can't be restored: declare "
                "the class as the task's output_pydantic, with fields that come back equal from JSON",
                path=f"state['tasks'][{title!r}]",
            )
    return state, own | ({_CONTRACTS: found} if (found := marks(output.pydantic)) else {})


def _back(own: dict[str, Any], output: TaskOutput, title: str) -> TaskOutput:
    """An output as it would come back, whose text is no subclass of `str`. `Unserializable` if it could not, because a
    guardrail or callback has put something into it that CrewAI only then refuses."""
    fields: dict[str, Any] = {**own, "messages": output.messages, "raw": output.raw, "json_dict": output.json_dict}
    wrong = "raw: Input should be a text"
    try:
        back = TaskOutput(**fields)
    except ValidationError as error:
        wrong = "; ".join(unfit(error))
    else:
        if back.raw == output.raw:
            return back
    raise Unserializable(
        f"output of task {title!r} can't be saved as it is now ({wrong}): a guardrail or callback has put that there. "
        "Have it put a text into raw, and a dict into json_dict",
        path=f"state['tasks'][{title!r}]",
    )


def load_output(task: Task, state: dict[str, Any], native: dict[str, Any], present: Present) -> TaskOutput:
    """The output that `dump_output` took apart, or that a person has edited since."""
    own = {name: value for name, value in native.items() if name in TaskOutput.model_fields}
    title = native["task"]
    typed, plainly = state.get("pydantic"), state.get("json")
    if task.output_pydantic is not None and "pydantic" in state:
        kind = task.output_pydantic
        where = native.get(_CONTRACTS, ())
        typed = _of_text(kind, state["raw"], title) if typed is None else revive(kind, present(typed, where))
    if task.output_json is not None and plainly is None and "json" in state:
        plainly = _of_text(task.output_json, state["raw"], title).model_dump()
    return TaskOutput(
        **own, raw=state["raw"], json_dict=plainly, pydantic=None if task.output_pydantic is None else typed
    )


def is_savable(task: Task, output: TaskOutput, title: str) -> bool:
    """Whether an output that callbacks may have changed could come back."""
    try:
        pack(dump_output(task, output, title))
    except (Unserializable, ValueError, TypeError, AttributeError):  # pydantic's own errors are ValueErrors
        return False
    return True


def _of_text(kind: type[BaseModel], raw: str, title: str) -> BaseModel:
    """The object of an output whose text a person has edited (see `edits.taken`)."""
    try:
        return kind.model_validate_json(raw, by_alias=True, by_name=True)
    except ValidationError as error:
        raise BadSetup(
            f"the edited output of task {title!r} is no {kind.__qualname__} ({'; '.join(unfit(error))}): redrive the "
            f"job with --set '{place_of(title)}.raw=\"...\"'"
        ) from None

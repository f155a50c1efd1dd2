"""The private parts of CrewAI that we touch: all of them are here, each with its reason.

Checked with crewai 1.15.3 and 1.15.30. What is public (hooks, providers, fields) is used where it is needed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

_TAKEN = "_taken_by_batonpass"

Execute = Callable[..., Awaitable[tuple[Any, str | None]]]

# What runs a task (sync, and for `akickoff`): shadowed on a finished task, so that the crew goes through its tasks
# as ever, async and conditional ones included, and gets the saved output.
_TASK_CORES = ("_execute_core", "_aexecute_core")

# What runs a flow's method, around which the journal is written and replayed.
_METHOD_CORE = "_execute_method"

# Who is asked for feedback on a method's result. The public ways are fixed in the class or shared by all flows.
_FEEDBACK_PROVIDER = "_resolve_feedback_provider"


def finish(task: Any, output: Any) -> None:
    """Make a task give `output` instead of running."""

    def core(*_: Any, **__: Any) -> Any:
        task.output = output
        return output

    async def acore(*_: Any, **__: Any) -> Any:
        return core()

    for name, function in zip(_TASK_CORES, (core, acore), strict=True):
        object.__setattr__(task, name, function)


def unfinish(task: Any) -> None:
    """Undo `finish`: the factory may give the same crew to the next job."""
    for name in _TASK_CORES:
        task.__dict__.pop(name, None)


def take(made: Any) -> bool:
    """Mark a crew or flow as used by a job; False if it is."""
    if _TAKEN in made.__dict__:
        return False
    object.__setattr__(made, _TAKEN, True)
    return True


def release(made: Any) -> None:
    """Undo `take`."""
    made.__dict__.pop(_TAKEN, None)


def text_of(task: Any) -> str:
    """A task's description before the inputs were filled in. The public one is another job's, if the crew had one."""
    return str(task._original_description or task.description)


class _NoLog:
    def reset(self) -> None: ...
    def update(self, task_index: int, log: dict[str, Any]) -> None: ...


def drop_output_log(crew: Any) -> None:
    """Keep no "latest run" for `Crew.replay`: that file is shared by all processes of a directory, and our
    checkpoints replace it."""
    crew._task_output_handler = _NoLog()


def override(flow: Any, execute: Callable[[Execute], Execute], provider: Callable[[Any], Callable[..., Any]]) -> None:
    """Put our functions around the flow's own ones that run a method and that choose who gives feedback."""
    object.__setattr__(flow, _METHOD_CORE, execute(getattr(flow, _METHOD_CORE)))
    object.__setattr__(flow, _FEEDBACK_PROVIDER, provider(getattr(flow, _FEEDBACK_PROVIDER)))


def restore(flow: Any) -> None:
    """Undo `override`."""
    for name in (_METHOD_CORE, _FEEDBACK_PROVIDER):
        flow.__dict__.pop(name, None)


def set_state(flow: Any, state: Any) -> None:
    """Replace the state; `flow.state` can only be read."""
    flow._state = state


def note_finished(flow: Any, method: str, output: Any, feedback: Any) -> None:
    """Do the books for a method that finished in an earlier process, as `_execute_method` does after a run: listeners,
    loops and the flow's result depend on them."""
    entry = {"method": method, "output": output}
    if feedback is not None:
        entry["human_feedback"] = feedback
    flow._method_outputs.append(entry)
    flow._method_execution_counts[method] = flow._method_execution_counts.get(method, 0) + 1
    flow._completed_methods.add(method)

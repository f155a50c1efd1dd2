"""Internals: the private parts of CrewAI that we use, each with its reason (those of its event bus: forks.py). Checked
with crewai 1.15.6 and 1.15.30. Public parts (hooks, providers, fields) are used where they are needed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial, wraps
from typing import Any

from crewai import BaseLLM, Flow, Memory, tools
from crewai.events import event_context
from crewai.events.event_context import EventContextConfig, MismatchBehavior
from crewai.memory.storage import factory
from crewai.utilities.agent_utils import extract_tool_call_info
from pydantic_core import to_jsonable_python

from ...contracts.errors import Unserializable

_TAKEN = "_taken_by_batonpass"
_WATCHED = "_watched_by_batonpass"

Execute = Callable[..., Awaitable[tuple[Any, str | None]]]

# These run a task (sync, and for `akickoff`). On a finished task we replace them, so that the crew goes through all its
# tasks as usual, async and conditional ones included, and gets the saved output.
_TASK_CORES = ("_execute_core", "_aexecute_core")

# This runs a flow's method. Around it we write and replay the journal.
_METHOD_CORE = "_execute_method"

# These choose who gives feedback on a method's result, and who answers `ask()`. The public ways are fixed in the class,
# or shared by all flows.
_FEEDBACK_PROVIDER, _INPUT_PROVIDER = "_resolve_feedback_provider", "_resolve_input_provider"

# The checks of a task's output that may send its agent back, from `guardrail=` and from `guardrails=`.
_GUARDRAIL, _GUARDRAILS = "_guardrail", "_guardrails"

# These call a model, and count its tokens. There is no public way to set the counters.
_MODEL_CALLS = ("call", "acall")
_COUNT, _COUNTERS = "_track_token_usage_internal", "_token_usage"

# A model's client calls this with each part of an answer that it streams.
_CHUNK = "_emit_stream_chunk_event"

# What a tool runs: `BaseTool.run` calls `_run`, a tool made from a function calls `func`.
_TOOL_RUNS = ("_run", "_arun")
_ORIGINAL = "_original_tool"

# What a tool may return to say that it failed. CrewAI 1.15.6 did not have it.
_FAILURE: Any = getattr(tools, "ToolFailure", None)

# Says how the event bus warns if an end event does not match the last start event.
_EVENT_CONFIG = "_event_context_config"

# What a memory writes texts by, all in one thread, and what gives that thread its work.
_ENCODE, _SUBMIT = "_encode_batch", "_submit_save"

# The factory that makes the storage of memories. It can be set in public, but not read.
_STORAGE_FACTORY = "_factory"


def finish(task: Any, output: Any, reached: Callable[[Any], None]) -> None:
    """Make a task return `output` instead of running. `reached` is called with the agent that would have run it."""

    def core(agent: Any = None, *_: Any, **__: Any) -> Any:
        reached(agent or task.agent)
        task.output = output
        return output

    async def acore(agent: Any = None, *_: Any, **__: Any) -> Any:
        return core(agent)

    for name, function in zip(_TASK_CORES, (core, acore), strict=True):
        shadow(task, name, function)


def surround(task: Any, around: Callable[[], AbstractContextManager[None]]) -> None:
    """Run a task, and everything that follows it (its callbacks, its file), in such a block."""
    run, arun = (getattr(task, name) for name in _TASK_CORES)

    def core(*args: Any, **options: Any) -> Any:
        with around():
            return run(*args, **options)

    async def acore(*args: Any, **options: Any) -> Any:
        with around():
            return await arun(*args, **options)

    for name, function in zip(_TASK_CORES, (core, acore), strict=True):
        shadow(task, name, function)


def has_afters(task: Any, crew: Any) -> bool:
    """Whether the user has something follow a task: callbacks, a file."""
    return bool(task.callback or crew.task_callback or task.output_file)


def run_afters(task: Any, crew: Any, output: Any) -> None:
    """Do what `_execute_core` does once a task's output is there."""
    for callback in dict.fromkeys((task.callback, crew.task_callback)):
        result = callback(output) if callback else None
        if inspect.iscoroutine(result):
            asyncio.run(result)
    if task.output_file:
        task._save_file(output.json_dict or (output.pydantic.model_dump_json() if output.pydantic else output.raw))


def unfinish(task: Any) -> None:
    """Undo `finish` and `surround`: the factory may return the same crew for the next job."""
    for name in _TASK_CORES:
        task.__dict__.pop(name, None)


def take(made: Any) -> bool:
    """Mark a crew or flow as used by a job. False if it already was."""
    if _TAKEN in made.__dict__:
        return False
    object.__setattr__(made, _TAKEN, True)
    return True


def release(made: Any) -> None:
    """Undo `take`."""
    made.__dict__.pop(_TAKEN, None)


def text_of(task: Any) -> str:
    """A task's description before inputs were filled in. After a run of the crew, the public one has that run's."""
    return str(task._original_description or task.description)


def role_of(agent: Any) -> str:
    """An agent's role before inputs were filled in."""
    return str(agent._original_role or agent.role)


class _NoLog:
    def reset(self) -> None: ...
    def update(self, task_index: int, log: dict[str, Any]) -> None: ...


def drop_output_log(crew: Any) -> None:
    """Keep no "latest run" for `Crew.replay`. All processes of a directory share that file, and our checkpoints replace
    it."""
    crew._task_output_handler = _NoLog()


def caches(crew: Any) -> list[dict[str, Any]]:
    """What CrewAI's caches of tools' results hold: the crew's own, and those that agents have for themselves."""
    agents = [*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)]
    handlers = [crew._cache_handler, *(agent.cache_handler for agent in agents if agent.cache_handler is not None)]
    return list({id(handler): handler._cache for handler in handlers}.values())


def override(flow: Any, execute: Callable[[Execute], Execute], provider: Callable[[Any], Callable[..., Any]]) -> None:
    """Wrap the flow's functions that run a method and that choose who gives feedback."""
    shadow(flow, _METHOD_CORE, execute(getattr(flow, _METHOD_CORE)))
    shadow(flow, _FEEDBACK_PROVIDER, provider(getattr(flow, _FEEDBACK_PROVIDER)))


def restore(flow: Any) -> None:
    """Undo `override`."""
    for name in (_METHOD_CORE, _FEEDBACK_PROVIDER):
        flow.__dict__.pop(name, None)


def watch_providers(feedback: Callable[[Any], Any], asked: Callable[[Any], Any]) -> None:
    """Replace every flow's providers, of feedback and of what `ask()` returns, by what these return for them. Once for
    each process: there is no other way for flows that a job's own flow makes and runs."""
    if _WATCHED in vars(Flow):
        return
    setattr(Flow, _WATCHED, True)
    for name, instead in ((_FEEDBACK_PROVIDER, feedback), (_INPUT_PROVIDER, asked)):
        setattr(Flow, name, _chosen(getattr(Flow, name), instead))


def _chosen(resolve: Callable[..., Any], instead: Callable[[Any], Any]) -> Any:
    def chosen(flow: Any, *given: Any) -> Any:
        return instead(resolve(flow, *given))

    return chosen


def storage_factory() -> Callable[[str], Any] | None:
    """The factory that makes the storage of memories, if one was set."""
    chosen: Callable[[str], Any] | None = getattr(factory, _STORAGE_FACTORY)
    return chosen


def watch_memories(encode: Callable[[Any], Any], submit: Callable[[Any], Any]) -> None:
    """Put our functions around those by which every memory writes, once for each process."""
    if _WATCHED in vars(Memory):
        return
    setattr(Memory, _WATCHED, True)
    for name, around in ((_ENCODE, encode), (_SUBMIT, submit)):
        setattr(Memory, name, around(getattr(Memory, name)))


def attributes_of(flow: Any) -> dict[str, Any]:
    """The attributes that the user's code has set on a flow, without CrewAI's own fields."""
    own: dict[str, Any] = flow.__class__.model_fields
    return {name: value for name, value in flow.__dict__.items() if name not in own and not name.startswith("_")}


def methods_of(flow: Any) -> set[str]:
    """The names of a flow's methods, without its other functions."""
    return set(map(str, flow._methods))


def set_state(flow: Any, state: Any) -> None:
    """Replace the state. `flow.state` is read-only."""
    flow._state = state


def note_finished(flow: Any, method: str, output: Any, feedback: Any) -> None:
    """Note that a method finished in an earlier process, as `_execute_method` does after a run. Listeners, loops and
    the flow's result depend on these notes."""
    entry = {"method": method, "output": output}
    if feedback is not None:
        entry["human_feedback"] = feedback
    flow._method_outputs.append(entry)
    flow._method_execution_counts[method] = flow._method_execution_counts.get(method, 0) + 1
    flow._completed_methods.add(method)


def shadow(owner: Any, name: str, function: Any) -> None:
    """Set a function on an object in place of its class's function, even if pydantic would refuse that."""
    object.__setattr__(owner, name, function)


def watch_models(before: Callable[[Any], None]) -> None:
    """Call `before` with each model before it is called. Once in each process.

    If code calls a model itself (`llm.call(...)` in a flow), CrewAI runs its hooks inside that call, which is too late
    to answer it. A provider's class may be imported in the middle of a run, so classes made later are watched, too.
    """
    if _WATCHED in vars(BaseLLM):
        return
    setattr(BaseLLM, _WATCHED, True)
    made = vars(BaseLLM).get("__init_subclass__")

    def begin(kind: Any, /, **options: Any) -> None:
        made.__func__(kind, **options) if made else super(BaseLLM, kind).__init_subclass__(**options)
        _watch(kind, before)

    BaseLLM.__init_subclass__ = classmethod(begin)  # type: ignore[assignment]
    kinds: list[Any] = [BaseLLM]
    for kind in kinds:
        _watch(kind, before)
        kinds += (each for each in kind.__subclasses__() if each not in kinds)


def _watch(kind: Any, before: Callable[[Any], None]) -> None:
    for name in _MODEL_CALLS:
        if name in vars(kind):
            setattr(kind, name, _watched(vars(kind)[name], name, before))


def _watched(method: Any, name: str, before: Callable[[Any], None]) -> Any:
    def chosen(model: Any) -> Any:
        before(model)
        return getattr(model, name) if is_adopted(model) else partial(method, model)

    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def acall(model: Any, *args: Any, **options: Any) -> Any:
            return await (method(model, *args, **options) if is_adopted(model) else chosen(model)(*args, **options))

        return acall

    @wraps(method)
    def call(model: Any, *args: Any, **options: Any) -> Any:
        return method(model, *args, **options) if is_adopted(model) else chosen(model)(*args, **options)

    return call


def is_adopted(model: Any) -> bool:
    """Whether `adopt_model` was called for it."""
    return _MODEL_CALLS[0] in vars(model)


def adopt_model(model: Any, call: Any, acall: Any, count: Any, chunk: Any) -> None:
    """Set our functions in place of those that call a model, count its tokens, and tell what it streams."""
    for name, function in zip((*_MODEL_CALLS, _COUNT, _CHUNK), (call, acall, count, chunk), strict=True):
        shadow(model, name, function)


def counter_of(model: Any) -> Callable[[Any], None]:
    """The function that a model's client calls with the tokens of each call."""
    count: Callable[[Any], None] = getattr(model, _COUNT)
    return count


def teller_of(model: Any) -> Callable[..., None]:
    """The function that a model's client calls with each part of a streamed answer."""
    tell: Callable[..., None] = getattr(model, _CHUNK)
    return tell


def usage_of(model: Any) -> dict[str, int]:
    """The counters of what a model has used. Copies of it, such as `kickoff_for_each` makes, count in the same ones."""
    counters: dict[str, int] = getattr(model, _COUNTERS)
    return counters


def add_usage(model: Any, usage: dict[str, int]) -> None:
    """Count the tokens of calls that an earlier process made."""
    counters = usage_of(model)
    for name, number in usage.items():
        counters[name] = counters.get(name, 0) + number


@contextmanager
def pairing() -> Generator[Callable[[], None]]:
    """Around a run. Yields a function to call once the run is stopped. An agent that is stopped midway sends no end
    event, and then CrewAI would print for each task and crew around it that its events do not match."""
    setting: ContextVar[EventContextConfig | None] = getattr(event_context, _EVENT_CONFIG)
    config = replace(setting.get() or EventContextConfig())  # shared by all threads of the run

    def stopped() -> None:
        config.mismatch_behavior = config.empty_pop_behavior = MismatchBehavior.SILENT

    token = setting.set(config)
    try:
        yield stopped
    finally:
        setting.reset(token)


def plain_tool_call(call: Any) -> dict[str, Any]:
    """A tool call of any provider's class, as the dict that CrewAI accepts for all providers."""
    info = extract_tool_call_info(call)
    if info is None:
        raise Unserializable(f"a tool call of class {type(call).__name__} is not known", path="answer")
    name, arguments = info[1:]
    return {"id": info[0], "type": "function", "function": {"name": name, "arguments": arguments}}


def original_tool(tool: Any) -> Any:
    """The user's tool behind the one that CrewAI runs. The tool itself if there is none behind it."""
    return getattr(tool, _ORIGINAL, None) or tool


def tool_functions(tool: Any) -> list[tuple[Any, str]]:
    """The objects and attributes with the functions that a tool's calls end in. Each call goes through exactly one."""
    original = original_tool(tool)
    if "func" in original.__class__.model_fields:
        return [(original, "func")]
    return [*((original, name) for name in _TOOL_RUNS), (tool, "func")]


def failure_of(result: Any) -> dict[str, Any] | None:
    """What a tool reports by returning a `ToolFailure`, as plain values. None if it did not. Its details
    may be anything, such as the error that the tool caught."""
    reports = _FAILURE is not None and isinstance(result, _FAILURE)
    return to_jsonable_python(dict(result), fallback=repr, bytes_mode="base64") if reports else None


def failure(stored: Any) -> Any:
    """The `ToolFailure` that `failure_of` took apart."""
    return stored if _FAILURE is None else _FAILURE.model_validate(stored)


def told(tool: Any, result: Any) -> str:
    """A tool's result as its agent is told it."""
    return str(original_tool(tool).format_output_for_agent(result))


def guard(task: Any, check: Callable[[Any], tuple[bool, Any]]) -> Callable[[], None]:
    """Add `check` after a task's own guardrails. Returns a function that undoes this."""
    one, several = getattr(task, _GUARDRAIL), getattr(task, _GUARDRAILS)

    def put(first: Any, more: list[Any]) -> None:
        setattr(task, _GUARDRAIL, first)
        setattr(task, _GUARDRAILS, more)

    put(None, [*([one] if one is not None else several), check])
    return lambda: put(one, several)


def say(context: Any, feedback: str) -> None:
    """Tell a task's agent what a person said about its output, as CrewAI's own provider does."""
    context.messages.append(context._format_feedback_message(feedback))


def improve(context: Any) -> Any:
    """Have the agent try again. Returns its new answer."""
    return context._invoke_loop()


async def aimprove(context: Any) -> Any:
    """`improve` for `akickoff`."""
    return await context._ainvoke_loop()

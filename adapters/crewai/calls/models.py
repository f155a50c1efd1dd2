"""Models: an agent's model, which doesn't answer a question again that it answered before a crash."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any
from uuid import uuid4

from pydantic import BaseModel

from ....contracts.codec import pack
from ....contracts.errors import Unserializable
from .. import internals
from ..values.values import plain, revive
from .costs import Usage
from .steps import Call, Steps, current
from .stop_iteration import without_stop_iteration
from .threads import ain_context, in_context, is_in_job

_log = logging.getLogger("batonpass.crewai")
_adopting = threading.Lock()

# The model of the call that runs in this context, what the call has cost so far, and an id for the answer. (A model's
# `acall` may use its `call`, which must not count as another call.)
_asking: ContextVar[tuple[Any, Usage, str] | None] = ContextVar("batonpass_crewai_asking", default=None)


def adopt_models() -> None:
    """Let the steps of a run answer for the models that it calls. Crews may share a model, so each is changed once."""
    internals.watch_models(_adopt)


def _adopt(model: Any) -> None:
    with _adopting:
        if is_in_job() and not internals.is_adopted(model):
            internals.adopt_model(model, _calling(model), _acalling(model), _counting(model), _telling(model))


def _calling(model: Any) -> Callable[..., Any]:
    ask = without_stop_iteration(model.call, f"{type(model).__name__}.call")

    def call(messages: Any, *args: Any, **options: Any) -> Any:
        steps = _steps(model)
        if steps is None:
            return ask(messages, *args, **options)
        call = steps.begin(*_request(messages, options))
        if call.answer is not None:
            return _answered(steps, call, model, options)
        with _watched(steps, model) as usage:
            answer = ask(messages, *args, **options)
        _record(steps, call, model, answer, options, usage)
        return answer

    return partial(in_context, call)


def _acalling(model: Any) -> Callable[..., Awaitable[Any]]:
    ask = model.acall

    async def acall(messages: Any, *args: Any, **options: Any) -> Any:
        steps = _steps(model)
        if steps is None:
            return await ask(messages, *args, **options)
        call = steps.begin(*_request(messages, options))
        if call.answer is not None:
            return _answered(steps, call, model, options)
        with _watched(steps, model) as usage:
            answer = await ask(messages, *args, **options)
        _record(steps, call, model, answer, options, usage)
        return answer

    async def begin(*args: Any, **options: Any) -> Any:
        return await ain_context(acall, *args, **options)

    return begin


def _counting(model: Any) -> Callable[[Any], None]:
    """CrewAI's own counting of tokens, which also counts for the call that is being made."""
    count = internals.counter_of(model)

    def counted(usage: Any) -> None:
        before = dict(internals.usage_of(model))
        count(usage)
        asking = _asking.get()
        if asking is not None:
            for name, number in internals.usage_of(model).items():
                asking[1][name] = asking[1].get(name, 0) + number - before.get(name, 0)

    return counted


def _telling(model: Any) -> Callable[..., None]:
    """CrewAI's own telling of what a model streams, which also goes to the job's stream."""
    tell = internals.teller_of(model)

    def told(chunk: str, *args: Any, **options: Any) -> None:
        steps = current.get()
        if steps is not None and chunk and options.get("tool_call") is None:
            task = options.get("from_task")
            of_task = {} if task is None else {"task": str(task.name or internals.text_of(task))}
            asking = _asking.get()
            of_answer = {} if asking is None else {"message": asking[2]}
            steps.stream({"agent": _role(options), **of_task, **of_answer, "chunk": chunk})
        tell(chunk, *args, **options)

    return told


def _steps(model: Any) -> Steps | None:
    asking = _asking.get()
    return None if asking is not None and asking[0] is model else current.get()


@contextmanager
def _watched(steps: Steps, model: Any) -> Generator[Usage]:
    usage: Usage = {}
    token = _asking.set((model, usage, str(uuid4())))
    try:
        yield usage
    except Exception as error:
        steps.raised(error)
        raise
    finally:
        _asking.reset(token)


def _request(messages: Any, options: dict[str, Any]) -> list[Any]:
    """What tells a call from others. The prompt of a task is identified by the task, because CrewAI adds the date and
    what a memory recalls. All other prompts count as they are: several may be about one task, side by side (to plan
    it, and for each step of a plan). Ids of tool calls are left out, because CrewAI makes some up."""
    role, task = _role(options), options.get("from_task")
    said = [messages] if isinstance(messages, str) else [_said(message) for message in messages]
    prompt = next((place for place, message in enumerate(said) if message[0] == "user"), None)
    if task is not None and prompt is not None and task.prompt() in str(said[prompt][1]):
        text = [task.description, task.expected_output, task.prompt_context]
        return ["model", role, text, said[prompt + 1 :]]
    form = options.get("response_model")
    return ["model", role, getattr(form, "__name__", None), said]


def _said(message: Any) -> list[Any]:
    calls: list[Any] = message.get("tool_calls") or []
    functions = [call.get("function", call) if issubclass(call.__class__, dict) else call for call in calls]
    return [message.get("role"), message.get("content"), functions]


def _role(options: dict[str, Any]) -> str:
    return str(getattr(options.get("from_agent"), "role", ""))


def _record(steps: Steps, call: Call, model: Any, answer: Any, options: dict[str, Any], usage: Usage) -> None:
    steps.used(call, model, usage)
    steps.spend(usage)
    try:
        stored = _dump(answer, options.get("response_model"))
        pack(stored, path="answer")
    except Unserializable as error:
        _log.warning("a model's answer can't be saved, so it is asked again after a crash: %s", error)
        return
    steps.record(call, stored, usage)


def _dump(answer: Any, form: Any) -> list[Any]:
    if isinstance(answer, BaseModel):
        if type(answer) is not form:
            raise Unserializable(f"{type(answer).__name__} is not the response_model", path="answer")
        return ["model", plain(answer)]
    if issubclass(answer.__class__, list):
        return ["plain", [_item(item) for item in answer]]
    return ["plain", answer]


def _item(item: Any) -> Any:
    return item if issubclass(item.__class__, str | dict) else internals.plain_tool_call(item)


def _answered(steps: Steps, call: Call, model: Any, options: dict[str, Any]) -> Any:
    usage = call.usage or {}
    steps.used(call, model, usage)
    internals.add_usage(model, usage)
    kind, stored = call.answer
    return revive(options["response_model"], stored) if kind == "model" else stored

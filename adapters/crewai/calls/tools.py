"""Tools: an agent's tools. Calls that had finished before a crash don't run again."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from crewai.hooks.dispatch import HookAborted
from crewai.tools.agent_tools.base_agent_tools import BaseAgentTool

from ....contracts.codec import try_pack
from ...borders import ENDING
from .. import internals
from .steps import REFUSED, REPORTED, Call, Steps, current

_ADOPTED = "_adopted_by_batonpass"
_adopting = threading.Lock()


class ToolRaised(Exception):
    """What a tool raised before the crash."""


def adopt_tool(tool: Any) -> None:
    """Let the steps of a run answer for a tool that it calls. Agents may share a tool, so each is changed once."""
    if tool is None:
        return
    with _adopting:
        for holder, name in internals.tool_functions(tool):
            function = getattr(holder, name)
            if not hasattr(function, _ADOPTED):
                internals.shadow(holder, name, _journaled(function, tool))


def _journaled(function: Callable[..., Any], tool: Any) -> Callable[..., Any]:
    make = _journaled_async if inspect.iscoroutinefunction(function) else _journaled_sync
    called = make(function, tool)
    setattr(called, _ADOPTED, True)
    return called


def _journaled_sync(function: Callable[..., Any], tool: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **arguments: Any) -> Any:
        steps = current.get()
        if steps is None:
            return function(*args, **arguments)
        call = steps.begin("tool", tool.name, args, arguments)
        if call.answer is not None:
            return _answered(call)
        with _running(steps, call, tool) as answer:
            answer.append(function(*args, **arguments))
        return answer[0]

    return called


def _journaled_async(function: Callable[..., Any], tool: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    async def called(*args: Any, **arguments: Any) -> Any:
        steps = current.get()
        if steps is None:
            return await function(*args, **arguments)
        call = steps.begin("tool", tool.name, args, arguments)
        if call.answer is not None:
            return _answered(call)
        with _running(steps, call, tool) as answer:
            answer.append(await function(*args, **arguments))
        return answer[0]

    return called


@contextmanager
def _running(steps: Steps, call: Call, tool: Any) -> Generator[list[Any]]:
    """Around a tool's run, which appends its result to the list. A tool that delegates to another agent is not
    recorded: it runs again, and that agent's own calls are answered from their records."""
    records = not isinstance(internals.original_tool(tool), BaseAgentTool)
    result: list[Any] = []
    try:
        with steps.within(call):
            yield result
    except ENDING as error:
        with steps.stop.on_error():  # CrewAI would tell the agent about it
            raise error
    except HookAborted:
        raise
    except Exception as error:
        if records:
            steps.record(call, [REFUSED, str(error)])
        raise
    if records:
        steps.record(call, _dump(tool, result[0]))


def _dump(tool: Any, result: Any) -> list[Any]:
    """The result, or what the agent is told of it if it is not a plain value."""
    if (failure := internals.failure_of(result)) is not None:
        return [REPORTED, failure]
    return ["plain", result if try_pack(result) is not None else internals.told(tool, result)]


def _answered(call: Call) -> Any:
    kind, stored = call.answer
    if kind == REFUSED:
        raise ToolRaised(stored)
    return internals.failure(stored) if kind == REPORTED else stored

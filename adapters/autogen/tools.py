"""Tools: what an agent's model may call, made to know the job that it runs in, and not to run again after a crash."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Container, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

from autogen_core.code_executor import CodeBlock, CodeResult
from autogen_core.tools import ToolResult

from .journal import concerns_job, current

_ADOPTED = "adopted_by_batonpass"


def adopted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a tool as AutoGen should call it: AutoGen runs a sync one in a thread without the context
    variables, so `bp.current()` would not work there."""
    if getattr(function, _ADOPTED, False):
        return function

    async def call(**arguments: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        result = await asyncio.to_thread(function, **arguments)
        # What a sync function gives may be to be awaited: `return bp.current().step(...)`, a lambda, an async __call__.
        return await result if inspect.isawaitable(result) else result

    setattr(call, _ADOPTED, True)
    return call


def adopt_errors(tool: Any) -> None:
    """Let what a tool raises end the turn where it is not the agent's affair.

    AutoGen gives a tool's error to the model, whatever it says; and it hangs on one that is no Exception
    (`ctx.reject()` raises one).
    """
    if getattr(tool, _ADOPTED, False):
        return
    setattr(tool, _ADOPTED, True)
    tool.run_json = _watching(tool.run_json)
    if hasattr(tool, "run_json_stream"):
        tool.run_json_stream = _watching_stream(tool.run_json_stream)


def _watching(run_json: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*arguments: Any, **options: Any) -> Any:
        with _watched():
            return await run_json(*arguments, **options)

    return run


def _watching_stream(run_json_stream: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*arguments: Any, **options: Any) -> AsyncGenerator[Any]:
        with _watched():
            async for item in run_json_stream(*arguments, **options):
                yield item

    return run


@contextmanager
def _watched() -> Generator[None]:
    try:
        yield
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        journal = current.get()
        if journal is None or not concerns_job(error):
            raise
        journal.end(error)
        raise asyncio.CancelledError from None


def adopt_bench(bench: Any, runners: Container[str], tools: Iterable[Any]) -> None:
    """Let the journal answer a workbench's calls. It may be shared by members and by teams: it is changed once.

    `runners` are its tools that run an agent or a team: these run again, and what they ask is answered. They remember.
    `tools` are those that run in this process: a call that is not made again leaves them as it left them then.
    """
    if getattr(bench, _ADOPTED, False):
        return
    setattr(bench, _ADOPTED, True)
    held = {tool.name: tool for tool in tools}
    bench.call_tool = _calling(bench.call_tool, runners, held)
    if hasattr(bench, "call_tool_stream"):
        bench.call_tool_stream = _streaming(bench.call_tool_stream, runners, held)


def _calling(call_tool: Callable[..., Any], runners: Container[str], held: Mapping[str, Any]) -> Callable[..., Any]:
    async def called(name: str, arguments: Any = None, *rest: Any, call_id: str | None = None, **more: Any) -> Any:
        journal = current.get()
        if journal is None or name in runners:
            return await call_tool(name, arguments, *rest, call_id=call_id, **more)
        digest, answer = journal.recall(f"tool {name}", [arguments, call_id])
        if answer is not None:
            return await _recalled(answer, held.get(name))
        result: ToolResult = await call_tool(name, arguments, *rest, call_id=call_id, **more)
        await journal.record(f"tool {name}", digest, await _answer(result, held.get(name)))
        return result

    return called


def _streaming(
    call_tool_stream: Callable[..., Any], runners: Container[str], held: Mapping[str, Any]
) -> Callable[..., Any]:
    async def called(
        name: str, arguments: Any = None, *rest: Any, call_id: str | None = None, **more: Any
    ) -> AsyncGenerator[Any]:
        """The tool's events and its result; of a recorded call only the result."""
        journal = None if name in runners else current.get()
        digest, answer = journal.recall(f"tool {name}", [arguments, call_id]) if journal else (b"", None)
        if answer is not None:
            yield await _recalled(answer, held.get(name))
            return
        async for item in call_tool_stream(name, arguments, *rest, call_id=call_id, **more):
            if journal is not None and isinstance(item, ToolResult):
                await journal.record(f"tool {name}", digest, await _answer(item, held.get(name)))
            yield item

    return called


async def _answer(result: ToolResult, tool: Any) -> dict[str, Any]:
    """What is recorded of a call: its result, and the state in which it leaves a tool that has one."""
    state = dict(await tool.save_state_json()) if tool is not None else {}
    return result.model_dump(mode="json") | ({"state": state} if state else {})


async def _recalled(answer: dict[str, Any], tool: Any) -> ToolResult:
    if tool is not None and "state" in answer:
        await tool.load_state_json(answer["state"])
    return ToolResult.model_validate(answer)


def adopt_code(agent: Any) -> None:
    """Let the journal answer what a `CodeExecutorAgent` executes."""
    execute = agent.execute_code_block

    async def executed(code_blocks: list[CodeBlock], cancellation_token: Any) -> CodeResult:
        journal = current.get()

        async def ask() -> list[Any]:
            result: CodeResult = await execute(code_blocks, cancellation_token)
            return [result.exit_code, result.output]

        request = [[block.language, block.code] for block in code_blocks]
        exit_code, output = await (journal.call(f"code of {agent.name}", request, ask) if journal else ask())
        return CodeResult(exit_code=exit_code, output=output)

    agent.execute_code_block = executed

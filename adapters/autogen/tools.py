"""Tools: an agent's tools, with access to the job, and not called again after a crash."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Container, Generator, Iterable
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Any

from autogen_core.code_executor import CodeBlock, CodeResult
from autogen_core.tools import ToolResult

from . import private
from .journal import Journal, calling, concerns_job, current, each_within, within
from .keepers import Keeper

_ADOPTED = "adopted_by_batonpass"


def adopted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A tool's function in the form that AutoGen should call. AutoGen runs a sync function in a thread without the
    context variables, so `bp.current()` would not work there."""
    if getattr(function, _ADOPTED, False):
        return function

    async def call(**arguments: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        result = await asyncio.to_thread(function, **arguments)
        # A sync function may return an awaitable: `return bp.current().step(...)`, a lambda, an async __call__.
        return await result if inspect.isawaitable(result) else result

    setattr(call, _ADOPTED, True)
    return call


def adopt_errors(tool: Any) -> None:
    """Let a tool's error end the turn if the agent can't handle it.

    AutoGen tells the model every error of a tool. It hangs on an error that is not an Exception (`ctx.reject()` raises
    one).
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


Runs = Callable[[str], bool]
KeeperOf = Callable[[str], Keeper | None]


def adopt_bench(bench: Any, runners: Container[str], tools: Iterable[Any], keepers: Iterable[Keeper]) -> None:
    """Let the journal answer a workbench's calls. Members and teams may share a workbench, so it is changed once.

    `runners` are its tools that run an agent or a team. They remember what they did, so they run again, and the journal
    answers what they ask. `tools` are its tools that run in this process. `keepers` tell which of these, or whether the
    workbench itself, keep a state.
    """
    if getattr(bench, _ADOPTED, False):
        return
    setattr(bench, _ADOPTED, True)
    known = {id(keeper.owner): keeper for keeper in keepers}
    whole = known.get(id(bench))
    single = {tool.name: known[id(tool)] for tool in tools if id(tool) in known}

    def runs(name: str) -> bool:
        return private.own_name(bench, name) in runners

    def keeper_of(name: str) -> Keeper | None:
        return whole or single.get(private.own_name(bench, name))

    bench.call_tool = _calling(bench.call_tool, runs, keeper_of)
    if hasattr(bench, "call_tool_stream"):
        bench.call_tool_stream = _streaming(bench.call_tool_stream, runs, keeper_of)


class _Call:
    """A call that the journal answers (`answer`), or records."""

    def __init__(self, journal: Journal, keeper: Keeper | None, name: str, request: list[Any]) -> None:
        self._journal = journal
        self._keeper = keeper
        # A turn may have two tools of one name, each with its own state.
        self._caller = f"tool {name} of {keeper.name}" if keeper else f"tool {name}"
        self._digest, answer = journal.recall(self._caller, request)
        self.answer = None if answer is None else ToolResult.model_validate(answer)

    def alone(self) -> AbstractAsyncContextManager[None]:
        """Around the call and its record: no other call may change what its tool keeps before that is recorded."""
        return self._keeper.calling() if self._keeper else nullcontext()

    async def record(self, result: ToolResult) -> None:
        """Record the call's result, and the state in which it left its keeper."""
        keeper = self._keeper
        kept = {"of": keeper.name, "state": dict(await keeper.save())} if keeper else {}
        await self._journal.record(self._caller, self._digest, result.model_dump(mode="json") | kept)


def _begun(name: str, request: list[Any], runs: Runs, keeper_of: KeeperOf) -> _Call | None:
    """A call of a tool. None if there is no journal, or if the tool runs an agent, whose calls are recorded instead."""
    journal = current.get()
    return None if journal is None or runs(name) else _Call(journal, keeper_of(name), name, request)


def _calling(call_tool: Callable[..., Any], runs: Runs, keeper_of: KeeperOf) -> Callable[..., Any]:
    async def called(name: str, arguments: Any = None, *rest: Any, call_id: str | None = None, **more: Any) -> Any:
        call = _begun(name, [arguments, call_id], runs, keeper_of)
        if call is None:
            return await call_tool(name, arguments, *rest, call_id=call_id, **more)
        if call.answer is not None:
            return call.answer
        async with call.alone():
            with within(calling, f"{name} {call_id}"):
                result: ToolResult = await call_tool(name, arguments, *rest, call_id=call_id, **more)
            await call.record(result)
        return result

    return called


def _streaming(call_tool_stream: Callable[..., Any], runs: Runs, keeper_of: KeeperOf) -> Callable[..., Any]:
    async def called(
        name: str, arguments: Any = None, *rest: Any, call_id: str | None = None, **more: Any
    ) -> AsyncGenerator[Any]:
        """The tool's events and its result. Only the result if the call was recorded."""
        call = _begun(name, [arguments, call_id], runs, keeper_of)
        if call is not None and call.answer is not None:
            yield call.answer
            return
        stream = call_tool_stream(name, arguments, *rest, call_id=call_id, **more)
        if call is None:
            async for item in stream:
                yield item
            return
        async with call.alone():
            async for item in each_within(calling, f"{name} {call_id}", stream):
                if isinstance(item, ToolResult):
                    await call.record(item)
                yield item

    return called


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

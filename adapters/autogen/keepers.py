"""Keepers: tools and workbenches that keep a state between calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core.tools import BaseTool, StaticWorkbench, Workbench

from . import private

Save = Callable[[], Awaitable[Mapping[str, Any]]]
Load = Callable[[Mapping[str, Any]], Awaitable[None]]

# What AutoGen's own say of a state that is somewhere else (an MCP server's).
_SAYS_NOTHING = frozenset({"type", "version"})


@dataclass(frozen=True, eq=False)
class Keeper:
    """A tool or workbench with a state. Its calls run one at a time, because each leaves its own state.

    `name` is the same in every process that builds the team. `what` is its description for the user.
    """

    name: str
    what: str
    owner: Any
    save: Save
    load: Load
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def calling(self) -> AsyncGenerator[None]:
        """A call, which may be part of another one: a workbench's may make calls of its own."""
        within = _within.get()
        if self in within:
            yield
            return
        async with self._lock:
            _within.set(within | {self})
            try:
                yield
            finally:
                _within.set(within)


_within: ContextVar[frozenset[Keeper]] = ContextVar("batonpass_autogen_keepers", default=frozenset())


async def keepers_of(agents: Iterable[tuple[str, AssistantAgent]]) -> list[Keeper]:
    """What keeps a state among the tools and workbenches of agents, which come with their paths; each once."""
    found: dict[int, Keeper] = {}
    for path, agent in agents:
        for number, bench in enumerate(private.workbenches(agent)):
            name = f"{path}/{number}"
            if await own_state(bench):
                keeper = Keeper(name, f"a {type(bench).__name__}", bench, partial(own_state, bench), bench.load_state)
                found.setdefault(id(bench), keeper)
            for tool in filter(_keeps, private.tools_in(bench)):
                what, save, load = f"the tool {tool.name!r}", tool.save_state_json, tool.load_state_json
                found.setdefault(id(tool), Keeper(f"{name}/{tool.name}", what, tool, save, load))
    return [*found.values()]


async def own_state(bench: Workbench) -> Mapping[str, Any]:
    """What a workbench keeps itself; nothing of one that only holds tools."""
    if type(bench).save_state is StaticWorkbench.save_state:
        return {}
    try:
        state = await bench.save_state()
    except NotImplementedError:
        return {}
    return state if state and not _SAYS_NOTHING.issuperset(state) else {}


def _keeps(tool: Any) -> bool:
    """Whether a tool's class says how its state is saved. What an agent as a tool keeps is its agent's."""
    inherited: Any = BaseTool[Any, Any].save_state_json
    return tool.__class__.save_state_json is not inherited and not isinstance(tool, AgentTool | TeamTool)


async def bring_back(keepers: Iterable[Keeper], answers: Iterable[Any]) -> None:
    """Give each keeper the state in which the last recorded call left it; `answers` are records, the oldest first."""
    by_name = {keeper.name: keeper for keeper in keepers}
    of_calls = (cast(dict[str, Any], answer) for answer in answers if isinstance(answer, dict))
    left: dict[str, Any] = {answer["of"]: answer["state"] for answer in of_calls if "of" in answer}
    for name in left.keys() & by_name.keys():
        await by_name[name].load(left[name])

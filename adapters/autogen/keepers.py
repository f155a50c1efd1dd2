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

# The keys that AutoGen's own workbenches save if their state is elsewhere (in an MCP server).
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
        """Around a call. It may be part of another call of this keeper, because a workbench may call itself."""
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
    """The tools and workbenches of agents (given with their paths) that keep a state, each once."""
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
    """The state of the workbench itself. Empty if it only holds tools."""
    if type(bench).save_state is StaticWorkbench.save_state:
        return {}
    try:
        state = await bench.save_state()
    except NotImplementedError:
        return {}
    return state if state and not _SAYS_NOTHING.issuperset(state) else {}


def _keeps(tool: Any) -> bool:
    """Whether a tool's class says how to save its state. If the tool is an agent, the agent keeps the state."""
    inherited: Any = BaseTool[Any, Any].save_state_json
    return tool.__class__.save_state_json is not inherited and not isinstance(tool, AgentTool | TeamTool)


async def bring_back(keepers: Iterable[Keeper], answers: Iterable[Any]) -> None:
    """Give each keeper the state in which its last recorded call left it. `answers` are records, the oldest first."""
    by_name = {keeper.name: keeper for keeper in keepers}
    of_calls = (cast(dict[str, Any], answer) for answer in answers if isinstance(answer, dict))
    left: dict[str, Any] = {answer["of"]: answer["state"] for answer in of_calls if "of" in answer}
    for name in left.keys() & by_name.keys():
        await by_name[name].load(left[name])

"""The private attributes of AutoGen 0.7 that the adapter needs, each with its reason. Nothing else here touches one."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, cast

from autogen_agentchat.agents import AssistantAgent, MessageFilterAgent, SocietyOfMindAgent, UserProxyAgent
from autogen_agentchat.agents._user_proxy_agent import cancellable_input
from autogen_agentchat.base import (
    AndTerminationCondition,
    ChatAgent,
    OrTerminationCondition,
    Team,
    TerminationCondition,
)
from autogen_agentchat.conditions import FunctionalTermination
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, MessageFactory
from autogen_agentchat.teams import BaseGroupChat, GraphFlow, SelectorGroupChat
from autogen_agentchat.teams._group_chat._graph._digraph_group_chat import GraphFlowManager
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import AgentId, SingleThreadedAgentRuntime
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import FunctionTool, StaticWorkbench, Workbench
from pydantic import BaseModel


def limits(team: BaseGroupChat) -> tuple[TerminationCondition | None, int | None]:
    """When the user's team ends. We check this ourselves between turns, because state saved during a run is not
    consistent."""
    return team._termination_condition, team._max_turns


def conditions(team: BaseGroupChat) -> list[TerminationCondition]:
    """The conditions that end the team, and the parts of combined ones: each counts what it has seen."""
    found = [team._termination_condition] if team._termination_condition else []
    for condition in found:  # grows while we go through it
        if isinstance(condition, AndTerminationCondition | OrTerminationCondition):
            found += condition._conditions
    return found


def change_judge(judge: FunctionalTermination, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace the user's function that says whether a team has ended."""
    judge._func = change(judge._func)


@contextmanager
def judged(judges: Sequence[FunctionalTermination], said: Sequence[bool] | None) -> Generator[None]:
    """While it lasts the users' functions are not called, and these are what they say (None: they are called)."""
    functions = [judge._func for judge in judges]
    for judge, word in zip(judges, said, strict=True) if said is not None else ():
        judge._func = partial(_says, word)
    try:
        yield
    finally:
        for judge, function in zip(judges, functions, strict=True):
            judge._func = function


def _says(word: bool, _: Any) -> bool:
    return word


def make_stop_after_each_turn(team: BaseGroupChat) -> None:
    team._termination_condition = None
    team._max_turns = 1


def participants(team: Team) -> list[ChatAgent | Team]:
    """The members, to look for agents that ask a person, hold tools, or leave something out of their state."""
    return list(team._participants) if isinstance(team, BaseGroupChat) else []


def manager_name(team: BaseGroupChat) -> str:
    """The key of the manager's state, which holds the team's messages."""
    return team._group_chat_manager_name


def message_factory(team: BaseGroupChat) -> MessageFactory:
    """Makes messages from their dumps. It only knows AutoGen's types and those that the user gave the team."""
    return team._message_factory


def know(team: BaseGroupChat, kinds: Iterable[type[BaseAgentEvent | BaseChatMessage]]) -> None:
    """Let a team read these kinds of messages, too."""
    for kind in kinds:
        if not team._message_factory.is_registered(kind):
            team._message_factory.register(kind)


def watch_manager(team: BaseGroupChat, watch: Callable[[], AbstractContextManager[None]]) -> None:
    """Let the team's manager work within `watch()`. AutoGen makes the manager when the team first runs."""
    creator = team._create_group_chat_manager_factory

    def create(*arguments: Any, **options: Any) -> Callable[[], Any]:
        factory = creator(*arguments, **options)

        def make() -> Any:
            manager = factory()
            handle = manager.on_message_impl

            async def handled(message: Any, ctx: Any) -> Any:
                try:
                    with watch():
                        return await handle(message, ctx)
                except BaseException:
                    if ctx.cancellation_token.is_cancelled():
                        raise asyncio.CancelledError from None  # after any other error AutoGen would wait for ever
                    raise

            manager.on_message_impl = handled  # type: ignore[method-assign]
            return manager

        return make

    team._create_group_chat_manager_factory = create  # type: ignore[method-assign]


def has_run(team: BaseGroupChat) -> bool:
    """Whether the team already holds another run's conversation (a factory that returns the same team again)."""
    return team._initialized


def has_own_runtime(team: BaseGroupChat) -> bool:
    """Whether the team waits for its members at the end of a turn. With the user's runtime it does not."""
    return team._embedded_runtime


def running_tasks(team: BaseGroupChat) -> Iterable[asyncio.Task[Any]]:
    """What the team does right now. It is the only way to stop a model that ignores the cancellation token."""
    return tuple(team._runtime._background_tasks) if isinstance(team._runtime, SingleThreadedAgentRuntime) else ()


def has_begun(task: asyncio.Task[Any]) -> bool:
    """Whether a runtime's task may be cancelled. If one is cancelled before it has begun, AutoGen waits for ever."""
    coroutine = task.get_coro()
    return not inspect.iscoroutine(coroutine) or inspect.getcoroutinestate(coroutine) != inspect.CORO_CREATED


def endless(team: BaseGroupChat) -> bool:
    """Whether a team without a limit never ends. Only a graph without cycles ends by itself."""
    return not isinstance(team, GraphFlow) or team._graph.get_has_cycles()


def awaits(team: GraphFlow) -> dict[str, dict[str, int]]:
    """For how many others each member of a graph waits, by groups of edges."""
    return {name: dict(groups) for name, groups in team._graph.get_remaining_map().items()}


async def restore_triggers(team: GraphFlow) -> None:
    """Complete a loaded graph. Its state doesn't say why a node is ready, and without that a node in a cycle never runs
    again."""
    identity = AgentId(team._group_chat_manager_topic_type, team._team_id)
    manager = await cast(SingleThreadedAgentRuntime, team._runtime).try_get_underlying_agent_instance(
        identity, GraphFlowManager
    )
    for node in manager._ready:
        for group, activation in manager._activation.get(node, {}).items():
            ready = manager._remaining[node][group] == 0 if activation == "all" else manager._enqueued_any[node][group]
            if ready:
                manager._save_triggered_activation_group(node, group)


def inner_team(agent: SocietyOfMindAgent) -> Team:
    return agent._team


def filtered_agent(agent: MessageFilterAgent) -> ChatAgent:
    """The agent behind a filter. The filter's state leaves it out."""
    return agent._wrapped_agent


def output_type(agent: AssistantAgent) -> type[BaseModel] | None:
    """The type of the agent's structured messages. Users often forget to tell the team about it."""
    return agent._output_content_type


def model_clients(member: ChatAgent | Team) -> list[tuple[str, ChatCompletionClient]]:
    """The models that a member or a team asks, by attribute. Found by type, because users' own agents may keep theirs
    in any attribute."""
    held = vars(member).items()
    return [(name, value) for name, value in held if isinstance(value, ChatCompletionClient)]


def workbenches(agent: AssistantAgent) -> list[Workbench]:
    """The workbenches through which the agent calls its tools."""
    return list(agent._workbench)


def tools_in(bench: Workbench) -> list[Any]:
    """A workbench's tools that run in this process."""
    return list(bench._tools) if isinstance(bench, StaticWorkbench) else []


def own_name(bench: Workbench, name: str) -> str:
    """A tool's own name. A workbench may show it to models under another one."""
    return bench._override_name_to_original.get(name, name) if isinstance(bench, StaticWorkbench) else name


def change_choices(team: SelectorGroupChat, change: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace the user's functions that choose the next speaker, or who may be chosen."""
    if team._selector_func is not None:
        team._selector_func = change("choice", team._selector_func)
    if team._candidate_func is not None:
        team._candidate_func = change("candidates", team._candidate_func)


def task_runners(workbench: Workbench) -> dict[str, ChatAgent | Team]:
    """The agents and teams that a workbench's tools run, by the tools' names."""
    return {tool.name: tool._task_runner for tool in tools_in(workbench) if isinstance(tool, AgentTool | TeamTool)}


def change_function(tool: Any, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """If a tool is made from a function, replace that by another one with the same parameters."""
    if isinstance(tool, FunctionTool):
        tool._func = change(tool._func)


def asks_stdin(proxy: UserProxyAgent) -> bool:
    """Whether the proxy would read the worker's standard input."""
    return proxy.input_func in (cancellable_input, input)


def answer_with(proxy: UserProxyAgent, ask: Any) -> None:
    """Let the proxy take its answer from `async ask(prompt, token)`."""
    proxy.input_func = ask
    proxy._is_async = cast(Any, True)

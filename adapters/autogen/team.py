"""Adopted: the user's own team, changed to stop after each turn. We keep its limits."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_agentchat.base import ChatAgent
from autogen_agentchat.conditions import FunctionalTermination
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, HandoffMessage, StructuredMessage, TextMessage
from autogen_agentchat.teams import (
    BaseGroupChat,
    GraphFlow,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core import CancellationToken
from pydantic import ValidationError

from ...contracts.agent import Agent
from ...contracts.codec import pack
from ...contracts.errors import BadSetup
from ...contracts.unfit import unfit
from ...contracts.versions import Outgrown
from . import private
from .deciders import asked_once
from .folding import Dump, fold, unfold
from .keepers import Keeper
from .members import (
    TRANSIENT,
    adopt_calls,
    check_members,
    keepers_within,
    load_unsaved_state,
    load_what_fits,
    take,
    teams_within,
    unsaved_state,
    within,
)
from .nodes import Nodes
from .progress import Progress
from .renewing import AWAITS, check_kinds, renewed

_log = logging.getLogger("batonpass.autogen")

Message = BaseAgentEvent | BaseChatMessage
_NEW = "new assistants know what was said so far, other new members don't"
STEPPED = (RoundRobinGroupChat, SelectorGroupChat, Swarm, GraphFlow)


class Adopted:
    """A fresh team under the driver. It is used for one delivery and then thrown away.

    `stepped` says whether it stops after each turn. If not, it keeps its own limits and runs as one turn. `in_swarms`
    are the members of its swarms. `outside` are the agent's `hands_to`: a handoff to one of these ends the team, and a
    handoff to another name asks a person. `answers` are people's answers to its proxies, by name, and `taken` the
    proxies that have asked for theirs. `asked` are the proxies that still wait.
    """

    def __init__(self, agent: Agent[Any], team: BaseGroupChat, keepers: list[Keeper]) -> None:
        self.agent = agent.name
        self.team = team
        self.keepers = keepers
        self.outside = frozenset(agent.hands_to)
        self._talks = agent.memory == "thread"
        self.stepped = isinstance(team, STEPPED)
        self.condition, self.max_turns = private.limits(team)
        self._judges = [each for each in private.conditions(team) if isinstance(each, FunctionalTermination)]
        for place, judge in enumerate(self._judges):
            private.change_judge(judge, partial(asked_once, "", f"judge {place}"))
        self.answers: Mapping[str, str] = {}
        self.taken: set[str] = set()
        self.asked: list[str] = []
        self._members = list(within(team))
        self.names = frozenset(member.name for _, member in self._members)
        swarms = (each for each in teams_within(team) if isinstance(each, Swarm))
        self.in_swarms = frozenset(member.name for swarm in swarms for member in private.participants(swarm))
        if self.stepped:
            private.make_stop_after_each_turn(team)
        else:
            self.condition, self.max_turns = None, 1
        self._adopt_members()
        self._nodes = Nodes(team, self.message)

    def addressee(self, said: Sequence[Dump]) -> str:
        """Whom a message from outside addresses, if it has to address somebody: in a swarm, the member that has the
        conversation `said`."""
        swarm = next((each for each in teams_within(self.team) if isinstance(each, Swarm)), self.team)
        names = [member.name for member in private.participants(swarm)]
        handoffs = (dump for dump in reversed(said) if dump["type"] == "HandoffMessage")
        known = (name for dump in handoffs for name in (dump["target"], dump["source"]) if name in names)
        return next(known, names[0])

    def message(self, dump: Dump) -> Message:
        """A message from its dump. `BadSetup` if it has none of the team's forms."""
        try:
            return private.message_factory(self.team).create(dump)
        except ValidationError as error:
            raise BadSetup(
                f"agent {self.agent!r}: a {dump['type']} of {dump['source']!r} can't be read "
                f"({unfit(error)[0]}): change it back to what it was before its edit"
            ) from None
        except ValueError as error:
            raise BadSetup(
                f"agent {self.agent!r}: {error}: give the team custom_message_types=[StructuredMessage[...]]"
            ) from None

    async def check(self, progress: Progress, messages: Sequence[Message], number: int) -> str | None:
        """Ask the user's termination condition about new messages, for the `number`th time since its limits were reset,
        from 0. Returns why to stop, or None."""
        if self.condition is None:
            return None
        stop = await self.condition(messages)
        for place, judge in enumerate(self._judges):
            if judge.terminated:
                progress.judged.setdefault(place, number)
        return stop.content if stop is not None else None

    def counted(self, messages: Sequence[Message], answers: int) -> Sequence[Message]:
        """Of what was said in a turn, what AutoGen asks the condition about. If graph nodes ran side by side, only what
        the last one to answer has said, after the messages of a person's answer."""
        if not isinstance(self.team, GraphFlow) or not messages:
            return messages
        nodes = {node.name for node in private.participants(self.team)}  # without those that a node's tools ask
        others = nodes - {messages[-1].source}
        heard = (isinstance(message, BaseChatMessage) and message.source in others for message in messages)
        last = max((place for place, is_other in enumerate(heard, 1) if is_other), default=0)
        return [*messages[:answers], *messages[max(answers, last) :]]

    async def reset_limits(self) -> None:
        """Reset the team's condition, as AutoGen does when a team is given more to do."""
        if self.condition is not None:
            await self.condition.reset()

    async def load(self, progress: Progress) -> None:
        """Bring the fresh team to where `progress` is.

        Its condition sees the messages again, in the same portions, and functions in it say the same. A
        TimeoutTermination counts from now. If members of a conversation have changed, the new ones continue it with the
        next job.
        """
        if progress.team is None:  # no turn has ended yet
            self._nodes.kept = unfold(progress.answered, progress.messages)
            return
        if self._talks and progress.begins and not progress.answers:
            await self._continue(progress)
        else:
            await self._resume(progress)
        for each in teams_within(self.team):
            if isinstance(each, GraphFlow) and private.has_run(each):
                await private.restore_triggers(each)
        judged = progress.judged if progress.seen == _digest(progress.messages) else None
        progress.judged = {} if judged is None else judged
        for number, (start, end) in enumerate(pairwise(progress.checked)):
            portion: Sequence[Message] = [self.message(dump) for dump in progress.messages[start:end]]
            if number or not progress.has_task:
                portion = self.counted(portion, progress.joined.get(number, 0))
            said = [judged.get(place) == number for place in range(len(self._judges))] if judged is not None else None
            with private.judged(self._judges, said):
                progress.stop = progress.stop or await self.check(progress, portion, number)

    async def _resume(self, progress: Progress) -> None:
        try:
            await self._load_states(progress)
        except (ValueError, LookupError) as error:
            raise Outgrown(
                f"agent {self.agent!r}: its factory's team does not fit its checkpoint "
                f"({self._reason(progress, error)}): put the members back as they were, and messages that an edit "
                "removed, to finish the jobs that were started with them"
            ) from None

    async def _continue(self, progress: Progress) -> None:
        fresh = await self._states()
        try:
            check_kinds(unfold(progress.team, progress.messages), fresh)
            await self._load_states(progress)
        except TRANSIENT:
            raise
        except Exception as error:  # members may be the user's code
            reason = self._reason(progress, error)
            _log.warning("agent %r: its team is not the one of the job before (%s): %s", self.agent, reason, _NEW)
            await self._renew(progress, fresh)

    def _reason(self, progress: Progress, error: Exception) -> str:
        """Why its states can't be loaded. `BadSetup` if that is because of a message."""
        for dump in progress.messages:
            self.message(dump)
        return str(error) if type(error) in (ValueError, LookupError) else f"{type(error).__name__}: {error}"

    async def _load_states(self, progress: Progress) -> None:
        states = unfold(progress.team, progress.messages)
        check_members(self.team, states)
        states[private.manager_name(self.team)]["message_thread"] = progress.messages
        await self.team.load_state({"agent_states": states})
        await load_unsaved_state(self.team, unfold(progress.unsaved, progress.messages))
        self._nodes.kept = unfold(progress.answered, progress.messages)

    async def _renew(self, progress: Progress, fresh: Mapping[str, Any]) -> None:
        before: dict[str, Any] = {}
        unsaved: list[Any] = []
        with suppress(ValueError, LookupError):  # messages that these refer to may be gone
            before = unfold(progress.team, progress.messages)
            unsaved = unfold(progress.unsaved, progress.messages)
        states = await renewed(self.team, fresh, before, progress.messages, self.message)
        progress.team = fold(states, progress.messages)
        progress.unsaved = fold(await load_what_fits(self.team, unsaved), progress.messages)
        to = self.addressee(progress.messages)
        progress.pending = [
            {**dump, "target": to} if dump.get("target", to) not in self.names else dump for dump in progress.pending
        ]
        await self._load_states(progress)

    async def capture(self, progress: Progress) -> None:
        """Put the team's state into `progress`, after a turn. The team must not be running."""
        self._nodes.turned()
        states = await self._states()
        manager = dict(states[private.manager_name(self.team)])
        progress.messages = manager.pop("message_thread")
        states[private.manager_name(self.team)] = manager
        progress.team = fold(states, progress.messages)
        progress.unsaved = fold(await unsaved_state(self.team), progress.messages)
        if self._judges:
            progress.seen = _digest(progress.messages)

    async def keep_answers(self, progress: Progress) -> None:
        """Put what a turn's members answered into `progress`, if others in it ask a person."""
        answered = await self._nodes.answered(await self._states(), self.asked)
        progress.answered = fold(answered, progress.messages)

    async def _states(self) -> dict[str, Any]:
        states: dict[str, Any] = dict((await self.team.save_state())["agent_states"])
        if isinstance(self.team, GraphFlow):
            manager = private.manager_name(self.team)
            states[manager] = {**states[manager], AWAITS: private.awaits(self.team)}
        return states

    def _adopt_members(self) -> None:
        adopt_calls(self.team, self.keepers)
        kinds = list[Any]()
        for path, member in self._members:
            if isinstance(member, UserProxyAgent):
                self._let_read(member)
            if isinstance(member, UserProxyAgent) and private.asks_stdin(member):
                if len(path) > 1 or not self.stepped:
                    raise BadSetup(
                        f"agent {self.agent!r}: {member.name!r} would read standard input inside of another turn: "
                        "put it directly into a stepped team, or give it an input_func"
                    )
                private.answer_with(member, self._asking(member.name))
            elif isinstance(member, AssistantAgent) and (content := private.output_type(member)):
                kinds.append(StructuredMessage[content])  # type: ignore[valid-type]
        for each in teams_within(self.team):
            private.know(each, kinds)

    def _let_read(self, proxy: UserProxyAgent) -> None:
        """Let a proxy take a handoff from outside as a text. It carries a conversation, or a person's answer. A proxy
        would answer it with a handoff back to nobody, or refuse it."""
        original = proxy.on_messages_stream

        def read(messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Any:
            return original([self._as_text(message) for message in messages], cancellation_token)

        proxy.on_messages_stream = read  # type: ignore[method-assign]

    def _as_text(self, message: BaseChatMessage) -> BaseChatMessage:
        if not isinstance(message, HandoffMessage) or message.source in self.names:
            return message
        return TextMessage(source=message.source, content=message.content)

    def _asking(self, name: str) -> Any:
        async def ask(prompt: str, token: CancellationToken | None) -> str:
            if name in self.answers:
                self.taken.add(name)
                return self.answers[name]
            self.asked.append(name)
            return ""  # ends the turn, which the driver then throws away

        return ask


def _digest(messages: Sequence[Dump]) -> bytes:
    return blake2b(pack(list(messages)), digest_size=16).digest()


async def adopt(agent: Agent[Any], made: Any) -> Adopted:
    """Take over what the factory returned. `BadSetup` if that can't be run."""
    if isinstance(made, ChatAgent):
        made = RoundRobinGroupChat([made], max_turns=1)
    if not isinstance(made, BaseGroupChat):
        kind = f"the class {made.__name__}" if isinstance(made, type) else type(made).__name__
        raise BadSetup(
            f"the factory of agent {agent.name!r} returned {kind}: return an AutoGen team "
            "(RoundRobinGroupChat, SelectorGroupChat, Swarm, GraphFlow, MagenticOneGroupChat) or an agent"
        )
    if private.has_run(made):
        raise BadSetup(f"the factory of agent {agent.name!r} returned a team that has run before: build a new one")
    keepers = await keepers_within(made)
    if used := take(made, keepers):
        raise BadSetup(
            f"the factory of agent {agent.name!r} returned {used}, which another run has used: it still knows what was "
            "said and done there. Build a new one on each call, and new agents, teams, termination conditions, and "
            "tools and workbenches that keep a state"
        )
    if not private.has_own_runtime(made):
        raise BadSetup(f"agent {agent.name!r}: build the team without runtime=, so that it can stop after each turn")
    team = Adopted(agent, made, keepers)
    if team.condition is None and team.max_turns is None and private.endless(made):
        raise BadSetup(
            f"the team of agent {agent.name!r} would never end: give it termination_condition= or max_turns="
        )
    return team

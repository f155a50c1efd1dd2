"""Costs: what the models of a run's agents have used, so that a restarted one reports what it would have without."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from crewai import BaseLLM

from .. import internals

# What model calls add to CrewAI's own counters (numbers of calls and tokens).
Usage = dict[str, int]

# The usage of each model, by the role of an agent that has it.
Costs = dict[str, Usage]


class UsageByPlace:
    """What models have used in each place of a run. CrewAI counts by models (copies of one count together), so only
    those of known agents matter: a model of a crew that a tool runs counts if it is theirs, too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[str, dict[str, Any]] = defaultdict(dict)
        self._costs: dict[str, Costs] = defaultdict(dict)

    def know(self, place: str, agents: Iterable[Any]) -> None:
        """Note the agents of the crew that runs in a place."""
        with self._lock:
            known = self._models[place]
            for agent in agents:
                if isinstance(agent.llm, BaseLLM) and _role(known, agent.llm) is None:
                    role = internals.role_of(agent)
                    known[role if role not in known else f"{role} {len(known)}"] = agent.llm

    def note(self, place: str, model: Any, usage: Usage, within: Iterable[Costs]) -> None:
        """Note what a model call in a place has used, now or before the crash. `within` is what the calls that it is
        part of have cost."""
        with self._lock:
            if (role := _role(self._models[place], model)) is not None:
                for costs in (self._costs[place], *within):
                    costs[role] = _added(costs.get(role, {}), usage)

    def repeat(self, place: str, costs: Costs, within: Iterable[Costs] = ()) -> None:
        """Count again what a call that is not made again has cost."""
        for role, usage in costs.items():
            if (model := self.model(place, role)) is not None:
                internals.add_usage(model, usage)
                self.note(place, model, usage, within)

    def model(self, place: str, role: str) -> Any:
        """The model of an agent that is known in a place. None if there is none."""
        with self._lock:
            return self._models[place].get(role)

    def take(self, place: str) -> Costs:
        """What a place has cost since it was last asked."""
        with self._lock:
            return self._costs.pop(place, {})


def sums(one: Costs, other: Costs) -> Costs:
    """What both have cost."""
    return {role: _added(one.get(role, {}), other.get(role, {})) for role in {**one, **other}}


def _role(known: dict[str, Any], model: Any) -> str | None:
    counters = internals.usage_of(model)
    return next((role for role, each in known.items() if internals.usage_of(each) is counters), None)


def _added(one: Usage, other: Usage) -> Usage:
    return dict(Counter(one) + Counter(other))

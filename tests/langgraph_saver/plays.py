"""A graph made by chance, and what a user may do with it, on our saver and on LangGraph's: both must tell the same.

python -m tests.langgraph_saver.plays --store redis --plays 500 [--first 0]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.coordinator.parts.recent import Recent
from tests.kills.matrix import STORES, stores_in

from . import chance
from .chance import Point
from .graphs import Runner
from .telling import difference, told, values

_ACTS = ["run", "run", "go on", "answer", "answer", "update", "travel", "fork", "ask for some", "forget"]
_MOST = 9
# Some graphs never end by themselves.
_SUPERSTEPS = 30
_TRIES = 10
# Characters of a history. A part gives its graph again what it was given: with several ways to it, each run has many
# times as much as the one before, whatever saver keeps it.
_MUCH = 1_000_000


class Play:
    """One graph, from both savers, step by step."""

    def __init__(self, seed: int, saver: BatonpassSaver | InMemorySaver, thread: str) -> None:
        self._chance = Random(seed)
        plan = chance.made(self._chance)
        side = self._chance.choice(["sync", "async"])
        self._saver = saver
        self._pair = [
            Runner(chance.build(plan, each).with_config(recursion_limit=_SUPERSTEPS), thread, side)
            for each in (saver, InMemorySaver())
        ]
        # With "async" LangGraph goes on changing in place what it has given to the saver, before that is called.
        self._durabilities = ["sync", "exit", *([] if plan.in_place else ["async"])]
        self.did: list[str] = [f"seed {seed}, {side}, {plan}"]

    def on(self) -> str | None:
        """Act some times; what differed, if something did."""
        for _ in range(self._chance.randint(2, _MOST)):
            act = self._chance.choice(_ACTS)
            self.did.append(act)
            ours, theirs = self._act(act)
            if ours != theirs:
                return self._said("what it gave", ours, theirs)
            ours, theirs = (_outcome(_history, each) for each in self._pair)
            if ours != theirs:
                return self._said("the history", ours, theirs)
            if len(repr(ours)) > _MUCH:
                return None
        return self._leave_only_the_latest()

    def _leave_only_the_latest(self) -> str | None:
        """A copy tells the same, and after pruning its state does, also if it goes on."""
        ours, theirs = self._pair
        self.did.append("copy, prune and run")
        if isinstance(self._saver, BatonpassSaver) and ours.history():
            copy = Runner(ours.graph, f"{ours.thread} copy", ours.side)
            self._saver.copy_thread(ours.thread, copy.thread)
            if _outcome(_history, copy) != _outcome(_history, ours):
                return self._said("the copy", _outcome(_history, copy), _outcome(_history, ours))
            self._saver.prune([copy.thread])
            ours = copy
        given = {"trace": ["in"], "box": {"in": Point(x=0)}}
        for do in (_now, lambda runner: runner.run(given, durability="sync"), _now):
            mine, right = (_outcome(do, each) for each in (ours, theirs))
            if mine != right:
                return self._said("what is left", mine, right)
        return None

    def _act(self, act: str) -> list[Any]:
        """What each of the two gave."""
        chance, number = self._chance, self._chance.randint(0, 1000)
        durability = chance.choice(self._durabilities)
        past = _outcome(lambda runner: len(runner.history()), self._pair[1])
        at = chance.randrange(past) if isinstance(past, int) and past else None
        node = chance.choice([None, *self._pair[0].graph.builder.nodes])
        given = {"trace": [f"in {number}"], "box": {"in": Point(x=number)}}
        some = {"filter": chance.choice([None, {"source": "loop"}, {"step": number % 5}]), "limit": number % 4 or None}
        self.did[-1] += f" {durability} {number} at {at} as {node} {some}"

        def do(runner: Runner) -> Any:
            config = None if at is None else runner.history()[at].config
            if act == "run":
                return runner.run(given, durability=durability)
            if act == "go on":
                return runner.run(None, durability=durability)
            if act == "answer":
                return runner.run(_answer(runner, number), durability=durability)
            if act == "update":
                runner.update(None, given, as_node=node)
            elif act == "travel":
                return runner.run(given if number % 2 else None, config, durability=durability)
            elif act == "fork":
                return runner.run(None, runner.update(config, given, as_node=node), durability=durability)
            elif act == "ask for some":
                return told(runner.history(before=config, **some))
            elif runner is self._pair[0] and isinstance(self._saver, BatonpassSaver):
                self._saver._shared.recent = Recent()  # as another process begins
            return None

        return [_outcome(do, each) for each in self._pair]

    def _said(self, what: str, ours: Any, theirs: Any) -> str:
        return "\n".join([*self.did, f"{what} differs: {difference(ours, theirs)}"])


def wavers(seed: int) -> bool:
    """Whether LangGraph's own saver differs from itself in the same play. (If several nodes of a part ask at once, the
    first one is shown and gets the answer, and any may be first.)"""
    return any(Play(seed, InMemorySaver(), f"again {number}").on() for number in range(_TRIES))


def _answer(runner: Runner, number: int) -> Any:
    asked = runner.state().interrupts
    if len(asked) > 1:
        return Command(resume={each.id: "more" if number % 3 else each.value for each in asked[number % 2 :]})
    return Command(resume="more" if number % 2 else {"of": Point(x=number)})


def _outcome(do: Callable[[Runner], Any], runner: Runner) -> Any:
    try:
        given = values(do(runner))
        if isinstance(given, dict) and "__interrupt__" in given:  # those of one superstep come as its nodes end
            given["__interrupt__"].sort(key=repr)
        return given
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"


def _history(runner: Runner) -> Any:
    return [told(runner.history()), _now(runner)]


def _now(runner: Runner) -> Any:
    return told([runner.state(subgraphs=True)])


def main() -> None:
    """Play many; ends with 1 if something differed."""
    parser = argparse.ArgumentParser(prog="python -m tests.langgraph_saver.plays", description=main.__doc__)
    parser.add_argument("--store", choices=STORES, required=True)
    parser.add_argument("--plays", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    found = vain = 0
    with (
        tempfile.TemporaryDirectory(prefix="batonpass-plays-") as name,
        stores_in(Path(name), asked.store) as new_url,
        BatonpassSaver.from_url(new_url(asked.store), allow=[Point]) as saver,
    ):
        for seed in range(asked.first, asked.first + asked.plays):
            problem = Play(seed, saver, f"play {seed}").on()
            if problem and wavers(seed):
                vain += 1
            elif problem:
                found += 1
                sys.stdout.write(f"{problem}\n\n")
                sys.stdout.flush()
    told = f"{found} differed, {vain} prove nothing: LangGraph's own saver differs from itself"
    sys.stdout.write(f"{asked.plays} plays on {asked.store}, {told}\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

"""Checkup: what a store reports about itself to its operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from ..contracts.lean import dataclass

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """The result of one check. "warn": it works, but somebody should act. "fail": it does not work. The text says what
    to do."""

    level: Level
    about: str
    text: str


@dataclass(frozen=True)
class Examined:
    """The results. `opens` is False if the store can't be opened, or if opening would make or migrate it."""

    findings: tuple[Finding, ...]
    opens: bool = True


@dataclass(frozen=True)
class Queued:
    """One queue: how many deliveries are ready, for how long the first has been (ms), and the live workers that take
    them."""

    waiting: int = 0
    oldest: int = 0
    workers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Load:
    """How much is in a namespace: jobs in all, running, waiting for a time, asking a person, and failed; the queues
    that were asked about; and `now` by the store's clock, in ms since 1970."""

    jobs: int = 0
    running: int = 0
    timed: int = 0
    asking: int = 0
    dead: int = 0
    queues: Mapping[str, Queued] = field(default_factory=dict[str, Queued])
    now: int = 0


# How many jobs of each kind are looked at for their agents, in each partition. The others count for agent "".
SHARED_OUT = 5000
KINDS: tuple[str, ...] = ("running", "timed", "asking", "dead", "limited")
Shares = Mapping[str, Mapping[str, int]]
"""How many jobs of a kind each agent has."""


class Examines(Protocol):
    """A store that can be inspected. Inspecting makes, migrates and changes nothing."""

    def examine(self) -> Examined:
        """What it is, and whether it keeps what it acknowledges. Needs no `open`. `Unreachable` if nobody answers."""
        ...

    def count(self, queues: Sequence[str]) -> Load:
        """How much is in it. Only after `examine`, and only if the store opens."""
        ...

    def by_agent(self) -> Shares:
        """The same of the jobs of each kind, by their agents."""
        ...


def added(loads: Sequence[Load]) -> Load:
    """The loads of a namespace's partitions, added up."""
    queues: dict[str, Queued] = {}
    for load in loads:
        for name, queued in load.queues.items():
            before = queues.get(name, Queued())
            queues[name] = Queued(
                before.waiting + queued.waiting,
                max(before.oldest, queued.oldest),
                before.workers | queued.workers,
            )
    return Load(
        jobs=sum(each.jobs for each in loads),
        running=sum(each.running for each in loads),
        timed=sum(each.timed for each in loads),
        asking=sum(each.asking for each in loads),
        dead=sum(each.dead for each in loads),
        queues=queues,
        now=max((each.now for each in loads), default=0),
    )


def shares_of(looked_at: Mapping[str, Iterable[str | None]], totals: Mapping[str, int]) -> Shares:
    """How many of each kind the agents have. What was not looked at has agent ""."""
    found: dict[str, Counter[str]] = {}
    for kind, agents in looked_at.items():
        found[kind] = Counter(agent for agent in agents if agent is not None)
        if more := max(totals[kind] - SHARED_OUT, 0):
            found[kind][""] += more
    return found


def shares_added(every: Sequence[Shares]) -> Shares:
    """Those of a namespace's partitions, added up."""
    return {kind: sum((Counter(each[kind]) for each in every), Counter[str]()) for kind in KINDS}


def size(count: int) -> str:
    """A number of bytes, in short form."""
    if count < 1e6:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"

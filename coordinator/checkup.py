"""Checkup: what a store says of itself to those who keep it running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. "warn": it works, but somebody should act; "fail": it does not work. The text says
    what to do."""

    level: Level
    about: str
    text: str


@dataclass(frozen=True)
class Examined:
    """What was found; `opens` is False if the store can't be opened, or if that would make or migrate it."""

    findings: tuple[Finding, ...]
    opens: bool = True


@dataclass(frozen=True)
class Queued:
    """One queue: deliveries that are ready, for how many ms the first of them has been, and the live workers that take
    them."""

    waiting: int = 0
    oldest: int = 0
    workers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Load:
    """How much lies in a namespace: jobs in all, those that run, that wait for a time, that ask a person and that
    failed, and what is asked about queues; and `now` by the store's clock, in ms since 1970."""

    jobs: int = 0
    running: int = 0
    timed: int = 0
    asking: int = 0
    dead: int = 0
    queues: Mapping[str, Queued] = field(default_factory=dict[str, Queued])
    now: int = 0


class Examines(Protocol):
    """A store that can be looked at. Neither makes, migrates or changes anything."""

    def examine(self) -> Examined:
        """What it is, and whether it keeps what it acknowledges. Needs no `open`; `Unreachable` if nobody answers."""
        ...

    def count(self, queues: Sequence[str]) -> Load:
        """How much lies there. Comes after `examine`, and only if the store opens."""
        ...


def added(loads: Sequence[Load]) -> Load:
    """What lies in all of a namespace's partitions."""
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


def size(count: int) -> str:
    """A number of bytes, short."""
    if count < 1e6:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"

"""Pauses: calls that pause agents and let them go on, and that say of jobs and agents that they are paused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...contracts.agent import Agent, name_of
from ...contracts.contract import contract_ref
from ...contracts.errors import BadSetup, Corrupted
from ...contracts.job import JobInfo, JobState
from ...contracts.pause import Pause
from ..book import Book, readable
from ..commands import Changed, Declared, PauseAgent, Pauses, ResumeAgent
from ..live_workers import queues_of, takers
from ..rows import PauseRow
from ..snapshots import from_ms
from . import Call
from .inputs import text

_LONGEST = 1000  # characters of a reason


def pause(book: Book, agent: str | Agent[Any], reason: str) -> Call[bool]:
    """Pause an agent. False if it was paused already."""
    why = text(reason, "reason").strip()
    if len(why) > _LONGEST:
        raise BadSetup(f"reason= has {len(why)} characters, but at most {_LONGEST} are kept: say it in short")
    name = yield from _known(book, agent)
    changed: Changed = yield PauseAgent(name, why)
    return changed.now


def resume(book: Book, agent: str | Agent[Any]) -> Call[bool]:
    """Let an agent go on. False if it was not paused."""
    name = text(name_of(agent), "agent")
    queues = yield from _queues(book.knowing(agent), name)
    changed: Changed = yield ResumeAgent(name, queues)
    if not changed.at:
        yield from _known(book, agent)
    return changed.now


def _known(book: Book, agent: str | Agent[Any]) -> Call[str]:
    """The agent's name. `UnknownAgent` if nobody knows it: a pause of a misspelt name would pause nothing."""
    name = name_of(agent)
    with suppress(Corrupted):  # its record is damaged, but there is one
        yield from book.knowing(agent).taker(name)
    return name


def _queues(book: Book, name: str) -> Call[tuple[str, ...]]:
    """The queues in which an agent's jobs may wait. Workers find what is in another one with their next look."""
    declared = readable((yield Declared()))
    known = {taker: None for taker in takers(declared) if taker[0] == name}
    if name in declared:
        known |= {(name, ref): None for ref in declared[name].others}
    if (here := book.agent(name)) is not None:
        known[name, contract_ref(here.accepts)] = None
    return tuple(queue for names in queues_of(known).values() for queue in names)


def pauses() -> Call[dict[str, Pause]]:
    """The agents that are paused."""
    rows: list[PauseRow] = yield Pauses()
    return {row.agent: Pause(reason=row.reason, since=from_ms(row.at)) for row in rows}


def told_of(agent: str, pause: Pause) -> str:
    """What to say about a job that waits for a paused agent."""
    why = f": {pause.reason}" if pause.reason else ""
    since = f"{pause.since:%Y-%m-%d %H:%M:%S} UTC"
    return f"agent {agent!r} is paused since {since}{why} (`batonpass resume` lets it go on)"


def marked(found: list[JobInfo]) -> Call[list[JobInfo]]:
    """Jobs, with the pauses of the agents that they wait for."""
    if not any(info.state == JobState.SUBMITTED for info in found):
        return found
    paused = yield from pauses()
    return [
        replace(info, paused=paused[info.agent]) if info.state == JobState.SUBMITTED and info.agent in paused else info
        for info in found
    ]

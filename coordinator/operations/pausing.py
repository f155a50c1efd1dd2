"""Pausing agents: their jobs wait, and no claim takes one. In Lua: pause_agent.lua, resume_agent.lua, and claim.lua."""

from __future__ import annotations

from ...contracts import event as kinds
from ..commands import Changed, Claim, PauseAgent, Pauses, ResumeAgent
from ..records import Records
from ..rows import PauseRow
from .jobs import announce


def is_paused(records: Records, agent: str) -> bool:
    """Whether no job of an agent may be claimed."""
    row = records.pause(agent)
    return row is not None and row.paused


def pause(records: Records, command: PauseAgent) -> Changed:
    """Pause an agent."""
    changed = _change(records, command, paused=True, reason=command.reason)
    if changed.now and not command.at:
        announce(records, kinds.AGENT_PAUSED, command.agent, agent=command.agent, reason=command.reason)
    return changed


def resume(records: Records, command: ResumeAgent) -> Changed:
    """Let an agent go on. (Who waits in this store wakes with every commit.)"""
    changed = _change(records, command, paused=False)
    if changed.now and not command.at:
        announce(records, kinds.AGENT_RESUMED, command.agent, agent=command.agent)
    return changed


def _change(records: Records, command: PauseAgent | ResumeAgent, *, paused: bool, reason: str = "") -> Changed:
    known = records.pause(command.agent) or PauseRow(command.agent, 0, paused=False)
    if known.at >= command.at > 0 or (not command.at and known.paused == paused):
        return Changed(False, known.at)
    at = command.at or max(records.now, known.at + 1)
    records.put_pause(PauseRow(command.agent, at, paused, reason))
    return Changed(True, at)


def pauses(records: Records, command: Pauses) -> list[PauseRow]:
    """The agents that are paused."""
    return records.pauses()


def all_paused(records: Records, command: Claim) -> bool:
    """Whether a claim would find jobs of paused agents only, or none."""
    found = (records.ready(queue, 1, 0) for queue, _ in command.queues)
    return all(is_paused(records, rows[0].agent) for rows in found if rows)

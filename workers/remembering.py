"""Remembering: what an agent's framework finds of its earlier visits."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ..contracts.agent import Agent
from ..contracts.app import App
from ..contracts.checkpoint import CheckpointSummary
from ..contracts.handoff import Envelope
from ..coordinator.calls.travel import Wanted, timeline
from ..coordinator.commands import Ancestors, Command, Record, Restore
from ..coordinator.rows import CheckpointRow
from ..coordinator.snapshots import open_summary
from .journal import packed
from .session import LeaseSession


def remembering(
    app: App, agent: Agent[Any], envelope: Envelope, session: LeaseSession
) -> Generator[Command[Any], Any, None]:
    """Give the session what an agent remembers of its last visit in the job, or else, with `memory="thread"`, of the
    jobs before on the thread. Nothing if there is none, or if this visit has already saved."""
    if session.checkpoint is not None:
        return
    found: CheckpointSummary | None = None
    if agent.name in envelope.path[:-1]:
        wanted = Wanted(agent=agent.name, job=session.job_id)
        found = next(iter((yield from timeline(session.thread, 1, None, wanted))), None)
    if found is None and agent.memory == "thread":
        found = yield from _before(agent, session)
    if found and (recorded := session.remember((yield Restore(found.id)), app)):
        yield Record(session.fence, packed(recorded))


def _before(agent: Agent[Any], session: LeaseSession) -> Generator[Command[Any], Any, CheckpointSummary | None]:
    """The agent's last checkpoint on the line from which the job goes on. Not on other threads: a fork's agent is told
    the conversation, as edited."""
    at: str | None = session.tip_id
    last: CheckpointSummary | None = None
    while at:
        rows: list[CheckpointRow] = yield Ancestors(at)
        if not rows and last is not None:  # a part of the line was pruned, or has expired
            wanted = Wanted(agent=agent.name, framework=agent.kind)
            return next(iter((yield from timeline(session.thread, 1, last.id, wanted))), None)
        at = None
        for last in map(open_summary, rows):
            if last.thread != session.thread:
                return None
            # An adapter may save without saying what it is. What somebody saved by hand, outside of jobs, is not its.
            if last.agent == agent.name and last.framework in (agent.kind, "python" if last.job else agent.kind):
                return last
            at = last.parent_id
    return None

"""Remembering: what an agent's framework finds of its earlier visits."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

from ..contracts.agent import Agent
from ..contracts.app import App
from ..contracts.checkpoint import CheckpointSummary
from ..contracts.handoff import Envelope
from ..coordinator.calls.lines import newest
from ..coordinator.calls.travel import Wanted, timeline
from ..coordinator.commands import Command, Record, Restore
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
        # Not on other threads: a fork's agent is told the conversation, as edited.
        found = yield from newest(session.thread, session.tip_id, partial(_is_of, agent))
    if found and (recorded := session.remember((yield Restore(found.id)), app)):
        yield Record(session.fence, packed(recorded))


def _is_of(agent: Agent[Any], found: CheckpointSummary) -> bool:
    """Whether a checkpoint is one of the agent's. An adapter may save without saying what it is. What somebody saved by
    hand, outside of jobs, is not its."""
    return found.agent == agent.name and found.framework in (agent.kind, "python" if found.job else agent.kind)

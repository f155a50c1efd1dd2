"""Memory: an agent with `memory="job"` starts a visit with what its last visit of the same job left."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ..contracts.agent import Agent
from ..contracts.app import App
from ..contracts.handoff import Envelope
from ..coordinator.calls.travel import Wanted, timeline
from ..coordinator.commands import Command, Restore
from .session import LeaseSession


def remembering(
    app: App, agent: Agent[Any], envelope: Envelope, session: LeaseSession
) -> Generator[Command[Any], Any, None]:
    """Give the session what such an agent remembers. Nothing on its first visit, or if this one has already saved."""
    if session.checkpoint is not None or agent.name not in envelope.path[:-1]:
        return
    wanted = Wanted(agent=agent.name, job=session.job_id)
    for found in (yield from timeline(session.thread, 1, None, wanted)):
        session.remember((yield Restore(found.id)), app)

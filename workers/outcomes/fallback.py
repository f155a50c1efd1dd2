"""Fallback: where a job continues when an agent's attempts have run out."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

from ...contracts.agent import Agent
from ...contracts.errors import Corrupted, Refused
from ...coordinator.blobs import open_envelope
from ...coordinator.book import Book
from ...coordinator.commands import Command, Fail, HandOff
from ...coordinator.rows import JobRow
from ..session import LeaseSession
from .outcomes import ATTEMPTS_OVER
from .refused_handoffs import Onward, refusal
from .transcript import onward_transcript

_log = logging.getLogger("batonpass.worker")


def falling_back(
    book: Book, agent: Agent[Any] | None, row: JobRow | None, session: LeaseSession, failed: Fail
) -> Generator[Command[Any], Any, HandOff | None]:
    """The handoff to the agent's fallback, instead of the end of its job. None if there is none.

    It has the payload that this agent was given. A job that was at the fallback before ends: two agents that are each
    other's fallback must not pass it back and forth for ever.
    """
    if agent is None or row is None or agent.fallback is None or failed.reason not in ATTEMPTS_OVER:
        return None
    envelope = open_envelope(row.envelope, of=f"the envelope of job {row.id}")
    if agent.fallback in envelope.path:
        return None
    try:
        accepts, _ = yield from book.taker(agent.fallback)
    except (Refused, Corrupted) as error:
        _log.error("job %s can't continue at the fallback of agent %r: %s", row.id, agent.name, error)
        return None
    if accepts != envelope.contract:
        _log.error("job %s: fallback %r accepts %s, not %s", row.id, agent.fallback, accepts, envelope.contract)
        return None
    transcript, about = yield from _transcript(book, session, agent.fallback)
    to = replace(
        envelope,
        trace=session.own_trace or envelope.trace,
        path=(*envelope.path, agent.fallback),
        sender=agent.name,
        checkpoint=session.tip_id or None,
        transcript=transcript,
        spent=session.budget.spent,
        born=session.budget.born,
    )
    if why := refusal(to, session):
        _log.error("%s", why)
        return None
    onward = Onward(to, {"reason": "fallback", "error": failed.error, **about})
    return (yield from onward.command(book, session))


def _transcript(
    book: Book, session: LeaseSession, to: str
) -> Generator[Command[Any], Any, tuple[Mapping[str, Any] | None, Mapping[str, str]]]:
    """The conversation so far. If it can't be read (perhaps the reason why the agent failed), it is lost, but the job
    continues."""
    try:
        return (yield from onward_transcript(book, session, to))
    except Exception as error:
        _log.exception("job %s goes on without its conversation", session.job_id)
        return None, {"lost": f'{{"conversation": 1, "because": "{type(error).__name__}"}}'}

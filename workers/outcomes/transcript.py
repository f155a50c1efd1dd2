"""Transcript: the conversation that a job takes along from a hop to its next agent."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from ...contracts.checkpoint import Checkpoint, Snapshot
from ...contracts.transcript import Transcript
from ...contracts.transcript_losses import Losses
from ...coordinator.book import Book
from ...coordinator.commands import Command
from ...coordinator.transcripts import Saved, apart, count_lost, told, transcript_of
from ..session import LeaseSession


def onward_transcript(
    book: Book, session: LeaseSession, to: str, final: Snapshot | None = None
) -> Generator[Command[Any], Any, tuple[Mapping[str, Any], Mapping[str, str]]]:
    """The hop's conversation as stored, from its last snapshot or checkpoint, and what the handoff's event says about
    losses."""
    _, kind = yield from book.taker(to)
    losses = Losses()
    last: Snapshot | Checkpoint | None = final or session.checkpoint
    made = session.inherited or Transcript()
    if last is not None:
        saved = Saved(last.framework, last.state, apart(last.native)[0], session.inherited)
        made = transcript_of(saved, losses, agent=session.agent, checkpoint=session.tip_id)
    count_lost(kind, made, losses)
    return made.dump(), told(losses)

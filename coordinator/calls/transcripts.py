"""Calls that give a checkpoint as a transcript."""

from __future__ import annotations

from ...contracts.transcript import Transcript
from ...contracts.transcript_losses import Losses
from ..book import Book
from ..transcripts import saved_as, transcript_of
from . import Call
from .travel import restore


def transcript(book: Book, checkpoint_id: str) -> Call[Transcript]:
    """The whole conversation in a checkpoint, with what its job had brought along from other agents."""
    found = yield from restore(book, checkpoint_id, None, None)
    saved = saved_as(found.framework, found.state, found.native)
    return transcript_of(saved, Losses(), agent=found.agent, checkpoint=found.id)

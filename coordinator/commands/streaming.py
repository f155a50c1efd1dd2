"""Commands about what running jobs stream: live, kept for a while, and no part of the job."""

from __future__ import annotations

from dataclasses import dataclass

from ..rows import StreamRow
from .base import Command, Fence

# What is kept of a job's stream: so many of the last, for so many ms after the last one.
KEPT, KEPT_FOR = 1000, 3_600_000


@dataclass(frozen=True, slots=True)
class Emit(Command[None]):
    """Add to what a job streams (500 at most)."""

    fence: Fence
    data: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ReadStream(Command[list[StreamRow]]):
    """What a job has streamed after a position ("" is the oldest that is kept), oldest first."""

    job_id: str
    after: str = ""
    limit: int = 500

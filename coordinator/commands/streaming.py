"""Commands about what running jobs stream: live, kept for a while, and not part of the job."""

from __future__ import annotations

from ...contracts.lean import dataclass
from ..rows import Fence, StreamRow
from .base import Command

# How much of a job's stream is kept: so many of the last parts, for so many ms after the last one.
KEPT, KEPT_FOR = 1000, 3_600_000


@dataclass(frozen=True, slots=True)
class Emit(Command[None]):
    """Add to what a job streams (500 at most)."""

    fence: Fence
    data: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ReadStream(Command[list[StreamRow]]):
    """What a job has streamed after a position, oldest first. "" begins with the oldest part that is kept."""

    job_id: str
    after: str = ""
    limit: int = 500

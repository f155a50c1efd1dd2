"""What running jobs stream."""

from __future__ import annotations

from ...contracts.names import is_id
from ..commands import Emit, ReadStream
from ..commands.streaming import KEPT, KEPT_FOR
from ..records import Records
from ..refusals import refusal
from ..rows import StreamRow
from .jobs import held


def emit(records: Records, command: Emit) -> None:
    """Add to a job's stream."""
    if row := held(records, command.fence):
        records.add_to_stream(row.id, command.data, KEPT, records.now + KEPT_FOR)


def read(records: Records, command: ReadStream) -> list[StreamRow]:
    """A page of a job's stream. Empty if the job streamed nothing, or does not exist."""
    if not is_id(command.job_id, "j"):
        raise refusal("no_job", command.job_id)
    if command.after and not command.after.isdigit():
        raise refusal("cursor", command.after)
    return records.stream(command.job_id, int(command.after or 0), command.limit)

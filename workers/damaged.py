"""Damaged jobs: who can write the store can write what no worker can run. Such a job ends, and nothing else does."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from ..contracts.errors import Corrupted
from ..coordinator.rows import JobRow


def check_whole(row: JobRow, agents: Container[str]) -> None:
    """`Corrupted` if nobody can run the job: it waited in a queue of one of these agents, but is for none of them."""
    if row.agent not in agents:
        raise Corrupted(
            f"job {row.id} is for agent {row.agent!r}, but waits in the queue of another one, so it was not written "
            "by Batonpass: cancel it or delete it, and submit it again"
        )


def bared(row: JobRow) -> JobRow:
    """The job without the blobs that can't be read: enough to report that."""
    return replace(row, envelope=b"", result=b"", question=b"", answer=b"", terms=b"", otherwise=b"")

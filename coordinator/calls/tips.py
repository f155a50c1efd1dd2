"""Tips: the checkpoint from which a failed job goes on: its last one, or that to which its thread was taken back."""

from __future__ import annotations

from ...contracts.errors import WrongState
from ..book import Book
from ..commands import Latest
from ..rows import JobRow
from ..seals import read_commit
from ..snapshots import Opened, is_rollback
from . import Call
from .checkpoints import read
from .sources import Source, opened_source, source_of


def source(book: Book, row: JobRow) -> Call[Source | None]:
    """The checkpoint from which the job goes on. None if its present hop has none. `WrongState` if its thread was taken
    back to where it can't go on."""
    there = yield from read(Latest(row.thread))
    if there is not None and there.row.id == row.tip:
        found: Source | None = opened_source(book, there)
    else:
        found = (yield from source_of(book, row.tip)) if row.tip else None
    own = found if found is not None and _is_of(found.checkpoint.job, found.checkpoint.hop, row) else None
    if there is None or not _was_taken_back(there, row):
        return own
    about = there.about
    if _is_of(about["job"], about["hop"], row):
        return opened_source(book, there)
    if own is None and about["job"] != row.id:
        return None  # it begins anew in any case
    where = f"of its hop {about['hop']}" if about["job"] == row.id else "not its own"
    raise WrongState(
        f"thread {row.thread!r} was taken back to a checkpoint from which job {row.id} can't go on, because that is "
        f"{where}, and the job is at hop {row.hop}. Take it back to {row.tip}, the job's last one, or to another of "
        f"that hop. To go on from there, make a new job: batonpass fork {there.row.id} --agent AGENT"
    )


def _was_taken_back(there: Opened, row: JobRow) -> bool:
    """Whether a checkpoint is that of a rollback since the job ended, to another one than its last."""
    commit = read_commit(there.row.commit, there.row.id)
    return is_rollback(there.row) and commit.created > row.created and commit.parent != row.tip


def _is_of(job: str | None, hop: int | None, row: JobRow) -> bool:
    """Whether a checkpoint is of the job's present hop, and not of the hop that handed the job on."""
    return (job, hop) == (row.id, row.hop)

"""Copying a thread: the same history under another name."""

from __future__ import annotations

from ...contracts.errors import NotFound
from ...contracts.lean import dataclass
from ...contracts.names import home, mint
from ..commands import Export, Find, Import, Name, NewCheckpoint, PutWrites, Restore, Timeline
from ..commands.threads import LOOKED_AT
from ..parts.bases import Bases
from ..place_writes import inlined
from ..redrafts import Redrafts, first_copied
from ..refusals import Ungrounded
from ..rows import CheckpointRow, PlaceRow
from ..seals import read_commit
from ..snapshots import Opened, copied, copy_of, open_row
from . import Call, places
from .forks import new_name
from .inputs import text

_PAGE = 100  # how many checkpoints are copied at once


def copy(bases: Bases, thread: str, to: str) -> Call[int]:
    """Copy a thread's history, sharing its contents. Returns how many checkpoints it has."""
    copies: dict[str, str] = {}
    names: dict[str, str] = {}
    start, whole = 0, _Whole(Redrafts(to, bases.codec))
    while rows := (yield from page(text(thread, "thread"), start)):
        yield from _copy_page(rows, new_name(to), copies, whole)
        start = read_commit(rows[-1].commit, rows[-1].id).step_index + 1
        names.update({copies[row.id]: row.name for row in rows if row.name})
    if not copies:
        raise NotFound(f"thread {thread!r} has no checkpoints to copy")
    yield from _copy_writes(thread, to)
    for made, name in names.items():
        yield Name(made, name)
    return len(copies)


def page(thread: str, start: int) -> Call[list[CheckpointRow]]:
    """A thread's next checkpoints from a step index on, oldest first. Empty if there are no more."""
    while True:
        rows: list[CheckpointRow] = yield Export(thread, start, _PAGE)
        start += LOOKED_AT  # a page may be empty before the end, because expired checkpoints are left out
        if rows or start > (yield from newest(thread)):
            return rows


def _copy_writes(thread: str, to: str) -> Call[None]:
    """Copy what was written at the thread's places to the places of these copies."""
    for row in (yield from places.every(thread, whole=True)):
        if not row.writes:
            continue
        scope, key, _ = row.place
        try:
            yield PutWrites(to, scope, key, row.writes)
        except Ungrounded:  # see _copy_page
            found: PlaceRow | None = yield Find(thread, scope, key)
            yield PutWrites(to, scope, key, [inlined(write) for write in (found.writes if found else ())])


def newest(thread: str) -> Call[int]:
    """The step index of the thread's newest checkpoint, -1 if it has none."""
    rows: list[CheckpointRow] = yield Timeline(thread, 1)
    return read_commit(rows[0].commit, rows[0].id).step_index if rows else -1


@dataclass(slots=True)
class _Whole:
    """The copies' own contents, for when nothing can be shared with the original."""

    drafts: Redrafts
    needed: bool = False


def _copy_page(rows: list[CheckpointRow], to: str, copies: dict[str, str], whole: _Whole) -> Call[None]:
    count, parents = len(copies), list[str]()
    for row in rows:
        parent = read_commit(row.commit, row.id).parent
        parents.append(copies.get(parent, parent))
        copies[row.id] = mint("c", home(to))
    if not whole.needed:
        try:
            yield Import(to, count, [copied(row, to, copies[row.id]) for row in rows], parents)
            return
        except Ungrounded:  # the new thread is in a partition that can't reach the logs
            whole.needed = True
    for row, parent in zip(rows, parents, strict=True):
        found: CheckpointRow = yield Restore(row.id)
        yield Import(to, count, [_copy(whole.drafts, open_row(found), copies[row.id])], [parent])
        count += 1


def _copy(drafts: Redrafts, opened: Opened, copy_id: str) -> NewCheckpoint:
    source, commit = opened.checkpoint, read_commit(opened.row.commit, opened.row.id)
    ttl = commit.expires - commit.created if commit.expires else 0
    return drafts.make(opened, copy_id, ttl=ttl, more=copy_of(source.id, commit, first_copied(source)))

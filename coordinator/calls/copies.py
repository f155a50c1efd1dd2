"""Copying a thread: the same history under another name."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from ...contracts.checkpoint import Snapshot
from ...contracts.errors import NotFound
from ...contracts.names import home, mint
from ..commands import Command, Export, Import, Name, PutWrites, Restore, Timeline
from ..parts.bases import Bases
from ..parts.nodes import Base
from ..refusals import Ungrounded
from ..rows import CheckpointRow
from ..seals import read_commit
from ..snapshots import Draft, Opened, copied, copy_of, draft, open_row
from ..written import inlined
from . import Call, places
from .forks import new_name
from .inputs import text

# How many checkpoints are copied at once, and at how many a store looks for that.
_PAGE = 100
_LOOKED_AT = 500


def copy(bases: Bases, thread: str, to: str) -> Call[int]:
    """Copy a thread's history, sharing its contents. Returns how many checkpoints it has."""
    copies: dict[str, str] = {}
    names: dict[str, str] = {}
    start, last = 0, _Last()
    while True:
        # A page may be short or even empty before the end, because expired checkpoints are left out.
        rows: list[CheckpointRow] = yield Export(text(thread, "thread"), start, _PAGE)
        if not rows:
            start += _LOOKED_AT
            if start > (yield from _newest(thread)):
                break
            continue
        yield from _copy_page(bases, rows, new_name(to), copies, last)
        start = read_commit(rows[-1].commit, rows[-1].id).step_index + 1
        names.update({copies[row.id]: row.name for row in rows if row.name})
    if not copies:
        raise NotFound(f"thread {thread!r} has no checkpoints to copy")
    yield from _copy_writes(thread, to)
    for made, name in names.items():
        yield Name(made, name)
    return len(copies)


def _copy_writes(thread: str, to: str) -> Call[None]:
    """Copy what was written at the thread's places to the places of these copies."""
    for row in (yield from places.every(thread, whole=True)):
        if not row.writes:
            continue
        scope, key, _ = row.place
        try:
            yield PutWrites(to, scope, key, row.writes)
        except Ungrounded:  # see _copy_page
            found = yield from places.one(thread, scope, key)
            yield PutWrites(to, scope, key, [inlined(write) for write in (found.writes if found else ())])


def _newest(thread: str) -> Generator[Command[Any], Any, int]:
    """The step index of the thread's newest checkpoint, -1 if it has none."""
    rows: list[CheckpointRow] = yield Timeline(thread, 1)
    return read_commit(rows[0].commit, rows[0].id).step_index if rows else -1


@dataclass(slots=True)
class _Last:
    """The checkpoint that was copied last, for when nothing can be shared with the original."""

    base: Base | None = None


def _copy_page(
    bases: Bases, rows: list[CheckpointRow], to: str, copies: dict[str, str], last: _Last
) -> Generator[Command[Any], Any, None]:
    count, parents = len(copies), list[str]()
    for row in rows:
        parent = read_commit(row.commit, row.id).parent
        parents.append(copies.get(parent, parent))
        copies[row.id] = mint("c", home(to))
    if last.base is None:
        try:
            yield Import(to, count, [copied(row, to, copies[row.id]) for row in rows], parents)
            return
        except Ungrounded:  # the new thread is in a partition that can't reach the logs
            pass
    for row, parent in zip(rows, parents, strict=True):
        whole: CheckpointRow = yield Restore(row.id)
        made = _whole_copy(bases, open_row(whole), to, copies[row.id], last.base)
        yield Import(to, count, [made.new], [parent])
        last.base = made.nodes
        count += 1


def _whole_copy(bases: Bases, opened: Opened, to: str, copy_id: str, base: Base | None) -> Draft:
    source, commit = opened.checkpoint, read_commit(opened.row.commit, opened.row.id)
    first = {"copy": [source.copy_of, int(source.original_at.timestamp() * 1000)]} if source.original_at else {}
    more = copy_of(source.id, commit, first)
    return draft(
        Snapshot(
            step=source.step,
            state=source.state,
            framework=source.framework,
            native=source.native,
            context=source.context,
        ),
        thread=to,
        agent=source.agent,
        job=source.job,
        hop=source.hop,
        ttl=commit.expires - commit.created if commit.expires else 0,
        base=base,
        checkpoint_id=copy_id,
        codec=bases.codec,
        more=more if source.version == 1 else {**more, "version": source.version},
        place=commit.place,
    )

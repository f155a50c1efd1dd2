"""Sources: checkpoints that are gone on from, and how their successors are drafted and saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ...contracts.checkpoint import Checkpoint, Snapshot
from ...contracts.codec import pack
from ...contracts.errors import Corrupted
from ...contracts.names import home, mint
from ..book import Book
from ..branching import Origin, brancher
from ..commands import Put, Restore, Save
from ..parts.bases import Bases
from ..parts.nodes import Base, Inline
from ..parts.stored import ROOTS, STATE
from ..parts.writer import Sharing
from ..refusals import Ungrounded
from ..rows import CommitLine, Place
from ..seals import read_commit
from ..snapshots import Draft, Opened, draft
from . import Call, places
from .checkpoints import checked, read
from .edits import Edit

_SHARING = (Sharing.REFER, Sharing.NOTHING)


class Source(NamedTuple):
    """A checkpoint to go on from, what its successor can share with it, and where its framework finds it."""

    checkpoint: Checkpoint
    base: Base
    place: Place | None


def source_of(book: Book, checkpoint_id: str, *, replaced: bool = False) -> Call[Source]:
    """A checkpoint to go on from, migrated to its agent's present version. If its state is to be `replaced`, that need
    not be readable, and nothing is shared with it then."""
    opened = yield from read(Restore(checked(checkpoint_id)))
    assert opened is not None
    place = read_commit(opened.row.commit, opened.row.id).place
    rest = opened.partial if replaced else None
    failed = (*rest.damaged, *rest.unreadable) if rest else ()
    if rest and failed and all(name.startswith(ROOTS[STATE]) for name in failed):
        version = max(rest.version, book.state_version(rest.agent))  # that of what takes its place
        rest = book.migrated(replace(rest, state={}, version=version, damaged=(), unreadable=()))
        return Source(rest, Base(opened.row.id, Inline(pack({})), None, rest.version, rest.agent), place)
    return opened_source(book, opened)


def opened_source(book: Book, opened: Opened) -> Source:
    """A checkpoint that was read already, as `source_of` gives it."""
    place = read_commit(opened.row.commit, opened.row.id).place
    return Source(book.migrated(opened.checkpoint), opened.base, place)


def placed(source: Source, edit: Edit, step: str, *, alone: bool) -> Call[tuple[Snapshot, Place | None]]:
    """The successor of a checkpoint, and where its framework finds it. `alone`: as the first of a thread."""
    checkpoint, place = source.checkpoint, source.place
    snapshot = edit.of(checkpoint, source.base, step)
    made = brancher(checkpoint.framework) if place else None
    if place is None or made is None:
        return snapshot, None
    latest = [] if alone else (yield from places.page(checkpoint.thread, place.scope, None, 1, whole=False))
    key = latest[0].place.key if latest else ""
    branch = made.branch(Origin(checkpoint, place, edit.changed(checkpoint.state), key, alone))
    return replace(snapshot, native=branch.native, context=branch.context), Place(place.scope, branch.key)


def save(made: Draft, source: Source) -> Call[CommitLine]:
    """Commit a successor to the checkpoint's thread."""
    if made.new.place is None or source.place is None:
        commit: CommitLine = yield Save(made.new.thread, made.new, parent=source.checkpoint.id, branch=True)
    else:
        commit = yield Put(made.new, parent=source.place.key)
    return commit


def drafts(
    bases: Bases,
    source: Source,
    snapshot: Snapshot,
    thread: str,
    checkpoint_id: str,
    *,
    place: Place | None = None,
    job: str | None = None,
    hop: int | None = None,
    more: Mapping[str, Any] | None = None,
) -> Iterator[Draft]:
    """Drafts of the successor: the first shares as much as possible with its source, the last one nothing."""
    version = source.checkpoint.version
    if version != 1:
        more = {**(more or {}), "version": version}
    make = partial(
        draft,
        snapshot,
        thread=thread,
        agent=source.checkpoint.agent,
        job=job,
        hop=hop,
        base=source.base,
        codec=bases.codec,
        more=more,
        place=place,
    )
    # A fork with a key may be made again after it was deleted, while others still use the logs that it began.
    log = mint("c", home(thread))
    return (make(sharing=sharing, checkpoint_id=checkpoint_id, log=log) for sharing in _SHARING)


def save_one(made: Iterator[Draft], source: Source) -> Call[tuple[Draft, CommitLine]]:
    """Commit the first of the drafts for which the store has what it shares."""
    for one in made:
        try:
            return one, (yield from save(one, source))
        except Ungrounded:
            continue
    thread = source.checkpoint.thread
    raise Corrupted(f"the store refuses a whole state of thread {thread!r}: its logs have changed")

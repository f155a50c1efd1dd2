"""Calls that look through a thread's history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ...contracts.checkpoint import Checkpoint, CheckpointSummary
from ...contracts.errors import BadSetup
from ...contracts.lean import dataclass
from ...contracts.names import is_id
from ...contracts.transcript import Transcript
from ...contracts.transcript_losses import Losses
from ..book import Book
from ..commands import Ancestors, FindName, Name, Threads, Timeline
from ..refusals import refusal
from ..rows import CheckpointRow
from ..snapshots import listed
from ..transcripts import saved_as, transcript_of
from . import Call, checkpoints
from .checkpoints import checked
from .inputs import count, mapping, text

# What one script looks at, at most.
_PAGE = 500
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Wanted:
    """The checkpoints that a list shows: those that fit all conditions given. `named`: only those with a name."""

    agent: str | None = None
    step: str | None = None
    framework: str | None = None
    job: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict[str, Any])
    named: bool = False

    @property
    def anything(self) -> bool:
        """Whether every checkpoint fits. (The store itself selects the named ones.)"""
        return not self.context and all(given is None for given in (self.agent, self.step, self.framework, self.job))

    def fits(self, found: CheckpointSummary) -> bool:
        """Whether a checkpoint fits."""
        given = (self.agent, self.step, self.framework, self.job)
        has = (found.agent, found.step, found.framework, found.job)
        return all(wanted in (None, value) for wanted, value in zip(given, has, strict=True)) and all(
            key in found.context and found.context[key] == value for key, value in self.context.items()
        )


def threads(limit: int, after: str) -> Call[list[str]]:
    """A page of the threads' names."""
    count(limit, "limit")
    found: list[str] = []
    last = text(after, "after") if after else ""
    while len(found) < limit:
        page: list[str] = yield Threads(min(_PAGE, limit - len(found)), last)
        if not page:
            break
        found, last = found + page, page[-1]
    return found


def timeline(thread: str, limit: int, before: str | None, wanted: Wanted) -> Call[list[CheckpointSummary]]:
    """A page of the thread's checkpoints that fit, newest first."""
    text(thread, "thread")
    at = "" if before in (None, "") else checked(before)
    count(limit, "limit")
    mapping(wanted.context, "context")
    found: list[CheckpointSummary] = []
    while len(found) < limit:
        size = min(limit - len(found), _PAGE) if wanted.anything else _PAGE
        rows: list[CheckpointRow] = yield Timeline(thread, size, at, bool(wanted.named))
        found += [summary for row in rows if wanted.fits(summary := listed(row))]
        if len(rows) < size:
            break
        at = rows[-1].id
    return found[:limit]


def ancestors(checkpoint_id: str, limit: int | None) -> Call[list[CheckpointSummary]]:
    """A checkpoint's ancestors, nearest first, also across threads, as far as they are stored."""
    if limit is not None:
        count(limit, "limit")
    found: list[CheckpointSummary] = []
    at: str | None = checked(checkpoint_id)
    while at and (limit is None or len(found) <= limit):
        rows: list[CheckpointRow] = yield Ancestors(at)
        if not rows:
            if not found:
                raise refusal("no_checkpoint", checkpoint_id)
            break
        found += map(listed, rows)
        at = found[-1].parent_id
    return found[1 : None if limit is None else limit + 1]


def branches(thread: str) -> Call[list[CheckpointSummary]]:
    """The checkpoints of a thread that have no successor in it, newest first."""
    tips: list[CheckpointSummary] = []
    parents: set[str | None] = set()
    at: str | None = None
    while True:
        page = yield from timeline(thread, _PAGE, at, Wanted())
        for each in page:  # a successor is always newer
            if each.id not in parents:
                tips.append(each)
            parents.add(each.parent_id)
        if len(page) < _PAGE:
            return tips
        at = page[-1].id


def name(checkpoint_id: str, name: str) -> Call[None]:
    """Give a checkpoint a name."""
    if not text(name, "name") or len(name) > _LONGEST_NAME:
        raise BadSetup(f"a checkpoint's name has 1 to {_LONGEST_NAME} characters, this one {len(name)}")
    if is_id(name, "c"):
        raise BadSetup(f"{name!r} looks like a checkpoint's id: use another name")
    yield Name(checked(checkpoint_id), name)


def unname(checkpoint_id: str) -> Call[None]:
    """Take a checkpoint's name away."""
    yield Name(checked(checkpoint_id), "")


def resolve(checkpoint_id: str | None, thread: str | None, name: str | None) -> Call[str]:
    """The checkpoint with this id, or with this name in a thread."""
    if (checkpoint_id is None) is (name is None) or (name is None) is not (thread is None):
        raise BadSetup("give a checkpoint's id, or thread= and name=")
    if checkpoint_id is not None:
        return checked(checkpoint_id)
    found: str = yield FindName(text(thread or "", "thread"), text(name or "", "name"))
    return found


def restore(
    book: Book, checkpoint_id: str | None, thread: str | None, name: str | None, *, rest: bool = False
) -> Call[Checkpoint]:
    """One checkpoint, verified, with its state migrated to its agent's present version."""
    at = yield from resolve(checkpoint_id, thread, name)
    return book.migrated((yield from checkpoints.restore(at, rest=rest)))


def states(book: Book, *checkpoints: str | Checkpoint) -> Call[list[Any]]:
    """The states of checkpoints, wherever they are."""
    found: list[Any] = []
    for given in checkpoints:
        read = given if isinstance(given, Checkpoint) else (yield from restore(book, given, None, None))
        found.append(read.state)
    return found


def transcript(book: Book, checkpoint_id: str) -> Call[Transcript]:
    """The whole conversation in a checkpoint, with what its job had brought along from other agents."""
    found = yield from restore(book, checkpoint_id, None, None)
    saved = saved_as(found.framework, found.state, found.native)
    return transcript_of(saved, Losses(), agent=found.agent, checkpoint=found.id)

"""Snapshots: converts checkpoints between what users see and what stores keep. Opening one verifies every byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ..contracts.checkpoint import Checkpoint, CheckpointSummary, Snapshot
from ..contracts.codec import pack, pack_plain, unpack, unpack_rest
from ..contracts.errors import BadSetup, BatonpassError, Corrupted
from ..contracts.lean import dataclass
from ..contracts.names import home, mint
from ..contracts.understood import understood
from ..contracts.unpackable import where
from ..contracts.unpacking import Unfit
from .coded.codec import Codec, MissingKey, Unproven, check_open, check_read, missing_key
from .coded.frames import frame
from .commands import NewCheckpoint
from .parts.nodes import Base, Inline, Node, Part, Path, skeleton, value
from .parts.spans import Span, read_spans, write_spans
from .parts.split import amend, split
from .parts.stored import (
    NATIVE,
    ROOTS,
    STATE,
    StoredPart,
    closed_in,
    describe,
    node_of,
    put_in,
    read_parts,
    take_out,
)
from .parts.writer import Sharing, Writer
from .rows import CheckpointRow, CommitLine, Place
from .seals import FORMAT, content_hash, is_sealed, read_commit

_NO_CONTEXT = pack({})
# Marks the checkpoint of a rollback, in its header.
ROLLBACK = "rollback"
_NO_PARTS: tuple[list[Any], list[Span]] = ([], [])


@dataclass(slots=True)
class Draft:
    """A checkpoint that is about to be saved, and what the next one may share with it."""

    new: NewCheckpoint
    nodes: Base


def draft(
    snapshot: Snapshot,
    *,
    thread: str,
    agent: str,
    job: str | None = None,
    hop: int | None = None,
    ttl: int = 0,
    base: Base | None = None,
    sharing: Sharing = Sharing.APPEND,
    checkpoint_id: str = "",
    log: str = "",
    codec: Codec | None = None,
    more: Mapping[str, Any] | None = None,
    place: Place | None = None,
) -> Draft:
    """Pack a snapshot. `Unserializable` names a value that could not be restored.

    What the checkpoint `base` already keeps is referenced, as far as `sharing` allows. `more` is for what few headers
    have. New logs are named after `log`, by default after the checkpoint. `place` is where a framework finds it.
    """
    plain = not more  # then the header has only texts, numbers and bytes
    if place is not None:
        more = {**(more or {}), "place": [place.scope, place.key]}
    checkpoint_id = checkpoint_id or mint("c", home(thread))
    writer = Writer(log or checkpoint_id, sharing, partial(frame, codec) if codec else None)
    if snapshot.changes or snapshot.append:
        snapshot = with_whole_state(snapshot, base) if sharing is Sharing.NOTHING or base is None else snapshot
    if sharing is Sharing.NOTHING:
        base = None
    state, native = _nodes(snapshot, base, writer)
    entries, spans = describe(state, native) if _has_parts(state) or _has_parts(native) else _NO_PARTS
    if entries and (closed := closed_in(state, native)):
        more = {**(more or {}), "closed": closed}
    held = FORMAT + skeleton(state)
    held_native = FORMAT + skeleton(native) if native else b""
    about = _header(snapshot, [thread, job, hop, agent], held, held_native, entries, more)
    new = NewCheckpoint(
        id=checkpoint_id,
        thread=thread,
        header=FORMAT + (pack_plain if plain and not entries else pack)(about, path="checkpoint"),
        state=held,
        native=held_native,
        agent=agent,
        step=snapshot.step,
        ttl=ttl,
        place=place,
    )
    if spans:
        new.spans = write_spans(spans)
        new.appends = writer.appends
        new.base = base.id if base else ""
    return Draft(new, Base(checkpoint_id, state, native, more.get("version", 1) if more else 1, agent))


def _has_parts(node: Node | None) -> bool:
    """Whether it may contain parts."""
    return node is not None and type(node) is not Inline


def _header(
    snapshot: Snapshot,
    owner: Sequence[Any],
    held: bytes,
    held_native: bytes,
    entries: list[Any],
    more: Mapping[str, Any] | None,
) -> list[Any]:
    """The fields of a header: see seals.py. The last two are left out if they are empty."""
    context = pack(dict(snapshot.context), path="context") if snapshot.context else _NO_CONTEXT
    fields = [*owner, snapshot.step, snapshot.framework, context, content_hash(held), content_hash(held_native)]
    if more:
        return [*fields, entries, dict(more)]
    return [*fields, entries] if entries else fields


def _nodes(snapshot: Snapshot, base: Base | None, writer: Writer) -> tuple[Node, Node | None]:
    if snapshot.changes or snapshot.append:
        assert base is not None
        state: Node = amend(base.state, snapshot.changes, snapshot.append, writer)
    else:
        state = split(snapshot.state, base.state if base else None, writer, "state")
    if snapshot.native is None:
        return state, None
    return state, split(snapshot.native, base.native if base else None, writer, "native")


def with_whole_state(snapshot: Snapshot, base: Base | None) -> Snapshot:
    """A snapshot of the whole state, made of `base` and what is new."""
    state: Any = value(base.state) if base else {}
    return replace(snapshot, state=amended(state, snapshot.changes, snapshot.append), changes={}, append={})


def amended(state: Any, changes: Mapping[str, Any], append: Mapping[str, Any]) -> Any:
    """A state with some values changed and some appended to."""
    return value(amend(Inline(pack(state)), changes, append, Writer("", Sharing.REFER)))


def is_rollback(row: CheckpointRow) -> bool:
    """Whether a stored checkpoint was made to take its thread back. (Any node may be called so.)"""
    _, header = verified(row)
    return len(header) > 10 and bool(header[10].get(ROLLBACK))


def copied(row: CheckpointRow, thread: str, checkpoint_id: str) -> NewCheckpoint:
    """A stored checkpoint for another thread. It shares the original's logs, so that no contents are sent."""
    commit, header = verified(row)
    header[0] = thread
    more: dict[str, Any] = header[10] if len(header) > 10 else {}
    header[9:] = [*header[9:10], *([] if header[9:] else [[]]), {**more, **copy_of(row.id, commit, more)}]
    return NewCheckpoint(
        id=checkpoint_id,
        thread=thread,
        header=FORMAT + pack(header),
        state=row.state,
        native=row.native,
        agent=header[3],
        step=header[4],
        ttl=commit.expires - commit.created if commit.expires else 0,
        spans=commit.spans,
        base=row.id if commit.spans else "",
        place=commit.place,
    )


def copy_of(checkpoint_id: str, commit: CommitLine, more: Mapping[str, Any]) -> dict[str, Any]:
    """What a copy's header says in addition: what it is a copy of, and when that was saved."""
    first = more.get("copy")
    return {"copy": [checkpoint_id, first[1] if first else commit.created]}


_FIELDS = frozenset(field.name for field in fields(Checkpoint))


class _Saved(Checkpoint):
    """A checkpoint that was just committed. Its state is unpacked from the sent bytes when it is first read: few
    callers read it, and what they changed in their own objects since must not show."""

    __qualname__ = "Checkpoint"
    __hash__ = Checkpoint.__hash__
    _draft: Draft
    _commit: CommitLine

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"a checkpoint has no {name!r}")
        draft = self._draft
        if name in ("state", "native"):
            found = {name: value(draft.nodes.state if name == "state" else draft.nodes.native)}
        else:
            found = _about(draft.new.id, unpack(draft.new.header[1:]), self._commit, "")
        self.__dict__.update(found)
        return found[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Checkpoint):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _FIELDS)


def saved(draft: Draft, commit: CommitLine) -> Checkpoint:
    """The checkpoint that was just committed."""
    checkpoint = _Saved.__new__(_Saved)
    # Sets the attributes directly. Those with a default may be left out if they have it.
    checkpoint.__dict__.update(_draft=draft, _commit=commit, version=draft.nodes.version)
    return checkpoint


@dataclass(slots=True)
class Opened:
    """A stored checkpoint that was verified. `damaged` names the values that failed, `locked` those that need a key
    that is missing here, with that reason. `unfit` are values in `roots` that their classes do not take."""

    row: CheckpointRow
    about: dict[str, Any]
    roots: list[Any]
    parts: list[StoredPart]
    damaged: list[str]
    locked: dict[str, MissingKey]
    unfit: list[Unfit]

    @property
    def checkpoint(self) -> Checkpoint:
        """As users see it; `Corrupted`, `MissingKey` or `BadSetup` if anything can't be read."""
        self._check()
        made, unfit = self._made()
        for name, why in unfit.items():
            raise BadSetup(self._told(name, why))
        return made

    @property
    def partial(self) -> Checkpoint:
        """The checkpoint without the values that can't be read, which `damaged` and `unreadable` name. Those that their
        classes do not take are in it as they are stored."""
        made, unfit = self._made()
        made.__dict__["unreadable"] = (*self.locked, *unfit)
        return made

    def _check(self) -> None:
        if self.damaged:
            what = ", ".join(self.damaged)
            raise Corrupted(
                f"checkpoint {self.row.id}: its {what} is not what was saved; restore(partial=True) gives the rest, "
                "and older checkpoints may be readable"
            )
        for name, why in self.locked.items():
            raise MissingKey(self._told(name, why))

    def _told(self, name: str, why: Exception) -> str:
        return f"checkpoint {self.row.id}: its {name} can't be read here: {why}; restore(partial=True) gives the rest"

    @understood("checkpoint {0.row.id}")
    def _made(self) -> tuple[Checkpoint, dict[str, BatonpassError]]:
        """The checkpoint, and why which of its values do not fit their classes."""
        roots, unfit = list(self.roots), list(self.unfit)
        for part in self.parts:
            if part.part is None:
                take_out(roots, part)
            else:
                put_in(roots, part, partial(unpack_rest, unfit=unfit))
        made = Checkpoint.__new__(Checkpoint)  # faster than the constructor of a frozen class; `about` has all fields
        made.__dict__.update(self.about, state=roots[STATE], native=roots[NATIVE], damaged=tuple(self.damaged))
        if not unfit:
            return made, {}
        why = {id(each.value): each.reason for each in unfit}
        places = [found for name, root in zip(ROOTS, roots, strict=True) for found in where(why, root, name)]
        # A class with functions of its own may have put the value into something else.
        return made, {place: why[each] for place, each in places} or {ROOTS[STATE]: unfit[0].reason}

    @property
    def base(self) -> Base:
        """What the next checkpoint may share with it. `Corrupted` if anything is damaged, which the next one would
        hide."""
        self._check()
        unfit: list[Unfit] = []  # they stay as they are stored
        below: tuple[dict[Path, Part], dict[Path, Part]] = ({}, {})
        for part in self.parts:
            assert part.part is not None
            below[part.root][part.path] = part.part
        # Unpacked again, because users may have changed what they got.
        state = node_of(unpack_rest(self.row.state[1:], unfit), below[STATE])
        native = node_of(unpack_rest(self.row.native[1:], unfit), below[NATIVE]) if self.row.native else None
        return Base(self.row.id, state, native, self.about["version"], self.about["agent"])


@understood("checkpoint {0.id}")
def open_row(row: CheckpointRow) -> Opened:
    """Verify a stored checkpoint. `Corrupted` names it if not even its record can be read."""
    commit, header = verified(row)
    state_hash, native_hash, *entries = header[7:10]
    failed: list[tuple[str, Sequence[bytes]]] = []
    roots: list[Any] = []
    unfit: list[Unfit] = []
    for name, data, expected in (("state", row.state, state_hash), ("native", row.native, native_hash)):
        intact = content_hash(data) == expected
        roots.append(unpack_rest(body_of(row, data), unfit) if data and intact else None)
        if not intact:
            failed.append((name, (data,)))
    closed = header[10].get("closed", ()) if len(header) > 10 else ()
    read = list(read_parts(entries[0], read_spans(commit.spans), row.bodies, roots, closed)) if entries else []
    failed += [(part.name, part.found) for part in read if part.part is None]
    locked = {name: why for name, found in failed if (why := missing_key(found))}
    damaged = [name for name, _ in failed if name not in locked]
    return Opened(row, _about(row.id, header, commit, row.name), roots, read, damaged, locked, unfit)


def open_checkpoint(row: CheckpointRow) -> Checkpoint:
    """Verify and unpack a stored checkpoint. `Corrupted` names it and the damaged value."""
    return open_row(row).checkpoint


@understood("checkpoint {0.id}")
def open_summary(row: CheckpointRow) -> CheckpointSummary:
    """Verify and unpack a stored checkpoint's header, for lists."""
    commit, header = verified(row)
    return CheckpointSummary(**_about(row.id, header, commit, row.name))


def listed(row: CheckpointRow) -> CheckpointSummary:
    """A stored checkpoint for a list. One that can't be read must not hide the others."""
    try:
        return open_summary(row)
    except (MissingKey, Unproven) as error:  # the seal was right, so what is not encrypted can be shown
        about = _about(
            row.id, [row.thread, None, None, "", "", "", _NO_CONTEXT], read_commit(row.commit, row.id), row.name
        )
        about["damaged" if isinstance(error, Unproven) else "unreadable"] = ("record",)
        return CheckpointSummary(**about)
    except Corrupted:
        nothing: dict[str, Any] = {"agent": "", "step": "", "step_index": -1, "framework": "", "parent_id": None}
        nothing |= {"job": None, "hop": None, "context": {}, "created_at": from_ms(0), "expires_at": None}
        return CheckpointSummary(id=row.id, thread=row.thread, **nothing, damaged=("record",))


def verified(row: CheckpointRow) -> tuple[CommitLine, list[Any]]:
    """A stored checkpoint's commit line and header, if its seal is right."""
    check_read(row.header)
    commit = read_commit(row.commit, row.id)
    if not is_sealed(row.id, row.header, commit):
        raise Corrupted(f"checkpoint {row.id}: its record is not what was saved; older checkpoints may be readable")
    header: list[Any] = unpack(body_of(row, row.header))
    place = header[10].get("place") if len(header) > 10 else None
    if place != (list(commit.place[:2]) if commit.place else None):
        raise Corrupted(f"checkpoint {row.id}: it is not at the place where it was put; others may be readable")
    return commit, header


def _about(checkpoint_id: str, header: list[Any], commit: CommitLine, name: str) -> dict[str, Any]:
    """What a header and a commit line say, by the field names of `CheckpointSummary`."""
    thread, job, hop, agent, step, framework, context = header[:7]
    more: dict[str, Any] = header[10] if len(header) > 10 else {}
    copy: list[Any] = more.get("copy") or [None, 0]
    return {
        "id": checkpoint_id,
        "thread": thread,
        "job": job,
        "hop": hop,
        "agent": agent,
        "step": step,
        "framework": framework,
        "context": unpack(context),
        "step_index": commit.step_index,
        "parent_id": commit.parent or None,
        "created_at": from_ms(commit.created),
        "expires_at": from_ms(commit.expires) if commit.expires else None,
        "name": name or None,
        "version": more.get("version", 1),
        "framework_id": commit.place.key if commit.place else None,
        "copy_of": copy[0],
        "original_at": from_ms(copy[1]) if copy[1] else None,
    }


def body_of(row: CheckpointRow, data: bytes) -> bytes:
    """A state or native part without the mark of its format, if that is known."""
    check_open(data, f"checkpoint {row.id}")
    if data[:1] != FORMAT:
        raise Corrupted(f"checkpoint {row.id} is in an unknown format ({data[:1]!r}): a newer Batonpass may read it")
    return data[1:]


def from_ms(milliseconds: int) -> datetime:
    """A store's time in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)

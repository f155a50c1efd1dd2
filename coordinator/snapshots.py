"""Between a checkpoint as users see it and as stores keep it. Opening one verifies every byte."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from ..contracts.checkpoint import Checkpoint, CheckpointSummary, Snapshot
from ..contracts.codec import pack, unpack
from ..contracts.errors import Corrupted
from ..contracts.names import mint
from .commands import NewCheckpoint
from .rows import CheckpointRow, CommitLine
from .seals import FORMAT, content_hash, read_commit, seal_of

_NO_CONTEXT = pack({})


def close_snapshot(
    snapshot: Snapshot, *, thread: str, agent: str, job: str | None = None, hop: int | None = None, ttl: int = 0
) -> NewCheckpoint:
    """Pack a snapshot; `Unserializable` names a value that could not come back."""
    state = FORMAT + pack(snapshot.state, path="state")
    native = b"" if snapshot.native is None else FORMAT + pack(snapshot.native, path="native")
    context = pack(dict(snapshot.context), path="context") if snapshot.context else _NO_CONTEXT
    about = [thread, job, hop, agent, snapshot.step, snapshot.framework, context]
    header = FORMAT + pack([*about, content_hash(state), content_hash(native)], path="checkpoint")
    return NewCheckpoint(
        id=mint("c"),
        header=header,
        state=state,
        native=native,
        agent=agent,
        step=snapshot.step,
        ttl=ttl,
    )


_FIELDS = frozenset(field.name for field in fields(Checkpoint))


class _Saved(Checkpoint):
    """A checkpoint that was just committed. What was sent is unpacked when it is first looked at: few savers look, and
    so the caller's later changes of its own objects do not show."""

    __qualname__ = "Checkpoint"
    __hash__ = Checkpoint.__hash__
    _sent: NewCheckpoint
    _commit: CommitLine

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"a checkpoint has no {name!r}")
        sent = self._sent
        if name == "state":
            value = {name: unpack(sent.state[1:])}
        elif name == "native":
            value = {name: unpack(sent.native[1:]) if sent.native else None}
        else:
            value = _about(sent.id, unpack(sent.header[1:]), self._commit)
        self.__dict__.update(value)
        return value[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Checkpoint):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _FIELDS)


def saved(new: NewCheckpoint, commit: CommitLine) -> Checkpoint:
    """The checkpoint that was just committed."""
    checkpoint = _Saved.__new__(_Saved)
    checkpoint.__dict__.update(_sent=new, _commit=commit)
    return checkpoint


def open_checkpoint(row: CheckpointRow) -> Checkpoint:
    """Verify and unpack a stored checkpoint; `Corrupted` names it and the part that is damaged."""
    about, state_hash, native_hash = _verified(row)
    for part, data, expected in (("state", row.state, state_hash), ("native", row.native, native_hash)):
        if content_hash(data) != expected:
            raise Corrupted(f"checkpoint {row.id}: its {part} is not what was saved; older checkpoints may be readable")
    native = unpack(_body(row, row.native)) if row.native else None
    return Checkpoint(**about, state=unpack(_body(row, row.state)), native=native)


def open_summary(row: CheckpointRow) -> CheckpointSummary:
    """Verify and unpack a stored checkpoint's header, for lists."""
    return CheckpointSummary(**_verified(row)[0])


def _verified(row: CheckpointRow) -> tuple[dict[str, Any], bytes, bytes]:
    commit = read_commit(row.commit, row.id)
    if seal_of(row.header, commit.sealed) != commit.seal:
        raise Corrupted(f"checkpoint {row.id}: its record is not what was saved; older checkpoints may be readable")
    header = unpack(_body(row, row.header))
    *_, state_hash, native_hash = header
    return _about(row.id, header, commit), state_hash, native_hash


def _about(checkpoint_id: str, header: list[Any], commit: CommitLine) -> dict[str, Any]:
    """What a header and a commit say of a checkpoint, by the names of `CheckpointSummary`."""
    thread, job, hop, agent, step, framework, context, _, _ = header
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
    }


def _body(row: CheckpointRow, data: bytes) -> bytes:
    if data[:1] != FORMAT:
        raise Corrupted(f"checkpoint {row.id} is in an unknown format ({data[:1]!r}): a newer Batonpass may read it")
    return data[1:]


def from_ms(milliseconds: int) -> datetime:
    """A store's time in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)

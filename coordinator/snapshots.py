"""Between a checkpoint as users see it and as stores keep it. Opening one verifies every byte."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ..contracts.checkpoint import Checkpoint, CheckpointSummary, Snapshot
from ..contracts.codec import pack, unpack
from ..contracts.errors import Corrupted
from ..contracts.names import mint
from .commands import NewCheckpoint
from .rows import CheckpointRow, CommitLine
from .seals import FORMAT, content_hash, read_commit, seal_of


def close_snapshot(
    snapshot: Snapshot, *, thread: str, agent: str, job: str | None = None, hop: int | None = None, ttl: int = 0
) -> NewCheckpoint:
    """Pack a snapshot; `Unserializable` names a value that could not come back."""
    state = FORMAT + pack(snapshot.state, path="state")
    native = b"" if snapshot.native is None else FORMAT + pack(snapshot.native, path="native")
    context = pack(dict(snapshot.context), path="context")
    about = [thread, job, hop, agent, snapshot.step, snapshot.framework, context]
    header = FORMAT + pack([*about, content_hash(state), content_hash(native)], path="checkpoint")
    return NewCheckpoint(
        id=mint("c"),
        header=header,
        state=state,
        native=native,
        digest=content_hash(header).hex(),
        agent=agent,
        step=snapshot.step,
        ttl=ttl,
    )


def saved(new: NewCheckpoint, snapshot: Snapshot, thread: str, commit: CommitLine) -> Checkpoint:
    """The checkpoint that was just committed. Its state is read back from what was sent, so that the caller's later
    changes of its own objects do not show."""
    row = CheckpointRow(new.id, thread, new.header, commit.line(), new.state, new.native)
    return open_checkpoint(row)


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
    commit = read_commit(row.commit)
    if seal_of(content_hash(row.header).hex(), commit.sealed) != commit.seal:
        raise Corrupted(f"checkpoint {row.id}: its record is not what was saved; older checkpoints may be readable")
    thread, job, hop, agent, step, framework, context, state_hash, native_hash = unpack(_body(row, row.header))
    about = {
        "id": row.id,
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
    return about, state_hash, native_hash


def _body(row: CheckpointRow, data: bytes) -> bytes:
    if data[:1] != FORMAT:
        raise Corrupted(f"checkpoint {row.id} is in an unknown format ({data[:1]!r}): a newer Batonpass may read it")
    return data[1:]


def from_ms(milliseconds: int) -> datetime:
    """A store's time in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)

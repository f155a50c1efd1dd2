"""The wire format of checkpoints, in whatever command."""

from __future__ import annotations

from typing import Any

from ...contracts.names import digest
from ..commands import Fence, NewCheckpoint
from ..rows import CheckpointRow, CommitLine, commit_from
from .wire_values import Arg, read_text


def fence_args(fence: Fence | None) -> list[Arg]:
    """A fence, or none."""
    return [fence.job_id, fence.token, fence.lease_id] if fence else ["", "", ""]


def checkpoint_args(new: NewCheckpoint | None) -> list[Arg]:
    """A new checkpoint, or none: see lua/lib/checkpoint.lua."""
    if new is None:
        return ["", "", "", "", ""]
    words = b"%s%08d%010d" % (digest(new.thread).encode(), len(new.header), len(new.state))
    spans = f"{new.spans} {new.place.text}" if new.place else new.spans
    record: list[Arg] = [new.id, words + new.header + new.state + new.native, new.step, new.ttl, spans]
    if new.spans:
        record += [new.base, len(new.appends), *(part for append in new.appends for part in append)]
    return record


def checkpoint_row(parts: list[bytes]) -> CheckpointRow:
    """A stored checkpoint: id, thread, name, commit line, record, and what each of its spans holds."""
    id_, thread, name, commit, record, *bodies = parts
    lengths = record[32:40], record[40:50]
    if not (lengths[0].isdigit() and lengths[1].isdigit()):
        return CheckpointRow(read_text(id_), read_text(thread), record, "")  # damaged: opening it reports that
    state = 50 + int(lengths[0])
    native = state + int(lengths[1])
    held = record[50:state], read_text(commit), record[state:native], record[native:]
    return CheckpointRow(read_text(id_), read_text(thread), *held, tuple(bodies), read_text(name))


def commit_line(_: object, reply: list[Any]) -> CommitLine:
    """The commit line that a script added to a checkpoint."""
    return commit_from(reply[0].decode())

"""Redrafts: stored checkpoints of a thread, packed anew for a store that can't reach what they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..contracts.checkpoint import Checkpoint, Snapshot
from .coded.codec import Codec
from .commands import NewCheckpoint
from .parts.nodes import Base
from .seals import read_commit
from .snapshots import Opened, draft


def first_copied(source: Checkpoint) -> dict[str, Any]:
    """What a copy's header says of the original."""
    at = source.original_at
    return {"copy": [source.copy_of, round(at.timestamp() * 1000)]} if at else {}


class Redrafts:
    """Packs checkpoints one after the other. Each shares what it can with the one before."""

    def __init__(self, thread: str, codec: Codec | None) -> None:
        self._thread = thread
        self._codec = codec
        self._base: Base | None = None

    def make(
        self, opened: Opened, checkpoint_id: str, *, ttl: int = 0, more: Mapping[str, Any] | None = None
    ) -> NewCheckpoint:
        """The checkpoint for the thread. Besides what it says itself, its header says `more`."""
        source = opened.checkpoint
        said = {**first_copied(source), **(more or {})}
        made = draft(
            Snapshot(
                step=source.step,
                state=source.state,
                framework=source.framework,
                native=source.native,
                context=source.context,
            ),
            thread=self._thread,
            agent=source.agent,
            job=source.job,
            hop=source.hop,
            ttl=ttl,
            base=self._base,
            checkpoint_id=checkpoint_id,
            codec=self._codec,
            more=said if source.version == 1 else {**said, "version": source.version},
            place=read_commit(opened.row.commit, opened.row.id).place,
        )
        self._base = made.nodes
        return made.new

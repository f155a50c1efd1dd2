"""Rows: converts rows of tables to those of the operations."""

from __future__ import annotations

from ..rows import CheckpointRow


def checkpoint_row(
    id_: str, thread: str, header: bytes, commit: bytes, name: str, state: bytes = b"", native: bytes = b""
) -> CheckpointRow:
    """A checkpoint whose commit line was read as bytes."""
    return CheckpointRow(id_, thread, header, commit.decode("utf-8", "replace"), state, native, (), name)

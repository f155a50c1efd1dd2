"""A folder in memory, for SQLite files of tests that kill nothing: to wait for a disk would prove nothing there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_RAM = Path("/dev/shm")
_ENOUGH = 1 << 30


@contextmanager
def ram_folder() -> Iterator[Path]:
    """A new folder, removed afterwards. On the disk if there is no memory file system, or no room in it."""
    there = os.access(_RAM, os.W_OK) and shutil.disk_usage(_RAM).free > _ENOUGH
    with tempfile.TemporaryDirectory(prefix="batonpass-", dir=_RAM if there else None) as name:
        yield Path(name)

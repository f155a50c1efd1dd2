"""New files: they appear under their names when they are complete."""

from __future__ import annotations

import os


def put_in_place(part: str, target: str) -> None:
    """Give a complete file its name. `FileExistsError` if there is such a file."""
    try:
        os.link(part, target)  # unlike a rename, this fails if the target exists
    except FileExistsError:
        raise
    except OSError:  # the file system has no links
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        os.rename(part, target)
    else:
        os.unlink(part)
    sync(os.path.dirname(target) or ".")


def sync(path: str) -> None:
    """Return when a file, or a folder's list of files, is on the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)

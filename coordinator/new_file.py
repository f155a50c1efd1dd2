"""New files: only their user may read them, and they appear under their names when they are complete."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

# Others don't read what agents work on, unless somebody lets them.
PRIVATE = 0o600


def begin_private(path: str) -> None:
    """Make an empty file, if there is none: an existing one keeps its mode, by which users may share it.

    Opening and closing it would take other threads' locks off a file that they have begun to use: `mknod` does not.
    """
    with suppress(OSError):  # who uses the file is told
        path = os.path.realpath(path)  # neither call follows a link to a file that is yet to be made
        if os.path.lexists(path):
            return
        try:
            os.mknod(path, PRIVATE | stat.S_IFREG)
        except (AttributeError, PermissionError):  # not on Windows, and only for root on macOS
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))


def opener(path: str, flags: int) -> int:
    """An `opener` of `open`, for a private file."""
    return os.open(path, flags, PRIVATE)


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

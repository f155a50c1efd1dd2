"""Sources: notices that code has changed, and restarts the process."""

from __future__ import annotations

import logging
import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import NoReturn

import anyio
from anyio import to_thread

from ..contracts.errors import BatonpassError, Unavailable, Unreachable
from .trouble import Trouble

_log = logging.getLogger("batonpass.worker")
# Seconds between two looks.
_PAUSE = 0.5
# ... and between two attempts to start while the store is away, besides what it takes to find that out.
_AWAY = 1.0
# Installed packages are in these folders, or in one with a pyvenv.cfg.
_LEFT_OUT = {"__pycache__", "node_modules", "site-packages"}
# Where the process began. The app, or an agent, may change to another folder.
_BEGAN_IN = os.getcwd()


class Sources:
    """The Python files in a folder and below, as they are now, without hidden folders and installed packages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = _times(folder)

    def changed(self) -> str:
        """A file that was changed, added or removed since. "" if none was."""
        before, now = self._before, _times(self._folder)
        changed = [path for path in (before | now) if before.get(path) != now.get(path)]
        for path in changed:
            _uncache(path)
        return changed[0] if changed else ""

    async def change(self) -> str:
        """Wait for a change. Returns the file."""
        while True:
            await anyio.sleep(_PAUSE)
            if path := await to_thread.run_sync(self.changed, abandon_on_cancel=True):
                return path


def keep_reloading(run: Callable[[Sources], bool]) -> None:
    """Run a worker that watches its sources. Restart it if it ends for a change, or after a change if it fails. If the
    store is away, try again by itself: nobody else starts it anew, as a service manager does without `--reload`."""
    sources, away = Sources(Path(_BEGAN_IN)), Trouble("this worker can't start")
    while True:
        patience = math.inf
        try:
            if run(sources):
                break
            return
        except Unavailable as error:
            if isinstance(error, Unreachable) and error.lasting:
                _log.error("%s; restarting", error)
                break  # it ran, and may have left threads behind
            away.met(error)
            patience = _AWAY
        except BatonpassError as error:
            _log.error("%s; waiting for a change", error)
        if _changed_within(patience, sources):
            break
    begin_anew()


def _changed_within(seconds: float, sources: Sources) -> bool:
    """Wait for a change this long. Returns whether there was one."""
    end = time.monotonic() + seconds
    while not sources.changed():
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE)
    return True


def begin_anew() -> NoReturn:
    """Replace this process by one started the same way, in the same folder. Threads left behind end with it."""
    with suppress(PermissionError):  # see children/setup.py
        os.chdir(_BEGAN_IN)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _uncache(path: str) -> None:
    """Remove stale bytecode. Python takes bytecode as current if its source has the same size and second of change, so
    after two quick edits it would run the code between them."""
    with suppress(OSError, NotImplementedError):  # there is no bytecode, or this Python writes none
        Path(cache_from_source(path)).unlink()


def _times(folder: Path) -> dict[str, int]:
    times: dict[str, int] = {}
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                entries = list(found)
            if any(entry.name == "pyvenv.cfg" for entry in entries):
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(".") and entry.name not in _LEFT_OUT:
                        folders.append(entry.path)
                elif entry.name.endswith(".py"):
                    times[entry.path] = entry.stat().st_mtime_ns
        except OSError:  # it was removed meanwhile
            continue
    return times

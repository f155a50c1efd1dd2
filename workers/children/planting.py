"""Planting: the first zygote is forked from the worker's own process, which has no loop and no thread yet.

The worker has imported the app by then, and with it the frameworks, as a rule: a zygote that is started anew needs the
same seconds and the same memory once more.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from socket import socket, socketpair
from typing import NoReturn

from ...contracts.app import App
from ...coordinator.connection import connect
from ..adapters import load_adapter
from ..late import told_if_late
from .seed import Seed
from .setup import Prepared, Setup
from .zygote import can_fork, serve

_log = logging.getLogger("batonpass.worker")


@contextmanager
def planted(setup: Setup, app: App) -> Generator[Seed | None]:
    """A block with a seed. It ends with the block. None where this process can't be forked, or could not be told of the
    seed's end. `MissingExtra` if a framework is not installed."""
    seed = _plant(setup, app) if _hears_ends() else None
    try:
        yield seed
    finally:
        if seed is not None:
            seed.sock.close()
            with suppress(ChildProcessError):  # its end was noticed
                if os.waitpid(seed.pid, os.WNOHANG) == (0, 0):
                    os.kill(seed.pid, signal.SIGKILL)
                    os.waitpid(seed.pid, 0)


def _hears_ends() -> bool:
    """Whether the system tells of the end of a process that was forked. Linux does from 5.3 on, if it is allowed."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def _plant(setup: Setup, app: App) -> Seed | None:
    with told_if_late(f"still loading {', '.join(setup.kinds)}"):
        adapters = {kind: load_adapter(kind) for kind in setup.kinds}
    connect(setup.url, namespace=setup.namespace, app=app)  # imports what the store needs, and opens nothing
    if not can_fork():
        return None
    ours, theirs = socketpair()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # it is closed, or its reader is gone
            stream.flush()  # or both would write what is in its buffer
    gc.collect()
    gc.freeze()  # so that a collection does not copy every page, neither here nor there
    pid = os.fork()
    if pid == 0:
        ours.close()
        _become_zygote(theirs, Prepared(setup, app, adapters))
    theirs.close()
    return Seed(pid, ours)


def _become_zygote(sock: socket, prepared: Prepared) -> NoReturn:
    code = 1
    try:
        os.setpgid(0, 0)  # Ctrl-C is for the worker, which then tells its processes what to do
        serve(sock, prepared)
        code = 0
    except BaseException:
        _log.exception("process %d, which forks children, ends", os.getpid())
    finally:
        os._exit(code)

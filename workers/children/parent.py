"""Parent: our processes end with the worker that started them, even in the middle of an import, or if their code keeps
all their threads from running."""

from __future__ import annotations

import ctypes
import select
import signal
import sys
from socket import socket

from .frames import Frame, read_frame

_PR_SET_PDEATHSIG = 1


def hear_setup(sock: socket) -> Frame | None:
    """Receive the setup from the worker, None if it is gone. From now on this process ends with the worker."""
    signal_when_gone(signal.SIGKILL)
    setup = read_frame(sock)
    gone, _, _ = select.select([sock], [], [], 0)  # the worker sends nothing more before we answer: readable means gone
    return None if gone else setup


def outlive_parent() -> None:
    """Undo what `hear_setup` did, because this process has something to do after the worker is gone."""
    signal_when_gone(0)


def signal_when_gone(number: int) -> None:
    """Have the kernel send this signal when the parent ends. Where it can't, processes notice by their sockets."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)

"""Parent: a process of ours ends with the worker that started it, also in the middle of an import, or in code that lets
no thread of it look."""

from __future__ import annotations

import ctypes
import select
import signal
import sys
from socket import socket

from .frames import Frame, read_frame

_PR_SET_PDEATHSIG = 1


def hear_setup(sock: socket) -> Frame | None:
    """What the worker has this process prepare, None if it is gone. From now on this process ends with it."""
    signal_when_gone(signal.SIGKILL)
    setup = read_frame(sock)
    gone, _, _ = select.select([sock], [], [], 0)  # it says nothing more before it has an answer
    return None if gone else setup


def outlive_parent() -> None:
    """Undo that: there is something to do when the worker is gone."""
    signal_when_gone(0)


def signal_when_gone(number: int) -> None:
    """Have the kernel send this signal when the parent ends; where it can't, processes notice by their sockets."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)

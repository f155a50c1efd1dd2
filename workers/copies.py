"""Copies: processes that an agent's code forks off ours, as `multiprocessing` does."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Collection
from threading import local

_log = logging.getLogger("batonpass.worker")


def end_if_copied(home: int) -> None:
    """End this process if it is not that one.

    An agent's code that returns in a copy must not continue as a second worker there: it would use the same
    connections, and hold the same leases.
    """
    if os.getpid() != home:
        _log.error("an agent's code forked process %d and returned in the copy: the copy ends", home)
        os._exit(1)


def let_signals_end_copies(signals: Collection[signal.Signals]) -> None:
    """From now on, these signals do to a copy of this process what they do to any program. This process handles them,
    so `Pool.terminate()` would leave a copy running, and tell this process to stop through the pipes that both have.

    Signals that this process ignores stay ignored. Copies of a copy inherit what that one made of its signals.
    """
    home, before = os.getpid(), _Before()

    def hold() -> None:
        # A signal must not come between the fork and `reset`.
        if os.getpid() == home:
            before.mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)

    def let_go() -> None:
        if before.mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before.mask)
            before.mask = None

    def reset() -> None:
        if before.mask is not None:
            signal.set_wakeup_fd(-1)
            for each in signals:
                if signal.getsignal(each) != signal.SIG_IGN:
                    signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)
            let_go()

    os.register_at_fork(before=hold, after_in_parent=let_go, after_in_child=reset)


class _Before(local):
    """What a thread blocked before it forked."""

    mask: set[int] | None = None

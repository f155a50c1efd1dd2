"""Signals that the run of the tests was started to ignore, by nohup or by a shell in the background.

The processes that it starts get the defaults all the same, because tests are about them. The run itself, in all its
processes, continues to ignore them.
"""

from __future__ import annotations

import os
import signal

_NAMES = ("SIGHUP", "SIGQUIT", "SIGTERM")
_VARIABLE = "BATONPASS_TEST_IGNORED"


def keep_from_children() -> None:
    """Have no child inherit that these signals are ignored: a handler ends with an exec."""
    named = os.environ.get(_VARIABLE, "").split()
    ignored = [name for name in _NAMES if name in named or signal.getsignal(signal.Signals[name]) is signal.SIG_IGN]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # tests send it to the run, too
    for name in ignored:
        signal.signal(signal.Signals[name], _nothing)
    if ignored:  # the run's other processes are children, too
        os.environ[_VARIABLE] = " ".join(ignored)


def _nothing(*_: object) -> None: ...

"""Copies: if an agent's code forks this process and returns in the copy, the copy must not continue as a second worker.

It would use the same connections, and hold the same leases.
"""

from __future__ import annotations

import logging
import os

_log = logging.getLogger("batonpass.worker")


def end_if_copied(home: int) -> None:
    """End this process if it is not that one."""
    if os.getpid() != home:
        _log.error("an agent's code forked process %d and returned in the copy: the copy ends", home)
        os._exit(1)

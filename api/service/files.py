"""Files: how many connections the service can have, and what it says when there can be no more."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

from batonpass.workers.trouble import Trouble

_log = logging.getLogger("batonpass.service")
_NO_MORE = "socket.accept() out of system resource"  # asyncio's words
_LATER = "_start_serving"  # ... of attempts that it has put off until after the service's end


def allow_many() -> None:
    """As many files as the system lets this process open: by default it is told 1,024, for programs that use select,
    and each connection takes one."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # macOS has a limit that it does not tell
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def tell_once() -> None:
    """In this loop: log that no connection can be accepted from time to time. asyncio logs a traceback for each
    attempt, thousands a second."""
    loop, trouble = asyncio.get_running_loop(), Trouble("no connection can be accepted", _log)
    others = loop.get_exception_handler() or type(loop).default_exception_handler

    def handle(of: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        what = context.get("message", "")
        if what == _NO_MORE:
            trouble.met(f"{context.get('exception')}: have fewer clients at once, or raise `ulimit -n`")
        elif _LATER not in what:
            others(of, context)

    loop.set_exception_handler(handle)

"""Steady: an event loop that `sys.exit()` or a KeyboardInterrupt in some task does not stop.

Frameworks run agents' code in tasks of their own. asyncio gives a task's `SystemExit` or `KeyboardInterrupt` to who
awaits it, as any error, and stops its loop besides, with all other jobs in it. (Ctrl-C is a signal that workers take:
whatever raises KeyboardInterrupt there is an agent's code, or a library that stops it so.)
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

_log = logging.getLogger("batonpass.worker")


class SteadyLoop(asyncio.SelectorEventLoop):
    """The loop of a process of ours."""

    _main: object = None

    def run_until_complete(self, future: Any) -> Any:  # what it takes has another type from Python 3.12 on
        """Run until that one is done."""
        self._main = future
        return super().run_until_complete(future)

    def run_forever(self) -> None:
        """Run until `stop`, or until what the process is there for exits."""
        while True:
            try:
                return super().run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                if asyncio.isfuture(self._main) and self._main.done():
                    raise
                did = "called sys.exit()" if isinstance(error, SystemExit) else "raised KeyboardInterrupt"
                _log.warning("code of an agent %s in a task of its own: this process goes on", did)


# For `anyio.run`.
STEADY: dict[str, Any] = {"loop_factory": SteadyLoop}

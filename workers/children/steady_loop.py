"""SteadyLoop: an event loop that survives `sys.exit()` or a KeyboardInterrupt in a task.

Frameworks run agents' code in their own tasks. asyncio gives a task's `SystemExit` or `KeyboardInterrupt` to whoever
awaits it, like any error, but it also stops the loop, with all other jobs in it. (Workers handle Ctrl-C as a signal, so
a KeyboardInterrupt comes from an agent's code, or from a library that stops it this way.)
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

_log = logging.getLogger("batonpass.worker")


class SteadyLoop(asyncio.SelectorEventLoop):
    """The event loop of our processes."""

    _main: object = None

    def run_until_complete(self, future: Any) -> Any:  # the parameter has another type from Python 3.12 on
        """Run until the future is done."""
        self._main = future
        return super().run_until_complete(future)

    def run_forever(self) -> None:
        """Run until `stop`, or until the process's main task exits."""
        while True:
            try:
                return super().run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                if asyncio.isfuture(self._main) and self._main.done():
                    raise
                did = "called sys.exit()" if isinstance(error, SystemExit) else "raised KeyboardInterrupt"
                _log.warning("an agent's code %s in its own task: this process continues", did)


# For `anyio.run`.
STEADY: dict[str, Any] = {"loop_factory": SteadyLoop}

"""Trouble: logs repeated failures of a loop, a worker's or a courier's, without a line for each attempt."""

from __future__ import annotations

import logging
import time

_log = logging.getLogger("batonpass.worker")
_AGAIN = 30.0  # seconds after which lasting trouble is logged again


class Trouble:
    """Logged when it begins, from time to time while it lasts, and when it is over.

    A heartbeat is tried ten times a second, and logs may be on the disk that is full.
    """

    def __init__(self, failed: str, log: logging.Logger = _log) -> None:
        """`failed` says what failed."""
        self._failed = failed
        self._log = log
        self._since: float | None = None
        self._told = 0.0

    def met(self, error: Exception | str) -> None:
        """An attempt failed, and there will be another one."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        elif now - self._told < _AGAIN:
            return
        self._told = now
        self._log.warning("%s, trying again: %s", self._failed, error)

    def over(self) -> None:
        """An attempt succeeded."""
        if self._since is not None:
            self._log.info("%s for %.1f s: that is over", self._failed, time.monotonic() - self._since)
            self._since = None

    def forget(self) -> None:
        """The next failure is the first one."""
        self._since = None


class Troubles:
    """The same trouble of several at once: over when none of them has it any more. That others fare well says little:
    one node of a cluster may be gone, and a full server still takes the ends of jobs."""

    def __init__(self, failed: str, log: logging.Logger = _log) -> None:
        self._trouble = Trouble(failed, log)
        self._having: dict[str, Exception] = {}

    def of(self, who: str) -> Exception | None:
        """The trouble that this one has."""
        return self._having.get(who)

    def met(self, who: str, error: Exception) -> None:
        """An attempt failed, and there will be another one."""
        self._having[who] = error
        self._trouble.met(error)

    def over(self, who: str) -> None:
        """An attempt succeeded."""
        if self._left(who):
            self._trouble.over()

    def gave_up(self, who: str) -> None:
        """There will be no other attempt. That is told elsewhere."""
        if self._left(who):
            self._trouble.forget()

    def _left(self, who: str) -> bool:
        """Whether this one was the last to have it."""
        if who not in self._having:
            return False
        del self._having[who]
        return not self._having

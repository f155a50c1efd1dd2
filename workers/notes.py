"""Notes: what the log says about deliveries that go well. Short ones must not spend their time on that."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from ..coordinator.rows import Delivery, JobRow

_log = logging.getLogger("batonpass.worker")
# If a delivery ends sooner (seconds), only its end is logged.
_SHORT = 0.1


class About(str):
    """A delivery as log lines name it. Lines in JSON also have the parts as fields."""

    row: JobRow

    @classmethod
    def of(cls, row: JobRow) -> About:
        """What the log calls a delivery."""
        made = cls(f"job {row.id} hop {row.hop} {row.agent}")
        made.row = row
        return made

    @property
    def fields(self) -> dict[str, Any]:
        """Its parts, by name."""
        row = self.row
        return {"job": row.id, "hop": row.hop, "agent": row.agent, "attempt": row.attempt}


class Notes:
    """The notes of one event loop. Deliveries that end in one turn share a line, because a line costs a tenth of a
    short job's processor time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun: dict[str, tuple[About, Delivery]] = {}  # deliveries not logged yet, by lease
        self._ended: list[tuple[About, str]] = []
        self._saying = False

    def begun(self, about: About, delivery: Delivery) -> None:
        """A delivery starts. `follow` is called when its agent is running."""
        self._begun[delivery.job.lease] = about, delivery

    def follow(self) -> None:
        """Log the deliveries that have started, if they don't end soon."""
        if self._begun and not self._saying:
            self._saying = True
            self._loop.call_later(_SHORT, self._say_begun)

    def ended(self, about: About, how: str) -> None:
        """A delivery has ended well."""
        if not self._ended:
            self._loop.call_soon(self._say_ended)
        self._ended.append((about, how))

    def away(self, lease: str) -> None:
        """A delivery runs in another process, which logs how it fails: so its start is logged now."""
        if lease in self._begun:
            _say(*self._begun.pop(lease))

    def over(self, lease: str) -> None:
        """A delivery's code no longer runs, however it ended. Call this before that is logged: a start that is told
        after it would look like another one."""
        self._begun.pop(lease, None)

    def _say_begun(self) -> None:
        self._saying = False
        for each in self._begun.values():
            _say(*each)
        self._begun.clear()

    def _say_ended(self) -> None:
        line = "; ".join([f"{about}: {how}" for about, how in self._ended])
        _log.info("%s", line, extra={"jobs": self._ended.copy()})
        self._ended.clear()


def _say(about: About, delivery: Delivery) -> None:
    row = delivery.job
    _log.info("%s: started (attempt %d, token %d%s)", about, row.attempt, row.token, _resumed(delivery))


def _resumed(delivery: Delivery) -> str:
    mine = delivery.job.tip and delivery.checkpoint
    return f", from checkpoint {delivery.job.tip}" if mine else ""

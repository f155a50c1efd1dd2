"""Notes: what the log says about deliveries that go well. Short ones must not spend their time on that."""

from __future__ import annotations

import asyncio
import logging

from ..coordinator.rows import Delivery

_log = logging.getLogger("batonpass.worker")
# If a delivery ends sooner (seconds), only its end is logged.
_SHORT = 0.1


class Notes:
    """The notes of one event loop. Deliveries that end in one turn share a line, because a line costs a tenth of a
    short job's processor time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun: dict[str, tuple[str, Delivery]] = {}  # deliveries not logged yet, by lease
        self._ended: list[str] = []
        self._saying = False

    def begun(self, about: str, delivery: Delivery) -> None:
        """A delivery starts. `follow` is called when its agent is running."""
        self._begun[delivery.job.lease] = about, delivery

    def follow(self) -> None:
        """Log the deliveries that have started, if they don't end soon."""
        if self._begun and not self._saying:
            self._saying = True
            self._loop.call_later(_SHORT, self._say_begun)

    def ended(self, how: str) -> None:
        """A delivery has ended well."""
        if not self._ended:
            self._loop.call_soon(self._say_ended)
        self._ended.append(how)

    def over(self, lease: str) -> None:
        """A delivery no longer runs, however it ended."""
        self._begun.pop(lease, None)

    def _say_begun(self) -> None:
        self._saying = False
        for about, delivery in self._begun.values():
            row = delivery.job
            _log.info("%s: started (attempt %d, token %d%s)", about, row.attempt, row.token, _resumed(delivery))
        self._begun.clear()

    def _say_ended(self) -> None:
        _log.info("%s", "; ".join(self._ended))
        self._ended.clear()


def _resumed(delivery: Delivery) -> str:
    mine = delivery.job.tip and delivery.checkpoint
    return f", from checkpoint {delivery.job.tip}" if mine else ""

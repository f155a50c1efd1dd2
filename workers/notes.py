"""Notes: what the log says of deliveries that go well. Short ones must not spend their time on that."""

from __future__ import annotations

import asyncio
import logging

from ..coordinator.rows import Delivery

_log = logging.getLogger("batonpass.worker")
# Of what ends sooner (seconds) the log says only that.
_SHORT = 0.1


class Notes:
    """The notes of one event loop. What ends in one turn of it shares a line: a line takes a tenth of the processor
    time of a short job."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun: dict[str, tuple[str, Delivery]] = {}  # deliveries that the log says nothing of yet, by lease
        self._ended: list[str] = []
        self._saying = False

    def begun(self, about: str, delivery: Delivery) -> None:
        """A delivery starts. `follow` is called when its agent is under way."""
        self._begun[delivery.job.lease] = about, delivery

    def follow(self) -> None:
        """Have the log tell of what has begun, if it is not over soon."""
        if self._begun and not self._saying:
            self._saying = True
            self._loop.call_later(_SHORT, self._say_begun)

    def ended(self, how: str) -> None:
        """One has ended well."""
        if not self._ended:
            self._loop.call_soon(self._say_ended)
        self._ended.append(how)

    def over(self, lease: str) -> None:
        """One does not run any more, however it ended."""
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

"""Witness: remembers what was seen of a store, to notice if the store goes back in time."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence
from typing import Any

from ...contracts.names import is_id, minted_at
from ..commands import Claim, Command, Events, LastEvent, Reap, TrimEvents
from ..safety import UnsafeStore
from .wire_values import read_text

_log = logging.getLogger("batonpass.store")
# Seconds between two looks at the store. (A server that syncs its file every second can lose up to two.)
_PAUSE = 1.0
# A worker that only claims and reaps knows of nothing that could be lost, so it looks less often.
_SELDOM = 5.0
_ASKING = frozenset[type[Command[Any]]]({Claim, Reap, TrimEvents})
_TELLING = frozenset[type[Command[Any]]]({Events, LastEvent})
_NOTHING = ("0-0", "")
_CAUSE = (
    " (a restart without its last writes, a failover, an old backup). Jobs go on from what is left; what came after "
    "that may run again"
)


class Witness:
    """What the handles of one store have seen: the position of the newest event, and the namespace's epoch."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._seen = _NOTHING
        self._next = time.monotonic() + _PAUSE

    @property
    def knows(self) -> bool:
        """Whether it has seen anything."""
        return self._seen != _NOTHING

    def due(self, command: Command[Any]) -> bool:
        """Whether to look at the store now. Always with a command whose answer tells how far the store is."""
        late = time.monotonic() - self._next
        return late > (_SELDOM - _PAUSE if type(command) in _ASKING else 0) or type(command) in _TELLING

    def hurry(self) -> None:
        """The connection had trouble: let the next call look."""
        self._next = 0.0

    def question(self) -> tuple[str, str]:
        """The arguments of the script `store/witness`."""
        self._next = time.monotonic() + _PAUSE
        return self._seen

    def learn(self, position: bytes, epoch: bytes, went_back: int = 0) -> None:
        """Remember what the script answered, or what was found when the store was opened."""
        known, _ = self._seen
        self._seen = (position.decode(), epoch.decode())
        if went_back:
            text = f"{self._url} went back in time: event {known}, which it had, is gone{_CAUSE}"
            warnings.warn(text, UnsafeStore, stacklevel=2)

    def refused(self, reply: Sequence[Any]) -> None:
        """Look at a refusal: if the store does not know a lease that it gave, it has lost writes."""
        if reply[0] == b"!fenced" and int(reply[5]) < int(reply[2]):
            proof = f"of job {read_text(reply[1])} it knows token {int(reply[5])}, but issued {int(reply[2])}"
        elif reply[0] == b"!no_job" and len(reply) > 2 and reply[2]:  # a fence's, and nobody has deleted the job
            proof = f"it does not know job {read_text(reply[1])}, which it leased" if _is_lost(*reply[1:3]) else ""
        else:
            return
        self.hurry()
        if proof:
            _log.error("%s went back in time: %s%s", self._url, proof, _CAUSE)


def _is_lost(job: bytes, searched: bytes) -> bool:
    """Whether no event since a job was made says that it was deleted. If there are too many to tell, the next look at
    the store has to."""
    job_id = read_text(job)
    return is_id(job_id, "j") and int(searched.partition(b"-")[0]) <= minted_at(job_id)

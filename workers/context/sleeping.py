"""Sleeping: the logic of `ctx.sleep`. No I/O."""

from __future__ import annotations

from datetime import datetime

from ...contracts.checkpoint import Snapshot
from ...contracts.errors import BadSetup
from ..session import LeaseSession
from ..threads import place
from .steps import Pause, Steps

_STEP = "sleep"
# What a sleep is recorded as. No step that a user names begins so.
_NAME = f"#{_STEP}"


class Sleeping(Pause):
    """The agent waits for a time."""

    def __init__(self, steps: Steps, session: LeaseSession) -> None:
        super().__init__(_NAME)
        self._steps = steps
        self._session = session

    @property
    def delay(self) -> int:
        """In how many ms the first of its sleeps is over."""
        return max(min(self._steps.asleep.values()) - self._session.now, 0)

    def snapshot(self) -> Snapshot:
        """What is committed with the wait: the steps recorded until now, and until when each sleep lasts."""
        return self._steps.snapshot(_STEP)


def sleep(steps: Steps, session: LeaseSession, delay: int, key: str | None) -> None:
    """Return if the sleep for `delay` ms is over, or raise `Sleeping`. Without a `key`, the hop's sleeps are counted.

    How long an earlier run wanted to sleep counts: the code may choose another time with each run.
    """
    if key is None and session.home not in (None, place()):
        raise BadSetup(
            "ctx.sleep() needs key= in a task or thread of its own: counting can't tell the sleeps of several apart"
        )
    full, _, recorded = steps.begin(_NAME, key, None)
    steps.leave(_NAME)
    until = session.now + delay
    if recorded is not None:  # perhaps by a person who redrove the job: what is no time is over
        until = int(recorded.result.timestamp() * 1000) if isinstance(recorded.result, datetime) else 0
    if until > session.now:
        steps.asleep[full] = until
        raise steps.paused(Sleeping(steps, session))

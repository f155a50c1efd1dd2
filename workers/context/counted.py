"""Counted: questions and fan-outs have no names of their own and are counted. No I/O.

An agent's tasks may make such calls in another order than in an earlier run, because what is recorded takes no time
any more. So a call is known again by its arguments, or an answer would go to another question. The count only tells
those apart that are the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from functools import cache
from typing import Any

from ..session import LeaseSession
from .arguments import older_digests
from .steps import ReplayMismatch, Steps

# For how many seconds a call that is new lets tasks go ahead that have not made their earlier calls again. What they
# recorded before those is there. But what an agent does outside of steps takes its time: a model's answer, say.
PATIENCE = 60.0
# For how many one of the agent's own task, or of its thread, does, if no other has made such a call in this hop.
OWN_PATIENCE = 5.0
# The record that another has.
_APART = "apart"
# After how many seconds it says so.
_SILENT = 4.0
_WAITS = "job %s: a new %s waits until %r is made again, as in an earlier run. In %.0f s it gives up"
_log = logging.getLogger("batonpass.worker")
_FIXED = (
    ". If you edited the payload, redrive with the one that it had, or submit a new job: what children were given "
    "can't be changed any more"
)
_MUST = {
    "ask": "has asked something else: replayed code must ask the same questions",
    "fan_out": "has made other children: replayed code must fan out to the same agents with the same payloads",
}


class Later:
    """Let other tasks have their turn, for so many seconds."""

    seconds = 0.02


def counted(
    steps: Steps,
    name: str,
    arguments: object,
    earlier: Mapping[str, bytes | None],
    session: LeaseSession,
    *,
    optional: Container[str] = (),
) -> Generator[Later, Any, tuple[str, bytes]]:
    """Enter a call. Returns its key and its arguments' digest.

    `earlier` are the calls of this name that are known, with their digests (None: any). Raises `ReplayMismatch` if one
    of them is not made again before a new one is made, unless it is `optional`, because it has no outcome.
    """
    digest = steps.digest(name, arguments)
    older = cache(lambda: older_digests(arguments))  # costs more than the rest, and is rarely needed
    began, told = time.monotonic(), False
    # Less than the attempt's timeout, which would be retried, and not say what is wrong.
    alone = steps.at_home and not session.journal.get(_APART)
    patience = min(OWN_PATIENCE if alone else PATIENCE, steps.timeout / 2)
    while True:
        steps.check()
        full = _repeated(steps, earlier, digest, older)
        left = [] if full else [each for each in _left(steps, earlier) if each not in optional]
        if full is None and (not left or steps.pause is not None):
            full = f"{name}#{len(earlier)}" if earlier else name
        if full is not None:
            steps.made.add(full)
            return full, digest
        waited = time.monotonic() - began
        if waited > patience:
            advice = steps.advice(left[0]) if name == "ask" else _FIXED
            raise ReplayMismatch(
                f"{left[0]!r} of job {steps.job_id} {_MUST[name]}. If you changed the code, put the old code back, and "
                f"redrive the job{advice}"
            )
        if waited > _SILENT and not told:
            told = True
            _log.warning(_WAITS, steps.job_id, name, left[0], patience)
        yield Later()


def news(steps: Steps, session: LeaseSession) -> dict[str, Any]:
    """What to record before a new call: that it is the first one outside of the agent's own task, and what it may
    depend on."""
    first = not steps.at_home and not session.journal.get(_APART)
    return {_APART: True, **steps.losses.news()} if first else steps.losses.news()


def _repeated(
    steps: Steps, earlier: Mapping[str, bytes | None], digest: bytes, older: Callable[[], Sequence[bytes]]
) -> str | None:
    """The key of an earlier call that one with this digest repeats, or that an older release has recorded so."""
    left = earlier.keys() - steps.made
    for digests in (lambda: (digest,), older, lambda: (None,)):
        if left and (found := {full for full in left if earlier[full] in digests()}):
            return min(found, key=ordinal)
    return None


def _left(steps: Steps, earlier: Mapping[str, object]) -> list[str]:
    return sorted(earlier.keys() - steps.made, key=ordinal)


def ordinal(full: str) -> int:
    """The place of a call among those of its name, by its key."""
    return int(full.partition("#")[2] or 0)


def is_counted(full: str, name: str) -> bool:
    """Whether it is the key of a counted call of this name."""
    return full.partition("#")[0] == name

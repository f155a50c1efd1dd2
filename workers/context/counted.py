"""Counted: questions and fan-outs have no names of their own and are counted. No I/O.

An agent's tasks may make such calls in another order than in an earlier run, because what is recorded takes no time
any more. So a call is known again by its arguments, or an answer would go to another question. The count only tells
those apart that are the same.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from typing import Any

from ...contracts.errors import StepMismatch
from .steps import Steps, same

# For how many seconds a call that is new lets tasks go ahead that have not made their earlier calls again. They have no
# reason to take long: what they recorded before those is there. But what an agent does outside of steps takes its time.
PATIENCE = 5.0
_MUST = {
    "ask": "has asked something else: replayed code must ask the same questions",
    "fan_out": "has made other children: replayed code must fan out to the same agents with the same payloads",
}


class Later:
    """Let other tasks have their turn, for so many seconds."""

    seconds = 0.02


def counted(
    steps: Steps, name: str, arguments: object, earlier: Mapping[str, bytes | None]
) -> Generator[Later, Any, tuple[str, bytes]]:
    """Enter a call. Returns its key and its arguments' digest.

    `earlier` are the calls of this name that have an outcome, with their digests (None: any). Raises `StepMismatch` if
    one of them is not made again before a new one is made.
    """
    ends = time.monotonic() + PATIENCE
    while True:
        steps.check()
        digest = steps.digest(name, arguments)
        full = _full(steps, name, digest, arguments, earlier)
        if full is not None:
            steps.made.add(full)
            return full, digest
        if time.monotonic() > ends:
            [first, *_] = _left(steps, earlier)
            advice = steps.advice(first) if name == "ask" else ""
            raise StepMismatch(
                f"{first!r} of job {steps.job_id} {_MUST[name]}. If you changed the code, put the old code back, and "
                f"redrive the job{advice}"
            )
        yield Later()


def _full(steps: Steps, name: str, digest: bytes, arguments: object, earlier: Mapping[str, bytes | None]) -> str | None:
    """The key of an earlier call that this one repeats, or of a new one. None if others have to be repeated first."""
    left = _left(steps, earlier)
    known = [full for full in left if (of := earlier[full]) is not None and same(of, digest, arguments)]
    if found := known or [full for full in left if earlier[full] is None]:
        return found[0]
    if left and steps.pause is None:
        return None
    return f"{name}#{len(earlier)}" if earlier else name


def _left(steps: Steps, earlier: Mapping[str, object]) -> list[str]:
    return sorted(earlier.keys() - steps.made, key=lambda full: int(full.partition("#")[2] or 0))


def is_counted(full: str, name: str) -> bool:
    """Whether it is the key of a counted call of this name."""
    return full.partition("#")[0] == name

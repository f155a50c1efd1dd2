"""Saved: reads what an earlier process saved, perhaps with other code."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from ...contracts.errors import Corrupted
from ...contracts.unfit import unfit
from ...coordinator.session import Session

VERSION = 1


def bookkeeping(session: Session, part: str) -> dict[str, Any]:
    """The `native` of the hop's checkpoint, or {} without one. `Corrupted` if it has no `part`."""
    checkpoint = session.checkpoint
    if checkpoint is None:
        return {}
    native: dict[str, Any] = checkpoint.native or {}
    if native.get("v") != VERSION or part not in native:
        raise Corrupted(
            f"checkpoint {checkpoint.id} of job {session.job_id} was not made by what agent {session.agent!r} runs "
            "now: finish the job with the code and version that it was started with"
        )
    return native


@contextmanager
def fitting(what: str) -> Generator[None]:
    """Around restoring: errors because the data no longer fits the code become `Corrupted`, in one line."""
    try:
        yield
    except (ValueError, TypeError) as error:
        reason = "; ".join(unfit(error)) if isinstance(error, ValidationError) else str(error)
        raise Corrupted(
            f"{what} was saved by other code and does not fit any more ({reason}): put the old class back to finish "
            "the jobs that were started with it"
        ) from None

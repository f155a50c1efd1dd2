"""Events and log lines in the words of the story."""

from __future__ import annotations

from collections.abc import Iterable

import batonpass as bp

from .staff import STAGES


def told(event: bp.Event) -> str:
    """What an event means; empty for one that the story leaves out."""
    data = event.data
    match event.type.removeprefix("batonpass."):
        case "job.started":
            return f"worker {pid_of(event)} has the job ({STAGES[data['agent']]}, fencing token {data['token']})"
        case "checkpoint.saved":
            return f"checkpoint: {data.get('step', '')}"
        case "lease.expired":
            return f"the lease of worker {pid_of(event)} expired (token {data['token']})"
        case "job.handed_off":
            return f"handed off to {data['agent']}, in one commit with the last checkpoint"
        case "job.completed":
            return "completed"
        case "job.retrying":
            return f"failed, will try again: {data.get('error', '')}"
        case "job.failed":
            return f"failed: {data.get('error', '')}"
        case _:
            return ""


def pid_of(event: bp.Event) -> int:
    """The process of the worker that an event names, whose id is host-process-random."""
    return int(str(event.data["worker"]).rsplit("-", 2)[-2])


def refusal_of(log: Iterable[str]) -> str:
    """What a worker logs when its write or its heartbeat is refused, whichever comes first; empty if neither was."""
    words = ("refused: ", "stopped, ")
    return next((line[line.index(word) :] for line in log for word in words if word in line), "")

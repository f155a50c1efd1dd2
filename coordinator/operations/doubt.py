"""Doubt: what a job that others end has left open."""

from __future__ import annotations

from ..commands import DOUBT
from ..records import Records


def in_doubt(records: Records, job_id: str) -> str:
    """Which effects of a job's hop have started, and have no recorded outcome. "" if there are none."""
    names = sorted(key.removeprefix(DOUBT) for key in records.journal(job_id) if key.startswith(DOUBT))
    left = ", ".join(f"'{name}'" for name in names)
    return left and f"effects that had started, and may have happened: {left}"


def joined(*texts: str) -> str:
    """Those that are there, as one text."""
    return "; ".join(text for text in texts if text)

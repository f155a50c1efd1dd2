"""Doubt: what a job that others end has left open."""

from __future__ import annotations

from ..commands import EFFECT, OUTCOME
from ..records import Records


def in_doubt(records: Records, job_id: str) -> str:
    """Which effects of a job's hop have started, and have no recorded outcome. "" if there are none. Only names tell
    here, so that one that was taken back is among them."""
    journal = records.journal(job_id)
    started = sorted(key.removeprefix(EFFECT) for key in journal if key.startswith(EFFECT))
    left = [f"'{name}'" for name in started if OUTCOME + name not in journal]
    return f"effects that had started, and may have happened: {', '.join(left)}" if left else ""


def joined(*texts: str) -> str:
    """Those that are there, as one text."""
    return "; ".join(text for text in texts if text)

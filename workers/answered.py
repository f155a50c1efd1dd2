"""Answered: what a job has asked a person, and the answer. No I/O."""

from __future__ import annotations

from typing import Any

from ..contracts.handoff import Answer
from ..coordinator.blobs import open_blob
from ..coordinator.rows import JobRow


def question_of(row: JobRow) -> Any:
    """The job's last question."""
    return open_blob(row.question, of=f"the question of job {row.id}")


def answer_of(row: JobRow) -> Answer:
    """The answer to it."""
    value = open_blob(row.answer, of=f"the answer to job {row.id}")
    return Answer(question_of(row), value, is_default=row.answered == f"{row.asked} default")

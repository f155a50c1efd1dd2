"""Jobs: how their records, journals and outcomes are coded, and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..commands import SPENT
from ..rows import JobRow, KeptJob, OutcomeRow
from .codec import Codec, tried
from .texts import hidden, told

_BLOBS = {
    **{name: f"the {name} of" for name in ("envelope", "question", "terms")},
    **dict.fromkeys(("answer", "otherwise"), "the answer to"),
}


def records(codec: Codec, journal: Mapping[str, bytes], job_id: str) -> dict[str, bytes]:
    """A journal's records, coded. An empty one deletes."""
    return {key: value and codec.wrap(value, _record(key, job_id)) for key, value in journal.items()}


def read_journal(codec: Codec, journal: Mapping[str, bytes], job_id: str) -> dict[str, bytes]:
    """The opposite of `records`."""
    return {key: tried(codec, data, _record(key, job_id)) for key, data in journal.items()}


def _record(key: str, job_id: str) -> str:
    return f"record {key!r} of job {job_id}"


def spent(job_id: str) -> str:
    """What is coded like the journal's record in whose place the store keeps it."""
    return _record(SPENT, job_id)


def _result_kind(job_id: str, state: str) -> str:
    """What is kept in the place of a job's result, by how it ended: of one without a result what it spent."""
    return f"the result of job {job_id}" if state.endswith("completed") else spent(job_id)


def read_job(codec: Codec, row: JobRow) -> JobRow:
    """A job's record, decoded."""
    read: dict[str, Any] = {
        name: tried(codec, getattr(row, name), f"{about} job {row.id}") for name, about in _BLOBS.items()
    }
    if row.result:
        read["result"] = tried(codec, row.result, _result_kind(row.id, row.state))
    return replace(row, error=told(codec, row.error, row.id), **read)


def read_outcome(codec: Codec, row: OutcomeRow) -> OutcomeRow:
    """How a child ended, decoded."""
    error = told(codec, row.error, row.job_id)
    result = tried(codec, row.result, _result_kind(row.job_id, row.state)) if row.result else b""
    return replace(row, error=error, result=result)


def read_kept(codec: Codec, kept: KeptJob) -> KeptJob:
    """All that is kept of a job, decoded."""
    outcomes = [(fan, read_outcome(codec, row)) for fan, row in kept.outcomes]
    return KeptJob(read_job(codec, kept.job), read_journal(codec, kept.journal, kept.job.id), outcomes)


def kept(codec: Codec, kept: KeptJob) -> KeptJob:
    """All that is kept of a job, coded."""
    row = kept.job
    found = {name: data for name in _BLOBS if (data := getattr(row, name))}
    coded: dict[str, Any] = {name: codec.wrap(data, f"{_BLOBS[name]} job {row.id}") for name, data in found.items()}
    job = replace(
        row, error=hidden(codec, row.error, row.id), result=_result(codec, row.result, row.id, row.state), **coded
    )
    return KeptJob(
        job, records(codec, kept.journal, row.id), [(fan, _outcome(codec, each)) for fan, each in kept.outcomes]
    )


def _outcome(codec: Codec, row: OutcomeRow) -> OutcomeRow:
    result = _result(codec, row.result, row.job_id, row.state)
    return replace(row, error=hidden(codec, row.error, row.job_id), result=result)


def _result(codec: Codec, result: bytes, job_id: str, state: str) -> bytes:
    return codec.wrap(result, _result_kind(job_id, state)) if result else b""

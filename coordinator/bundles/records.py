"""The records of a bundle: a thread, its checkpoints, what was written at its places, and its jobs.

They are what stores keep, without what belongs to a store: leases, places in queues, idempotency keys.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, field, fields, replace
from typing import Any, TypeVar

from ...contracts.codec import unpack
from ...contracts.errors import Corrupted
from ...contracts.job import ENDED, JobState
from ...contracts.lean import dataclass
from ...contracts.names import home, is_id, partition_of
from ...contracts.understood import understood
from ..book import parse_ref, queue_of
from ..commands import SPENT, NewCheckpoint, Stamp
from ..parts.spans import Append, read_spans
from ..rows import EVENT_ATTRIBUTES, JobRow, KeptJob, OutcomeRow, Write, place_from
from ..seals import FORMAT, content_hash
from ..snapshots import from_ms

THREAD, CHECKPOINT, WRITES, JOB = "thread", "checkpoint", "writes", "job"
R = TypeVar("R", JobRow, OutcomeRow)
_TYPES = {"int": int, "str": str, "bytes": bytes}
_GREATEST = 1 << 53  # that Lua has exactly
# What ids and digests are made of: keys of a store are built from some fields of a job.
_IN_KEYS = re.compile(r"[0-9a-z]{0,32}")
# How many fields an event may have, which a script passes on as that many arguments; and how many events, the newest,
# are told of in one.
_FIELDS, _EVENTS = 100, 500


@dataclass(slots=True)
class Carried:
    """A checkpoint on its way to another store."""

    new: NewCheckpoint
    parent: str
    stamp: Stamp


@dataclass(slots=True)
class CarriedJob:
    """A job on its way to another store, and what happened to it there (the fields of events)."""

    kept: KeptJob
    events: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])


def close_checkpoint(carried: Carried) -> list[Any]:
    """As a record."""
    new = carried.new
    held = [new.id, new.header, new.state, new.native, new.agent, new.step, new.spans]
    return [*held, list(map(list, new.appends)), new.place.text if new.place else None, carried.parent, *carried.stamp]


@understood("a checkpoint of the bundle")
def open_checkpoint(values: list[Any], thread: str) -> Carried:
    """From a record."""
    id_, header, state, native, agent, step, spans, appends, place, parent, *stamp = values
    index, created, name = stamp
    read_spans(spans)
    from_ms(created)
    new = NewCheckpoint(
        id=_of_thread(id_, "c", thread),
        thread=thread,
        header=header,
        state=state,
        native=native,
        agent=agent,
        step=step,
        spans=spans,
        appends=[Append(str(log), _number(at), _bytes(data)) for log, at, data in appends],
        place=place_from(place) if place is not None else None,
    )
    if parent and not is_id(parent, "c"):
        raise Corrupted(f"checkpoint {id_} of the bundle comes after {parent!r}, which is no checkpoint's id")
    about = unpack(header[1:])
    if header[:1] != FORMAT or (about[0], *about[7:9]) != (thread, content_hash(state), content_hash(native)):
        raise Corrupted(f"checkpoint {id_} of the bundle is not what was saved on thread {thread!r}")
    return Carried(new, parent, Stamp(_number(index), _number(created), str(name)))


def close_writes(scope: str, key: str, writes: Iterable[Write]) -> list[Any]:
    """What was written at a place, as a record."""
    return [scope, key, [[write.name, write.data] for write in writes]]


@understood("what was written at a place of the bundle")
def open_writes(values: list[Any]) -> tuple[str, str, list[Write]]:
    """From a record: scope, key, and what was written there."""
    scope, key, writes = values
    return str(scope), str(key), [Write(str(name), _bytes(data)) for name, data in writes]


def close_job(carried: CarriedJob) -> list[Any]:
    """As a record."""
    kept = carried.kept
    outcomes = [[fan, asdict(row)] for fan, row in kept.outcomes]
    return [asdict(kept.job), dict(kept.journal), outcomes, list(map(dict, carried.events))]


@understood("a job of the bundle")
def open_job(values: list[Any], thread: str) -> CarriedJob:
    """From a record."""
    job, journal, outcomes, events = values
    row = _row(JobRow, job)
    JobState(row.state)
    if _of_thread(row.id, "j", thread) and row.thread != thread:
        raise Corrupted(f"job {row.id} of the bundle is of another thread")
    if not all(map(_IN_KEYS.fullmatch, (row.queue, row.lane, row.parent, row.fan))):
        raise Corrupted(f"job {row.id} of the bundle has a queue, a lane, a parent or a fan-out that can't be one")
    if row.queue != queue_of(row.agent, parse_ref(row.contract), row.priority):
        raise Corrupted(f"job {row.id} of the bundle is in a queue that is not of its agent, contract and priority")
    records = {str(key): _bytes(value) for key, value in journal.items()}
    ended = [(str(fan), _row(OutcomeRow, each)) for fan, each in outcomes]
    if not all(_IN_KEYS.fullmatch(fan) and is_id(each.job_id, "j") and each.number >= 0 for fan, each in ended):
        raise Corrupted(f"job {row.id} of the bundle has an outcome of what can't be its child")
    return CarriedJob(KeptJob(row, records, ended), list(map(_told, events[-_EVENTS:])))


def _told(event: Mapping[str, Any]) -> Mapping[str, str]:
    if len(event) > _FIELDS:
        raise ValueError("an event with too many fields")
    return {str(name): str(value) for name, value in event.items() if name not in EVENT_ATTRIBUTES}


def _row(kind: type[R], values: Mapping[str, Any]) -> R:
    types = {each.name: _TYPES[str(each.type)] for each in fields(kind)}
    for name, value in values.items():
        if type(value) is not types[name]:
            raise TypeError(f"{name} is of another type")
        if type(value) is int:
            _number(value)
    return kind(**values)


def _number(value: int) -> int:
    if type(value) is not int:  # int() of a decimal with a large exponent would not end
        raise TypeError(f"a {type(value).__name__} where an int was expected")
    if not abs(value) < _GREATEST:
        raise ValueError("a number that is too large for a store")
    return value


def _bytes(value: bytes) -> bytes:
    return bytes(memoryview(value))  # bytes() of a number would be as many zeros


def _of_thread(minted: str, kind: str, thread: str) -> str:
    if not is_id(minted, kind) or partition_of(minted) != home(thread):
        raise Corrupted(f"the bundle has {minted!r}, which can't be an id on thread {thread!r}")
    return minted


def parked(kept: KeptJob, checkpoints: Container[str]) -> KeptJob:
    """The job as it comes to another store, with these checkpoints: nobody holds it, it is in no queue, and nothing
    happens to it by itself. One that had not ended has failed, unless it asks."""
    row = replace(
        kept.job,
        tip=kept.job.tip if kept.job.tip in checkpoints else "",
        began=kept.job.began if kept.job.began in checkpoints else "",
        ready=0,
        lease="",
        worker="",
        lease_until=0,
        due=0,
        closed="",
        failing=0,
        idem="",
        slot="",
        waits=0,
        brood="",
        escalation="",
    )
    if row.fan and not row.verdict:
        row.verdict = "cut"
    if row.state in ENDED:
        return replace(kept, job=row)
    row.expires = row.deadline = 0
    if row.state != JobState.INPUT_REQUIRED:
        row.error = f"it was {row.state} ({row.reason})" if row.reason else f"it was {row.state}"
        row.error += f" when it was exported{', after: ' + kept.job.error if kept.job.error else ''}"
        row.state, row.reason = JobState.FAILED.value, "imported"
        row.result = kept.journal.get(SPENT, b"")
    return replace(kept, job=row)

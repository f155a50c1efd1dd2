"""Exporting: a thread and the jobs on it become a bundle. The store is only read."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

import msgpack

from ...contracts.bundle import BundleInfo
from ...contracts.errors import Conflict, Corrupted, NotFound, Trimmed
from ...contracts.event import IMPORTED
from ...contracts.job import JobState
from ...contracts.lean import dataclass
from ...contracts.names import is_id
from ..bundles.file import BundleWriter
from ..bundles.records import (
    CHECKPOINT,
    JOB,
    THREAD,
    WRITES,
    Carried,
    CarriedJob,
    close_checkpoint,
    close_job,
    close_writes,
)
from ..coded.codec import check_open
from ..commands import Events, JobsOn, LastEvent, NewCheckpoint, Places, ReadKept, ReadSpans, Restore, Stamp, Which
from ..parts.digests import Digests, Plan
from ..parts.runs import Portion, Runs, merged
from ..parts.spans import Append, Span, read_spans, write_spans
from ..parts.stored import Claim, claims
from ..place_writes import inlined
from ..redrafts import Redrafts
from ..rows import EVENT_ATTRIBUTES, CheckpointRow, EventRow, JobRow, KeptJob, PlaceRow
from ..seals import content_hash, read_commit
from ..snapshots import Opened, body_of, from_ms, open_row, verified
from . import Call, copies, places
from .events import PAGE
from .inputs import text
from .rewinding import is_short_of

# Jobs in these states never go on.
_OVER = (JobState.COMPLETED, JobState.CANCELED, JobState.REJECTED)
_OPAQUE: dict[str, Any] = {"ext_hook": msgpack.ExtType, "strict_map_key": False}
_EVENTS = Which(types=("batonpass.job.*", "batonpass.lease.*", IMPORTED))


@dataclass(slots=True)
class _Found:
    """What was found so far."""

    thread: str
    jobs: dict[str, KeptJob] = field(default_factory=dict[str, KeptJob])
    checkpoints: set[str] = field(default_factory=set[str])
    left_out: list[str] = field(default_factory=list[str])


def export(what: str, out: BundleWriter, progress: Callable[[int, int], None], *, decoded: bool) -> Call[BundleInfo]:
    """Write a job, or a thread, with all that belongs to it. `decoded`: the store has a codec.

    A job is read before the checkpoints, which come after what it goes on from is there: it may be running.
    """
    found = yield from _begun(text(what, "job or thread"))
    out.add(THREAD, found.thread)
    yield from _checkpoints(found, out, progress, decoded=decoded)
    if not found.checkpoints and not found.jobs:
        raise NotFound(f"there is no job or thread {what!r} here: `batonpass jobs` and `batonpass threads` list them")
    if sum(kept.job.state == JobState.INPUT_REQUIRED for kept in found.jobs.values()) > 1:
        raise Conflict(f"the jobs of thread {found.thread!r} went on meanwhile: run it again")
    yield from _writes(found.thread, out)
    events = yield from _events(found)
    for kept in found.jobs.values():
        out.add(JOB, *close_job(CarriedJob(kept, events.get(kept.job.id, []))))
        found.left_out += _left_of(kept.job, found.checkpoints)
    return BundleInfo(
        thread=found.thread,
        jobs=tuple(found.jobs),
        checkpoints=len(found.checkpoints),
        left_out=tuple(found.left_out),
    )


def _begun(what: str) -> Call[_Found]:
    if is_id(what, "j"):
        try:
            kept: KeptJob = yield ReadKept(what)
        except NotFound:  # it may have been deleted, and left its thread
            return _Found(what)
        return _Found(kept.job.thread, {what: _readable(kept)})
    return _Found(what, (yield from _on(what)))


def _on(thread: str) -> Call[dict[str, KeptJob]]:
    """The jobs on a thread, oldest first. Those that have not saved anything are found in no other way."""
    ids: list[str] = []
    while rows := (yield JobsOn(thread, PAGE, ids[-1] if ids else "")):
        ids += [row.id for row in rows]
    found: dict[str, KeptJob] = {}
    for job_id in reversed(ids):
        with suppress(NotFound):  # it was deleted meanwhile
            kept: KeptJob = yield ReadKept(job_id)
            found[job_id] = _readable(kept)
    return found


def _readable(kept: KeptJob) -> KeptJob:
    """The same. Raises why something of it can't be read here: a key is missing, say."""
    row = kept.job
    held = (row.envelope, row.result, row.question, row.answer, row.terms, row.otherwise)
    for data in (*held, *kept.journal.values(), *(each.result for _, each in kept.outcomes)):
        check_open(data, f"what is kept of job {row.id}")
    return kept


def _left_of(row: JobRow, checkpoints: Container[str]) -> Iterator[str]:
    """What a bundle with these checkpoints lacks of a job."""
    if row.fan:
        yield f"the {row.children} children of job {row.id}"
    if row.tip and row.tip not in checkpoints and row.state not in _OVER:
        yield f"checkpoint {row.tip}, from which job {row.id} would go on: it is of another thread, deleted or damaged"


def _checkpoints(
    found: _Found, out: BundleWriter, progress: Callable[[int, int], None], *, decoded: bool
) -> Call[None]:
    total = 1 + (yield from copies.newest(found.thread))
    start, runs, digests, drafts = 0, Runs(), Digests(), Redrafts(found.thread, None)
    while rows := (yield from copies.page(found.thread, start)):
        sound = [row for row in rows if _is_sound(row, found)]
        if decoded:
            carried = yield from _redrafted(sound, drafts, found)
        else:
            sound, held = yield from _proven(sound, digests, found)
            carried = yield from _as_they_are(sound, runs, held)
        for row, new in carried:
            commit = read_commit(row.commit, row.id)
            stamp = Stamp(commit.step_index, commit.created, row.name)
            out.add(CHECKPOINT, *close_checkpoint(Carried(new, commit.parent, stamp)))
        yield from _jobs_of(carried, found)
        found.checkpoints.update(row.id for row, _ in carried)
        start = read_commit(rows[-1].commit, rows[-1].id).step_index + 1
        progress(start, max(start, total))


def _is_sound(row: CheckpointRow, found: _Found) -> bool:
    try:
        _, header = verified(row)
        if [content_hash(row.state), content_hash(row.native)] == header[7:9]:
            return True
    except Corrupted:
        pass
    found.left_out.append(f"checkpoint {row.id}, which is damaged")
    return False


def _proven(
    rows: Sequence[CheckpointRow], digests: Digests, found: _Found
) -> Call[tuple[list[CheckpointRow], dict[Span, bytes]]]:
    """Those whose parts in logs are what was saved, and what was read there."""
    claimed: list[tuple[str, Claim, Plan]] = []
    doubtful: set[str] = set()
    for row in rows:
        try:
            claimed += [(row.id, claim, digests.plan(claim.spans)) for claim in _claims(row)]
        except (LookupError, TypeError, ValueError):  # keys that only a look at the whole checkpoint understands
            doubtful.add(row.id)
    wanted = tuple({span: None for *_, plan in claimed for span in plan.rest})
    data: list[bytes] = (yield ReadSpans(found.thread, wanted)) if wanted else []
    held = dict(zip(wanted, data, strict=True))
    doubtful |= {id_ for id_, claim, plan in claimed if digests.digest(plan, held, claim.end) != claim.digest}
    proven: list[CheckpointRow] = []
    for row in rows:
        if row.id not in doubtful or (yield from _whole(row, found)):
            proven.append(row)
    return proven, held


def _claims(row: CheckpointRow) -> list[Claim]:
    """What a stored checkpoint says of the parts that lie in logs, without making any object of its own classes."""
    commit, header = verified(row)
    if not header[9:10]:
        return []
    roots = [msgpack.unpackb(body_of(row, data), **_OPAQUE) if data else None for data in (row.state, row.native)]
    return list(claims(header[9], read_spans(commit.spans), roots))


def _whole(row: CheckpointRow, found: _Found) -> Call[Opened | None]:
    """A checkpoint with its parts. None if it is damaged, was deleted, or has expired since its page was read."""
    with suppress(NotFound):
        whole: CheckpointRow = yield Restore(row.id)
        try:
            opened = open_row(whole)
            if not opened.damaged and not opened.locked:
                return opened
        except Corrupted:
            pass
        found.left_out.append(f"checkpoint {row.id}, which is damaged")
    return None


def _as_they_are(
    rows: Sequence[CheckpointRow], runs: Runs, held: Mapping[Span, bytes]
) -> Call[list[tuple[CheckpointRow, NewCheckpoint]]]:
    """Checkpoints with the bytes that each adds to what is carried already. Some were read before (`held`)."""
    carried: list[tuple[CheckpointRow, NewCheckpoint, list[Portion]]] = []
    for row in rows:
        commit, header = verified(row)
        spans, portions = runs.carry(read_spans(commit.spans), row.id)
        new = NewCheckpoint(
            id=row.id,
            thread=row.thread,
            header=row.header,
            state=row.state,
            native=row.native,
            agent=header[3],
            step=header[4],
            spans=write_spans(spans),
            place=commit.place,
        )
        carried.append((row, new, portions))
    sources = [each.source for *_, portions in carried for each in portions]
    wanted = tuple(span for span in sources if span not in held)
    data: list[bytes] = (yield ReadSpans(rows[0].thread, wanted)) if wanted else []
    bytes_of = {**held, **dict(zip(wanted, data, strict=True))}
    if any(len(bytes_of[span]) != span.last - span.first for span in sources):
        raise Conflict(f"checkpoints of thread {rows[0].thread!r} were deleted meanwhile: run it again")
    for _, new, portions in carried:
        new.appends = merged(Append(each.log, each.at, bytes_of[each.source]) for each in portions)
    return [(row, new) for row, new, _ in carried]


def _redrafted(
    rows: Sequence[CheckpointRow], drafts: Redrafts, found: _Found
) -> Call[list[tuple[CheckpointRow, NewCheckpoint]]]:
    """Checkpoints packed anew, because a codec's bytes are bound to their logs."""
    carried: list[tuple[CheckpointRow, NewCheckpoint]] = []
    for row in rows:
        if opened := (yield from _whole(row, found)):
            carried.append((row, drafts.make(opened, row.id)))
    return carried


def _jobs_of(carried: Iterable[tuple[CheckpointRow, NewCheckpoint]], found: _Found) -> Call[None]:
    """Read the jobs that have saved checkpoints on the thread, as far as they are there."""
    for row, _ in carried:
        job_id = verified(row)[1][1]
        if job_id and job_id not in found.jobs:
            try:
                kept: KeptJob = yield ReadKept(job_id)
            except NotFound:
                continue
            if kept.job.thread == found.thread:
                found.jobs[job_id] = _readable(kept)


def _writes(thread: str, out: BundleWriter) -> Call[None]:
    before: tuple[str, str] | None = None
    while True:
        rows: list[PlaceRow] = yield Places(thread, None, before, places.PAGE, whole=True)
        if not rows:
            return
        for row, whole in zip(rows, (yield from places.written(thread, rows)), strict=True):
            if whole:
                out.add(WRITES, *close_writes(row.place.scope, row.place.key, map(inlined, whole)))
        before = (rows[-1].place.key, rows[-1].place.scope)


def _events(found: _Found) -> Call[dict[str, list[Mapping[str, str]]]]:
    """What happened to the jobs, as far as it is kept, except that they saved checkpoints."""
    told: dict[str, list[Mapping[str, str]]] = {job_id: [] for job_id in found.jobs}
    if not told:
        return told
    newest: str = yield LastEvent()
    # On Redis, positions are times.
    after = f"{min(kept.job.created for kept in found.jobs.values()) - 1000}-0" if "-" in newest else ""
    while True:
        before = after
        try:
            rows: list[EventRow] = yield Events(after, limit=PAGE, which=replace(_EVENTS, thread=found.thread))
        except Trimmed as error:
            after = error.first_available
            continue
        for row in rows:
            if row.fields.get("subject") in told:
                told[row.fields["subject"]].append(_happened(row.fields))
        after = rows[-1].position if rows else before
        if not rows or not is_short_of(newest, before, after):
            return told


def _happened(fields: Mapping[str, str]) -> Mapping[str, str]:
    """An event's fields as those of the event that will tell of it elsewhere."""
    rest = {name: value for name, value in fields.items() if name not in EVENT_ATTRIBUTES}
    if fields["type"] == IMPORTED:
        return rest
    if "at" in rest:  # a schedule's time
        rest["due"] = rest.pop("at")
    at = from_ms(int(fields["time"])).isoformat(timespec="milliseconds")
    return {"was": fields["type"].removeprefix("batonpass."), "at": at, **rest}

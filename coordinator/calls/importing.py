"""Importing: a bundle becomes a thread and its jobs in this store.

First all of it is read. Then come the checkpoints, in order, and at last the jobs, so that an import which was killed
can be run again: it continues behind the checkpoints that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import field

from ...contracts.bundle import BundleInfo
from ...contracts.errors import Conflict, Corrupted, NotFound
from ...contracts.job import JobState
from ...contracts.lean import dataclass
from ...contracts.understood import understood
from ..bundles.file import BundleReader
from ..bundles.records import (
    CHECKPOINT,
    JOB,
    THREAD,
    WRITES,
    Carried,
    open_checkpoint,
    open_job,
    open_writes,
    parked,
)
from ..coded.codec import Codec
from ..commands import Adopt, Import, NewCheckpoint, PutWrites, ReadJob
from ..parts.runs import merged
from ..parts.spans import read_spans
from ..redrafts import Redrafts
from ..refusals import Ungrounded
from ..rows import CheckpointRow, KeptJob
from ..seals import read_commit, seal
from ..snapshots import open_row, verified
from . import Call, copies
from .descriptions import describe
from .inputs import text

# How many checkpoints, and about how many bytes, are imported at once.
_PAGE, _BYTES = 50, 1_000_000


@dataclass(slots=True)
class _Contents:
    """What a bundle has."""

    thread: str
    jobs: list[str] = field(default_factory=list[str])
    checkpoints: list[str] = field(default_factory=list[str])
    taken: set[str] = field(default_factory=set[str])
    last: int = -1
    logs: dict[str, int] = field(default_factory=dict[str, int])
    asks: str = ""

    def add(self, carried: Carried) -> None:
        """Note a checkpoint, which must come after the others, with an id and a name of its own, and hold only what
        the bundle has."""
        new, stamp = carried.new, carried.stamp
        if stamp.step_index <= self.last or self.taken & {new.id, f"={stamp.name}"}:
            raise Corrupted(f"checkpoint {new.id} of the bundle is not in order, or has another's id or name")
        for log, at, data in new.appends:
            if at != self.logs.get(log, 0) or (not at and not log.startswith(f"{new.id}.")):
                raise Corrupted(f"checkpoint {new.id} of the bundle adds to what is not its own")
            self.logs[log] = at + len(data)
        if any(span.last > self.logs.get(span.log, 0) for span in read_spans(new.spans)):
            raise Corrupted(f"checkpoint {new.id} of the bundle holds what the bundle does not have")
        verified(_row(carried, ()))
        self.checkpoints.append(new.id)
        self.taken |= {new.id, f"={stamp.name}"} - {"="}
        self.last = stamp.step_index

    def add_job(self, kept: KeptJob) -> None:
        """Note a job. One at most asks: the thread is its own."""
        _described(kept)
        if kept.job.state == JobState.INPUT_REQUIRED:
            if self.asks:
                raise Corrupted(f"jobs {self.asks} and {kept.job.id} of the bundle ask at the same time")
            self.asks = kept.job.id
        self.jobs.append(kept.job.id)


@understood("job {0.job.id} of the bundle")
def _described(kept: KeptJob) -> None:
    """Raises if lists of jobs could not show this one."""
    describe(parked(kept, ()).job)


def import_(bundle: BundleReader, codec: Codec | None, progress: Callable[[int, int], None]) -> Call[BundleInfo]:
    """Add what a bundle has. Refused before anything is written if some of it is there."""
    contents = _looked_through(bundle)
    if codec is not None:
        for _ in _coded(bundle, contents.thread, codec):
            pass  # what can't be packed anew is found before anything is written
    begun = yield from _there(contents)
    for scope, key, writes in map(open_writes, bundle.records(WRITES)):
        if not begun:
            yield PutWrites(contents.thread, scope, key, writes)
    yield from _checkpoints(bundle, contents, begun, codec, progress)
    known = set(contents.checkpoints)
    for values in bundle.records(JOB):
        carried = open_job(values, contents.thread)
        yield Adopt(parked(carried.kept, known), carried.events)
    return BundleInfo(thread=contents.thread, jobs=tuple(contents.jobs), checkpoints=len(contents.checkpoints))


def _looked_through(bundle: BundleReader) -> _Contents:
    """All records, read once: nothing is written if one of them is wrong."""
    contents = _Contents(_thread_of(bundle))
    thread = contents.thread
    for kind, *values in bundle.records():
        if kind == CHECKPOINT:
            contents.add(open_checkpoint(values, thread))
        elif kind == WRITES:
            open_writes(values)
        elif kind == JOB:
            contents.add_job(open_job(values, thread).kept)
        elif kind != THREAD:
            raise Corrupted(f"{bundle.path} has a {kind!r}, which this Batonpass does not know")
    return contents


@understood("the bundle {0.path}")
def _thread_of(bundle: BundleReader) -> str:
    [[thread]] = bundle.records(THREAD)
    return text(thread, "thread")


def _there(contents: _Contents) -> Call[int]:
    """How many of the checkpoints an import that was interrupted has left here. Refused if all is here, or if the
    thread has others."""
    jobs = 0
    for job_id in contents.jobs:
        with suppress(NotFound):
            yield ReadJob(job_id)
            jobs += 1
    start, there = 0, list[str]()
    while rows := (yield from copies.page(contents.thread, start)):
        there += [row.id for row in rows]
        start = read_commit(rows[-1].commit, rows[-1].id).step_index + 1
    whole = there == contents.checkpoints
    if there != contents.checkpoints[: len(there)] or (jobs and not whole) or (whole and jobs == len(contents.jobs)):
        raise Conflict(
            f"thread {contents.thread!r} is here already: `batonpass delete` it first, or import into another store"
        )
    return len(there)


def _checkpoints(
    bundle: BundleReader,
    contents: _Contents,
    begun: int,
    codec: Codec | None,
    progress: Callable[[int, int], None],
) -> Call[None]:
    thread, done, count = contents.thread, 0, 0
    total = len(contents.checkpoints)
    for page in _pages(_coded(bundle, thread, codec)):
        if done < begun < done + len(page):
            raise Conflict(f"a part of thread {thread!r} is here already: `batonpass delete` it first")
        if done >= begun:
            yield from _add(thread, count, page)
        done += len(page)
        count = page[-1].stamp.step_index + 1
        progress(done, total)


def _add(thread: str, count: int, page: list[Carried]) -> Call[None]:
    new = [carried.new for carried in page]
    try:
        yield Import(thread, count, new, [carried.parent for carried in page], [carried.stamp for carried in page])
    except Ungrounded:
        raise Conflict(
            f"what checkpoint {new[0].id} and others hold is here already, because forks of them use it: delete "
            "those first, or import into another store"
        ) from None


def _pages(carried: Iterator[Carried]) -> Iterator[list[Carried]]:
    """Checkpoints that are imported together. The first one with spans appends what all of them add to logs."""
    page, size = list[Carried](), 0
    for each in carried:
        page.append(each)
        new = each.new
        size += len(new.header) + len(new.state) + len(new.native) + sum(len(append.data) for append in new.appends)
        if len(page) == _PAGE or size > _BYTES:
            yield _together(page)
            page, size = [], 0
    if page:
        yield _together(page)


def _together(page: list[Carried]) -> list[Carried]:
    appends = merged(append for each in page for append in each.new.appends)
    for each in page:
        each.new.appends = appends if each.new.spans else ()
        appends = [] if each.new.spans else appends
    return page


def _coded(bundle: BundleReader, thread: str, codec: Codec | None) -> Iterator[Carried]:
    """The checkpoints as this store keeps them."""
    carried = (open_checkpoint(values, thread) for values in bundle.records(CHECKPOINT))
    if codec is None:
        yield from carried
        return
    logs: dict[str, bytearray] = {}
    drafts = Redrafts(thread, codec)
    for each in carried:
        each.new = drafts.make(open_row(_row(each, _bodies(each.new, logs))), each.new.id)
        each.new.base = ""  # it comes in the same command, or is there
        yield each


def _bodies(new: NewCheckpoint, logs: dict[str, bytearray]) -> tuple[bytes, ...]:
    """What the checkpoint's spans hold. `logs` grow by what it adds."""
    for append in new.appends:
        logs.setdefault(append.log, bytearray()).extend(append.data)
    return tuple(bytes(logs[span.log][span.first : span.last]) for span in read_spans(new.spans))


def _row(carried: Carried, bodies: tuple[bytes, ...]) -> CheckpointRow:
    """The checkpoint as a store without a codec would keep it."""
    new, stamp = carried.new, carried.stamp
    commit = seal(new.id, new.header, stamp.step_index, carried.parent, stamp.created, 0, new.spans)
    commit.place = new.place
    return CheckpointRow(new.id, new.thread, new.header, commit.line(), new.state, new.native, bodies, stamp.name)

"""CodedStore: puts a codec in front of any store. It codes commands on their way in, and decodes answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from ...contracts.codec import unpack
from ...contracts.errors import BadSetup, Corrupted, KeyConflict, MissingExtra
from .. import commands as c
from ..following import afollow, follow
from ..items import ItemChange, ItemName, ItemPage, ItemRow
from ..parts.spans import Span, read_spans
from ..place_writes import framed_spans, is_written
from ..rows import (
    CheckpointRow,
    CommitLine,
    Delivery,
    EventRow,
    JobRow,
    KeptJob,
    OutcomeRow,
    PlaceRow,
    StreamRow,
    Write,
)
from ..seals import FORMAT, is_sealed, read_commit, seal_of
from ..store import Behind, Store, Topic, Watch
from . import jobs
from .codec import CODED, Codec, check_read, tried, unread
from .frames import unframe
from .texts import hidden, with_error, without_error

R = TypeVar("R")


class CodedStore:
    """A store whose contents are coded. Its answers are like any store's, and verified."""

    def __init__(self, inner: Store, codec: Codec) -> None:
        given: Any = codec  # users without a type checker give anything
        if not isinstance(given, Codec):
            raise BadSetup(f"codec={codec!r}, but it must be a batonpass.Codec, or left out")
        self.inner = inner
        self.codec: Codec | None = codec
        self._codec = codec
        self.kept_events = inner.kept_events
        self.lifetime = inner.lifetime

    @property
    def url(self) -> str:
        """The inner store's."""
        return self.inner.url

    @property
    def namespace(self) -> str:
        """The inner store's."""
        return self.inner.namespace

    def call(self, command: c.Command[R]) -> R:
        """Carry a command out."""
        answer: R = follow(self._carried_out(command), self.inner.call)
        return answer

    async def acall(self, command: c.Command[R]) -> R:
        """`call` for async code."""
        return await afollow(self._carried_out(command), self.inner.acall)

    def _carried_out(self, command: c.Command[R]) -> Generator[c.Command[R], R, R]:
        coded = self._coded(command)
        try:
            return self._read((yield coded))
        except KeyConflict:
            for each in self._keyed_otherwise(command, coded):
                with suppress(KeyConflict):
                    return self._read((yield each))
            raise

    async def acall_after(self, watch: Watch, timeout: float, command: c.Command[R]) -> R:
        """Wait, then carry a command out."""
        return self._read(await self.inner.acall_after(watch, timeout, self._coded(command)))

    def watch(self, topic: Topic) -> Watch:
        return self.inner.watch(topic)

    def behind(self) -> Behind | None:
        return self.inner.behind()

    def sibling(self) -> CodedStore:
        """The same, with a connection of its own."""
        return CodedStore(self.inner.sibling(), self._codec)

    def open(self) -> None:
        self.inner.open()

    def close(self) -> None:
        self.inner.close()

    async def aopen(self) -> None:
        await self.inner.aopen()

    async def aclose(self) -> None:
        await self.inner.aclose()

    def _coded(self, command: c.Command[R]) -> c.Command[R]:
        code = _CODERS.get(type(command))
        return cast("c.Command[R]", code(self._codec, command)) if code else command

    def _keyed_otherwise(self, command: c.Command[R], coded: c.Command[R]) -> Iterator[c.Command[R]]:
        """Other idempotency keys under which the same submit may be recorded: from before the codec's keys changed."""
        if isinstance(command, c.Submit):
            sent = cast("c.Submit", coded)
            for digest in self._codec.keyed_otherwise(command.payload_digest):
                yield cast("c.Command[R]", replace(sent, payload_digest=digest))

    def _read(self, answer: R) -> R:
        codec = self._codec
        read: Any = answer
        if read.__class__ is c.Claimed:
            return cast("R", c.Claimed((_item(codec, item) for item in read), due=read.due))
        if read.__class__ is list:
            return cast("R", [_item(codec, item) for item in read])
        item = _item(codec, read)
        row = item.checkpoint if isinstance(item, PlaceRow) else item
        if isinstance(row, CheckpointRow):
            check_read(row.header)
        return cast("R", item)


def uncoded(store: Store) -> Store:
    """The store itself, whose contents are as they are stored."""
    return store.inner if isinstance(store, CodedStore) else store


# on the way in


def _streamed(job_id: str) -> str:
    return f"the stream of job {job_id}"


def _kept_with(group: str) -> str:
    return f"what is kept with group {group!r}"


def _target(codec: Codec, target: c.Target, job_id: str) -> c.Target:
    envelope = codec.wrap(target.envelope, f"the envelope of job {job_id}")
    return replace(target, envelope=envelope, about=without_error(target.about, codec, job_id))


def _new(codec: Codec, new: c.NewCheckpoint | None) -> c.NewCheckpoint | None:
    if new is None:
        return None
    return replace(
        new,
        header=codec.wrap(new.header, f"the record of checkpoint {new.id}"),
        state=codec.wrap(new.state, f"the state of checkpoint {new.id}"),
        native=codec.wrap(new.native, f"the native state of checkpoint {new.id}") if new.native else b"",
    )


def _submit(codec: Codec, m: c.Submit) -> c.Submit:
    return replace(m, target=_target(codec, m.target, m.job_id), payload_digest=codec.keyed(m.payload_digest))


def _save(codec: Codec, m: c.Save) -> c.Save:
    records = jobs.records(codec, m.records, m.fence.job_id) if m.fence else m.records
    return replace(m, checkpoint=cast("c.NewCheckpoint", _new(codec, m.checkpoint)), records=records)


def _put(codec: Codec, m: c.Put) -> c.Put:
    new = cast("c.NewCheckpoint", _new(codec, m.checkpoint))
    scope = new.place.scope if new.place else ""
    return replace(m, checkpoint=new, writes=_writes(codec, new.thread, scope, m.parent, m.writes))


def _writes(codec: Codec, thread: str, scope: str, key: str, writes: Sequence[Write]) -> list[Write]:
    about = partial(_written, thread, scope, key)
    return [replace(write, data=codec.wrap(write.data, about(write.name))) for write in writes]


def _written(thread: str, scope: str, key: str, name: str) -> str:
    return f"the write {name!r} at {key!r} of scope {scope!r} in thread {thread!r}"


def _hand_off(codec: Codec, m: c.HandOff) -> c.HandOff:
    job_id = m.fence.job_id
    spent = codec.wrap(m.spent, jobs.spent(job_id)) if m.spent else b""
    return replace(m, target=_target(codec, m.target, job_id), checkpoint=_new(codec, m.checkpoint), spent=spent)


def _complete(codec: Codec, m: c.Complete) -> c.Complete:
    result = codec.wrap(m.result, f"the result of job {m.fence.job_id}")
    return replace(m, result=result, checkpoint=_new(codec, m.checkpoint))


def _fail(codec: Codec, m: c.Fail) -> c.Fail:
    job_id = m.fence.job_id
    spent = codec.wrap(m.spent, jobs.spent(job_id)) if m.spent else b""
    return replace(m, error=hidden(codec, m.error, job_id), spent=spent)


def _suspend(codec: Codec, m: c.Suspend) -> c.Suspend:
    about = f"job {m.fence.job_id}"
    return replace(
        m,
        question=codec.wrap(m.question, f"the question of {about}"),
        terms=codec.wrap(m.terms, f"the terms of {about}") if m.terms else b"",
        otherwise=codec.wrap(m.otherwise, f"the answer to {about}") if m.otherwise else b"",
        checkpoint=_new(codec, m.checkpoint),
    )


def _children(codec: Codec, children: Sequence[c.Child]) -> tuple[c.Child, ...]:
    return tuple(replace(child, target=_target(codec, child.target, child.job_id)) for child in children)


def _spawn(codec: Codec, m: c.Spawn) -> c.Spawn:
    records = jobs.records(codec, m.records, m.fence.job_id)
    return replace(m, children=_children(codec, m.children), checkpoint=_new(codec, m.checkpoint), records=records)


def _redrive(codec: Codec, m: c.Redrive) -> c.Redrive:
    target = m.target and _target(codec, m.target, m.job_id)
    return replace(m, target=target, records=jobs.records(codec, m.records, m.job_id))


def _change(codec: Codec, change: ItemChange) -> ItemChange:
    if change.value is None:
        return change
    index = codec.wrap(change.index, _search(change.name)) if change.index else b""
    return replace(change, value=codec.wrap(change.value, change.name.about), index=index)


def _write_items(codec: Codec, m: c.WriteItems) -> c.WriteItems:
    news = m.news and replace(m.news, about=without_error(m.news.about, codec, m.news.subject))
    return replace(m, changes=tuple(_change(codec, change) for change in m.changes), news=news)


def _search(name: ItemName) -> str:
    return f"what searches look at of {name.about}"


def _import(codec: Codec, m: c.Import) -> c.Import:
    return replace(m, checkpoints=[cast("c.NewCheckpoint", _new(codec, new)) for new in m.checkpoints])


_CODERS: dict[type[c.Command[Any]], Callable[[Codec, Any], c.Command[Any]]] = {
    c.Submit: _submit,
    c.Save: _save,
    c.Put: _put,
    c.PutWrites: lambda codec, m: replace(m, writes=_writes(codec, m.thread, m.scope, m.key, m.writes)),
    c.Import: _import,
    c.Adopt: lambda codec, m: c.Adopt(
        jobs.kept(codec, m.kept), [without_error(each, codec, m.job_id) for each in m.events]
    ),
    c.WriteItems: _write_items,
    c.Record: lambda codec, m: replace(m, records=jobs.records(codec, m.records, m.fence.job_id)),
    c.HandOff: _hand_off,
    c.Complete: _complete,
    c.Fail: _fail,
    c.Suspend: _suspend,
    c.Sleep: lambda codec, m: replace(m, checkpoint=_new(codec, m.checkpoint)),
    c.Stage: lambda codec, m: replace(m, children=_children(codec, m.children)),
    c.Spawn: _spawn,
    c.Redrive: _redrive,
    c.Release: lambda codec, m: replace(m, crash=hidden(codec, m.crash, m.fence.job_id)) if m.crash else m,
    c.Emit: lambda codec, m: replace(m, data=tuple(codec.wrap(each, _streamed(m.fence.job_id)) for each in m.data)),
    c.JoinGroup: lambda codec, m: replace(m, about=codec.wrap(m.about, _kept_with(m.group))) if m.about else m,
    c.AnswerJob: lambda codec, m: replace(m, answer=codec.wrap(m.answer, f"the answer to job {m.job_id}")),
}


# on the way out


def _item(codec: Codec, item: Any) -> Any:
    if isinstance(item, Delivery):
        checkpoint = _checkpoint(codec, item.checkpoint) if item.checkpoint else None
        return Delivery(jobs.read_job(codec, item.job), checkpoint, jobs.read_journal(codec, item.journal, item.job.id))
    if isinstance(item, KeptJob):
        return jobs.read_kept(codec, item)
    if isinstance(item, JobRow):
        return jobs.read_job(codec, item)
    if isinstance(item, OutcomeRow):
        return jobs.read_outcome(codec, item)
    if isinstance(item, EventRow):
        return replace(item, fields=with_error(item.fields, codec))
    if isinstance(item, c.Taken):
        return replace(item, batches=tuple(_batch(codec, batch) for batch in item.batches))
    if isinstance(item, StreamRow):
        return replace(item, data=tried(codec, item.data, _streamed(item.job_id)))
    if isinstance(item, PlaceRow):
        about = partial(_written, item.checkpoint.thread, item.place.scope, item.place.key)
        writes = [_write(codec, write, about(write.name)) for write in item.writes]
        return PlaceRow(item.place, _checkpoint(codec, item.checkpoint), writes)
    if isinstance(item, c.GroupRow):
        return replace(item, about=tried(codec, item.about, _kept_with(item.name))) if item.about else item
    if isinstance(item, ItemRow):
        return _kept(codec, item)
    if isinstance(item, ItemPage):
        return replace(item, rows=[_kept(codec, row) for row in item.rows])
    return _checkpoint(codec, item) if isinstance(item, CheckpointRow) else item


def _batch(codec: Codec, batch: c.Batch) -> c.Batch:
    return replace(batch, rows=tuple(_item(codec, row) for row in batch.rows))


def _write(codec: Codec, write: Write, about: str) -> Write:
    """Unprotected data begins with a checksum, which may by chance look like protected data."""
    read = write if codec.plain and is_written(write.data) else replace(write, data=tried(codec, write.data, about))
    if not read.bodies or not is_written(read.data):
        return read
    found = zip(framed_spans(read), read_spans(read.spans), read.bodies, strict=False)
    return replace(read, bodies=tuple(_unframed(codec, span, data) if framed else data for framed, span, data in found))


def _kept(codec: Codec, row: ItemRow) -> ItemRow:
    value, index = tried(codec, row.value, row.name.about), tried(codec, row.index, _search(row.name))
    return replace(row, value=value, index=index)


def _checkpoint(codec: Codec, row: CheckpointRow) -> CheckpointRow:
    """The row as a store without a codec would return it. Verifies its seal, and makes a new one over the decoded
    row."""
    try:
        commit = read_commit(row.commit, row.id)
        if not is_sealed(row.id, row.header, commit):
            return row
        header = codec.unwrap(row.header, f"the record of checkpoint {row.id}")
        bodies = _bodies(codec, header, commit, row.bodies)
    except (Corrupted, BadSetup, MissingExtra) as error:  # opening it will raise that
        return replace(row, header=unread(error))
    return replace(
        row,
        header=header,
        commit=replace(commit, seal=seal_of(row.id, header, commit.sealed)).line(),
        state=tried(codec, row.state, f"the state of checkpoint {row.id}"),
        native=tried(codec, row.native, f"the native state of checkpoint {row.id}"),
        bodies=bodies,
    )


def _bodies(codec: Codec, header: bytes, commit: CommitLine, stored: tuple[bytes, ...]) -> tuple[bytes, ...]:
    if not stored or header[:1] != FORMAT:
        return stored
    framed: list[bool] = []
    about: list[Any] = unpack(header[1:])
    for entry in about[9] if len(about) > 9 else ():
        framed += [bool(entry[6:])] * entry[4]
    spans = read_spans(commit.spans)
    return tuple(
        _unframed(codec, span, data) if is_framed else data
        for span, data, is_framed in zip(spans, stored, framed, strict=False)
    )


def _unframed(codec: Codec, span: Span, data: bytes) -> bytes:
    try:
        return unframe(codec, span, data)
    except Corrupted:
        return CODED  # its hash will show that this is not what was saved
    except (BadSetup, MissingExtra) as error:  # opening what it is a part of will raise that
        return unread(error)

"""What goes over the wire: a command as a script's arguments, and a script's reply as the command's answer.

Plain functions without I/O, so that the sync and the async client share all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from itertools import compress
from operator import methodcaller
from typing import Any, TypeVar, cast

import msgpack

from ...contracts.names import digest
from .. import commands as c
from ..commands.streaming import KEPT, KEPT_FOR
from ..operations.jobs import POISON, SUSPECT
from ..operations.travel import NAMES
from ..refusals import refusal
from ..rows import CheckpointRow, Delivery, JobRow, OutcomeRow, StreamRow
from ..seals import read_commit
from . import wire_items as items
from . import wire_observing as observing
from . import wire_places as places
from .going_on import GoOn, Unfinished
from .wire_checkpoints import Arg, checkpoint_args, checkpoint_row, commit_line, fence_args, read_text

R = TypeVar("R")
_USUAL = c.Terms()
_PACKED = 0x90  # with what a packed list begins, or more
_DEATHS = (SUSPECT, POISON)


def arguments(command: c.Command[Any]) -> tuple[str, list[Arg]]:
    """The script's name and its ARGV."""
    if isinstance(command, GoOn):
        name, argv = arguments(command.asked)
        argv[_GOING_ON[name]] = command.at
        return name, argv
    if isinstance(command, c.Save) and command.fence is None:
        name, argv = "save_unleased", _save_unleased(command)
    else:
        name, build, _ = _OPERATIONS[type(command)]
        argv = build(command)
    if isinstance(command, _SAVING) and command.checkpoint and command.checkpoint.place:
        name = f"{name}+put"
    return name, argv


def unfolded(reply: Any) -> list[Any]:
    """A script's reply, which may have come in one piece."""
    if isinstance(reply, bytes):
        if reply[0] >= _PACKED:
            return _unpacked(reply)
        return [reply] if reply == b"+" else [b"+", reply]
    given: list[Any] = reply
    return given


def answer(command: c.Command[R], reply: list[Any]) -> R:
    """The command's answer, or the refusal that the script replied with, raised. `Unfinished` if it has to go on."""
    if isinstance(command, GoOn):
        return cast("R", answer(command.asked, reply))
    if reply[0] == b">":
        return cast("R", _unfinished(command, *reply[1:]))
    if reply[0] != b"+":
        raise refusal(read_text(reply[0][1:]), *(read_text(argument) for argument in reply[1:]))
    return cast("R", _OPERATIONS[type(command)][2](command, reply[1:]))


def _unfinished(command: c.Command[Any], at: bytes | list[bytes], *found: Any) -> Unfinished:
    rests = tuple(at) if isinstance(at, list) else (at,)
    return Unfinished(command, _OPERATIONS[type(command)][2](command, list(found)) if found else [], rests)


def filled(command: c.Command[Any], reply: list[Any]) -> list[str]:
    """The queues in which a script, as it says, made deliveries ready that its command does not name."""
    at = _FILLING.get(type(command))
    return [read_text(queue) for queue in reply[at:] if isinstance(queue, bytes)] if at else []


# building


def _pairs(mapping: Mapping[str, bytes]) -> Iterable[Arg]:
    return (part for pair in mapping.items() for part in pair)


def _submit(m: c.Submit) -> list[Arg]:
    where: list[Arg] = [
        m.job_id,
        digest(m.thread),
        m.idem,
        m.payload_digest,
        m.delay,
        m.origin,
        m.target.queue,
        m.thread,
    ]
    to = m.target
    return [*where, m.key, m.key_ttl, to.agent, to.contract, to.envelope, _about(to), _terms(m.terms), to.lane]


def _terms(terms: c.Terms) -> bytes:
    """What a job is bound to, as far as it is not as usual."""
    if terms == _USUAL:
        return b""
    packed: bytes = msgpack.packb({name: value for name, value in asdict(terms).items() if value})
    return packed


def _about(target: c.Target) -> bytes:
    """What an event says more: names and texts in turn, in one piece."""
    if not target.about:
        return b""
    packed: bytes = msgpack.packb([text for pair in target.about.items() for text in pair])
    return packed


def _claim(m: c.Claim) -> list[Arg]:
    queues = (part for queue, duration in m.queues for part in (queue, duration))
    limits: bytes = b""
    if m.limits:
        limits = msgpack.packb({q: (x.lane, x.concurrency, x.count, x.per) for q, x in m.limits.items()})
    return [m.worker, limits, len(m.queues), *queues, *m.leases]


def _reap(m: c.Reap) -> list[Arg]:
    return [m.limit, int(m.leases), *_DEATHS, m.presence, int(m.early), m.worker, *m.queues]


def _heartbeat(m: c.Heartbeat) -> list[Arg]:
    return [part for fence, duration in m.leases for part in (*fence_args(fence), duration)]


def _save(m: c.Save) -> list[Arg]:
    assert m.fence is not None
    return [*fence_args(m.fence), *checkpoint_args(m.checkpoint), *_pairs(m.records)]


def _save_unleased(m: c.Save) -> list[Arg]:
    where: list[Arg] = [digest(m.thread), m.thread, m.parent, int(m.branch), m.checkpoint.agent, b""]
    return [*where, *checkpoint_args(m.checkpoint)]


def _hand_off(m: c.HandOff) -> list[Arg]:
    target: list[Arg] = [
        m.target.agent,
        m.target.contract,
        m.target.queue,
        m.target.envelope,
        _about(m.target),
        m.target.lane,
        m.spent,
    ]
    return [*fence_args(m.fence), *target, *checkpoint_args(m.checkpoint)]


def _import(m: c.Import) -> list[Arg]:
    pairs = zip(m.checkpoints, m.parents, strict=True)
    each = [part for new, parent in pairs for part in (parent, new.agent, *checkpoint_args(new))]
    return [digest(m.thread), m.thread, m.count, *each]


def _prune(m: c.Prune) -> list[Arg]:
    which: list[Arg] = [m.keep_last, m.older_than, int(m.keep_named), m.start, m.limit]
    return [digest(m.thread), m.thread, *which]


def _fail(m: c.Fail) -> list[Arg]:
    return [*fence_args(m.fence), m.error, m.reason, "" if m.retry_in is None else m.retry_in, m.state, m.spent]


def _suspend(m: c.Suspend) -> list[Arg]:
    asking: list[Arg] = [m.question, m.terms, m.assignee, m.timeout, m.otherwise, m.escalation]
    return [*fence_args(m.fence), *asking, *checkpoint_args(m.checkpoint)]


def _redrive(m: c.Redrive) -> list[Arg]:
    to = m.target
    return [m.job_id, m.tip, *((to.contract, to.queue, to.envelope, to.agent, to.lane) if to else ("", "", "", "", ""))]


def _children(children: Iterable[c.Child]) -> Iterable[bytes]:
    """Each child in one piece, as lua/lib/children.lua takes it apart."""
    for child in children:
        to = child.target
        where = (child.job_id, digest(child.job_id), str(child.number), to.agent, to.contract, to.queue, to.lane)
        texts = [text.encode("utf-8", "surrogatepass") for text in where]
        packed: bytes = msgpack.packb([*texts, to.envelope], use_bin_type=False)
        yield packed


def _spawn(m: c.Spawn) -> list[Arg]:
    which: list[Arg] = [*fence_args(m.fence), m.fan, m.total, m.need, m.spare, len(m.children)]
    return [*which, *checkpoint_args(m.checkpoint), *_children(m.children), *_pairs(m.records)]


# reading


def _flat(items: list[bytes]) -> dict[str, bytes]:
    return {items[i].decode(): items[i + 1] for i in range(0, len(items), 2)}


# Not by functions of ours: a job has many fields, and waits for its worker to read them.
_READERS: dict[str, Callable[[bytes], Any]] = {
    "int": int,
    "str": methodcaller("decode", "utf-8", "replace"),
    "bytes": bytes,
}
# What the job's fields are called in Redis and here, and how they are read. What else is stored is the scripts' own.
_JOB_FIELDS = {field.name.encode(): (field.name, _READERS[str(field.type)]) for field in fields(JobRow)}
_JOB_FIELDS[b"delivery"] = ("ready", lambda entry: int(bool(entry)))


# What a claim tells of a job, in this order: what it wrote or has to know, then the rest, then what only a job has that
# has asked or has had children. The others are known. (lua/claim.lua has the names, too: sent, they cost each claim
# more than all else that it is sent.)
_TOLD = (
    *("id", "queue", "lease", "token", "lease_until", "updated", "lane", "slot", "deadline", "brood", "parent"),
    *("priority", "agent", "hop", "tip", "attempt", "failing", "asked", "children"),
)
_RARE = (
    *("answered", "assignee", "escalation", "escalated", "question", "answer", "terms", "otherwise"),
    *("fan", "verdict", "need", "spare", "done", "lost"),
)
_KNOWN = {*_TOLD, *_RARE, "waits", "worker", "state", "reason", "ready", "expires", "due", "result"}
_ASKED = [field.name for field in fields(JobRow) if field.name not in _KNOWN]
_CLAIMED = [_JOB_FIELDS[name.encode()] for name in (*_TOLD, *_ASKED, *_RARE)]


def _job_row(items: list[bytes]) -> JobRow:
    return JobRow(**_job_values(items))


def _submitted(m: c.Submit, reply: list[Any]) -> JobRow:
    """The job: of a new one the script answers only what it added, or just when, if the rest is as in most."""
    known: dict[str, Any] = {"id": m.job_id, "thread": m.thread, "key": m.key, "idem": m.idem, "key_ttl": m.key_ttl}
    to = m.target
    known |= {"agent": to.agent, "contract": to.contract, "queue": to.queue, "envelope": to.envelope}
    if reply[0].isdigit():
        now = int(reply[0])
        return JobRow(**known, state="submitted", reason="ready", ready=1, created=now, updated=now)
    return JobRow(**(known | _job_values(_unpacked(reply[0]))))


def _job_values(items: list[bytes]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field, value in zip(items[::2], items[1::2], strict=True):
        if value and (known := _JOB_FIELDS.get(field)):
            name, read = known
            values[name] = read(value)
    return values


def _unpacked(items: bytes) -> list[Any]:
    """A list that a script gave as one piece (by `cmsgpack`, which every server has)."""
    unpacked: list[Any] = msgpack.unpackb(items, raw=True)
    return unpacked


def _delivery(worker: str, parts: list[Any]) -> Delivery:
    values = parts[0]
    told = compress(zip(_CLAIMED, values, strict=False), values)  # half of them are empty
    row = JobRow(worker=worker, state="working", **{name: read(value) for (name, read), value in told})
    checkpoint = None
    if parts[1]:
        id_, *stored = parts[1]
        checkpoint = checkpoint_row([id_, row.thread.encode("utf-8", "surrogatepass"), b"", *stored])
    return Delivery(row, checkpoint, _flat(parts[2]))


def _claimed(m: c.Claim, reply: list[Any]) -> c.Claimed:
    due = reply.pop() if reply and isinstance(reply[-1], int) else -1
    return c.Claimed((_delivery(m.worker, each) for each in reply if not isinstance(each, bytes)), due=due)


def _outcomes(_: object, reply: list[Any]) -> list[OutcomeRow]:
    rows: list[OutcomeRow] = []
    for number, packed in reply:
        job_id, state, reason, error, result, below = _unpacked(packed)
        about = (read_text(state), read_text(reason), read_text(error))
        rows.append(OutcomeRow(read_text(job_id), number, *about, result, read_text(below)))
    return rows


def _rows(_: object, reply: list[Any]) -> list[CheckpointRow]:
    return [checkpoint_row(parts) for parts in reply]


def _freed(_: object, reply: list[Any]) -> c.Freed:
    return c.Freed(*reply)


def _nothing(_: object, reply: list[Any]) -> None:
    return None


def _reaped(_: object, reply: list[Any]) -> c.Reaped:
    moved, next_due, *queues = reply
    return c.Reaped(moved, next_due, tuple(map(read_text, queues)))


def _stream_rows(m: c.ReadStream, reply: list[Any]) -> list[StreamRow]:
    return [StreamRow(m.job_id, read_text(position), data) for position, data in reply]


# Commands with a checkpoint that may have a place: `+put` is what their scripts need then.
_SAVING = (c.Save, c.HandOff, c.Complete, c.Suspend, c.Spawn)
# Which argument says where to go on from, of scripts that may stop before they have found all.
_GOING_ON = {"find": 4, "latest": 2, "places": 6, "put+put": 8, "put": 8, "save_unleased": 5, "save_unleased+put": 5}
_GOING_ON["timeline"] = 5
# Where the queues that `filled` tells of begin in the reply.
_FILLING: dict[type[c.Command[Any]], int] = {
    **dict.fromkeys((c.Claim, c.Complete, c.Fail, c.HandOff, c.Release, c.Spawn, c.Suspend), 1),
    **dict.fromkeys((c.Cancel, c.Submit), 2),
}
_Operation = tuple[str, Callable[[Any], list[Arg]], Callable[[Any, list[Any]], Any]]
_OPERATIONS: dict[type[c.Command[Any]], _Operation] = {
    c.Submit: ("submit", _submit, _submitted),
    c.Claim: ("claim", _claim, _claimed),
    c.Heartbeat: ("heartbeat", _heartbeat, lambda _, r: [read_text(status) for status in r]),
    c.Save: ("save", _save, commit_line),
    c.Record: ("record", lambda m: [*fence_args(m.fence), *_pairs(m.records)], _nothing),
    c.Emit: ("emit", lambda m: [*fence_args(m.fence), KEPT, KEPT_FOR, *m.data], _nothing),
    c.ReadStream: ("read_stream", lambda m: [m.job_id, m.after, m.limit], _stream_rows),
    c.HandOff: ("hand_off", _hand_off, _nothing),
    c.Complete: ("complete", lambda m: [*fence_args(m.fence), m.result, *checkpoint_args(m.checkpoint)], _nothing),
    c.Fail: ("fail", _fail, _nothing),
    c.Suspend: ("suspend", _suspend, _nothing),
    c.Stage: ("stage", lambda m: [*fence_args(m.fence), m.at, *_children(m.children)], _nothing),
    c.Spawn: ("spawn", _spawn, _nothing),
    c.ReadOutcomes: ("read_outcomes", lambda m: [m.job_id, m.fan, m.start, m.limit], _outcomes),
    c.Release: ("release", lambda m: [*fence_args(m.fence), m.crash, int(m.aside), *_DEATHS, int(m.cut_off)], _nothing),
    c.AnswerJob: ("answer", lambda m: [m.job_id, m.answer, m.asked], _nothing),
    c.Cancel: ("cancel", lambda m: [m.job_id], lambda _, r: bool(r[0])),
    c.Redrive: ("redrive", _redrive, _nothing),
    c.Expire: ("expire", lambda m: [m.checkpoint_id], _nothing),
    c.Reap: ("reap", _reap, _reaped),
    c.Restore: ("restore", lambda m: [m.checkpoint_id], lambda _, r: checkpoint_row(r[0])),
    c.Latest: (
        "latest",
        lambda m: [digest(m.thread), m.thread, b""],
        lambda _, r: checkpoint_row(r[0]) if r[0] else None,
    ),
    c.Timeline: (
        "timeline",
        lambda m: [digest(m.thread), m.thread, m.limit, m.before, int(m.named), b""],
        _rows,
    ),
    c.Ancestors: ("ancestors", lambda m: [m.checkpoint_id, m.limit], _rows),
    c.Name: ("name", lambda m: [m.checkpoint_id, m.name, NAMES], _nothing),
    c.FindName: ("find_name", lambda m: [digest(m.thread), m.thread, m.name], lambda _, r: read_text(r[0])),
    c.Threads: ("threads", lambda m: [m.limit, m.after], lambda _, r: [read_text(name) for name in r]),
    c.Export: ("export", lambda m: [digest(m.thread), m.thread, m.start, m.limit], _rows),
    c.Import: ("import", _import, lambda _, r: [read_commit(read_text(line), "just saved") for line in r]),
    c.Put: ("put", places.put_args, commit_line),
    c.PutWrites: ("put_writes", places.put_writes_args, _nothing),
    c.Find: ("find", places.find_args, places.find_answer),
    c.Places: ("places", places.places_args, places.place_rows),
    c.Walk: ("walk", places.walk_args, places.place_rows),
    c.OfRun: ("of_run", lambda m: [m.run, m.limit], places.of_run_answer),
    c.WriteItems: ("write_items", items.write_args, _nothing),
    c.RefreshItems: ("refresh_items", items.refresh_args, _nothing),
    c.ReadItems: ("read_items", items.read_args, items.read_answer),
    c.ListItems: ("list_items", items.page_args, items.page_answer),
    c.ListSpaces: ("list_spaces", items.space_args, items.space_answer),
    c.Drop: ("drop", lambda m: [digest(m.thread), m.thread, *m.checkpoints], _freed),
    c.Prune: ("prune", _prune, _freed),
    c.DeleteThread: ("delete_thread", lambda m: [digest(m.thread), m.thread, m.limit], _freed),
    c.DeleteJob: ("delete_job", lambda m: [m.job_id], _nothing),
    c.PruneJobs: ("prune_jobs", lambda m: [m.older_than, m.start, m.limit], _freed),
    c.Events: ("events", observing.events_args, observing.events_answer),
    c.LastEvent: ("last_event", lambda m: [], lambda _, r: r[0].decode()),
    c.JoinGroup: ("join_group", observing.join_args, _nothing),
    c.TakeEvents: ("take_events", observing.take_args, observing.take_answer),
    c.AckEvents: ("ack_events", observing.ack_args, lambda _, r: bool(r[0])),
    c.ListGroups: ("list_groups", lambda m: [], observing.list_answer),
    c.DeleteGroup: ("delete_group", observing.delete_args, _nothing),
    c.TrimEvents: ("trim_events", lambda m: [m.keep, m.limit], lambda _, r: r[0]),
    c.ReadJob: ("read_job", lambda m: [m.job_id], lambda _, r: _job_row(r[0])),
    c.ListJobs: (
        "list_jobs",
        lambda m: [m.limit, m.before, int(m.dead), m.state, m.agent],
        lambda _, r: [_job_row(items) for items in r],
    ),
    c.Inbox: (
        "inbox",
        lambda m: [m.limit, m.after, m.after_id],
        lambda _, r: [_job_row(items) for items in r],
    ),
    c.Declare: ("declare", lambda m: list(_pairs(m.agents)), _nothing),
    c.Declared: ("declared", lambda m: [], lambda _, r: _flat(r[0])),
    c.Takers: ("takers", lambda m: [m.queue], lambda _, r: r[0]),
}

"""The wire format of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from itertools import compress
from operator import methodcaller
from typing import Any

import msgpack

from ...contracts.names import digest
from .. import commands as c
from ..operations.jobs import FIRST_WAIT, LONGEST_WAIT, POISON, SUSPECT
from ..rows import DamagedRow, Delivery, JobRow, KeptJob, LaneRow, OutcomeRow
from .wire_checkpoints import checkpoint_args, checkpoint_row, fence_args
from .wire_values import Arg, flat, pairs, read_text, told, unpacked

# The fields that every job on Redis has, every child, and every job with a fan-out. Others are only there if they are
# not empty.
_ALWAYS = {
    *("id", "thread", "agent", "contract", "queue", "tip", "key", "idem", "key_ttl", "hop", "attempt", "token"),
    *("crashes", "lease", "worker", "closed", "created", "updated", "state", "reason", "due", "envelope"),
}
_OF_CHILDREN = {"brood", "number"}
_OF_PARENTS = {"children", "need", "spare", "done", "lost"}
_USUAL = c.Terms()
_DEATHS = (SUSPECT, POISON, FIRST_WAIT, LONGEST_WAIT)

# building


def submit_args(m: c.Submit) -> list[Arg]:
    """As submit.lua takes it."""
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
    return [*where, m.key, m.key_ttl, to.agent, to.contract, to.envelope, told(to.about), _terms(m.terms), to.lane]


def _terms(terms: c.Terms) -> bytes:
    """A job's terms, as far as they differ from the usual ones."""
    if terms == _USUAL:
        return b""
    packed: bytes = msgpack.packb({name: value for name, value in asdict(terms).items() if value})
    return packed


def claim_args(m: c.Claim) -> list[Arg]:
    """As claim.lua takes it."""
    queues = (part for queue, duration in m.queues for part in (queue, duration))
    limits: bytes = b""
    if m.limits:
        limits = msgpack.packb({q: (x.lane, x.concurrency, x.count, x.per) for q, x in m.limits.items()})
    return [m.worker, limits, len(m.queues), *queues, *m.leases]


def reap_args(m: c.Reap) -> list[Arg]:
    """As reap.lua takes it."""
    return [m.limit, int(m.leases), *_DEATHS, m.presence, int(m.early), m.worker, *m.queues]


def heartbeat_args(m: c.Heartbeat) -> list[Arg]:
    """As heartbeat.lua takes it."""
    return [part for fence, duration in m.leases for part in (*fence_args(fence), duration)]


def hand_off_args(m: c.HandOff) -> list[Arg]:
    """As hand_off.lua takes it."""
    target: list[Arg] = [
        m.target.agent,
        m.target.contract,
        m.target.queue,
        m.target.envelope,
        told(m.target.about),
        m.target.lane,
        m.spent,
    ]
    return [*fence_args(m.fence), *target, *checkpoint_args(m.checkpoint)]


def fail_args(m: c.Fail) -> list[Arg]:
    """As fail.lua takes it."""
    return [*fence_args(m.fence), m.error, m.reason, "" if m.retry_in is None else m.retry_in, m.state, m.spent]


def release_args(m: c.Release) -> list[Arg]:
    """As release.lua takes it."""
    return [*fence_args(m.fence), m.crash, int(m.aside), int(m.cut_off), *_DEATHS]


def suspend_args(m: c.Suspend) -> list[Arg]:
    """As suspend.lua takes it."""
    asking: list[Arg] = [m.question, m.terms, m.assignee, m.timeout, m.otherwise, m.escalation]
    return [*fence_args(m.fence), *asking, int(m.again), *checkpoint_args(m.checkpoint)]


def redrive_args(m: c.Redrive) -> list[Arg]:
    """As redrive.lua takes it."""
    to = m.target
    given = (to.contract, to.queue, to.envelope, to.agent, to.lane) if to else ("", "", "", "", "")
    return [m.job_id, m.tip, m.token, int(m.at_tip), *given, *pairs(m.records)]


def adopt_args(m: c.Adopt) -> list[Arg]:
    """As adopt.lua takes it."""
    row, kept = m.kept.job, m.kept
    outcomes = {f"{fan} {each.number}": _packed_outcome(each) for fan, each in kept.outcomes}
    held = (_packed_pairs(each) for each in (job_fields(row), kept.journal, outcomes))
    events = msgpack.packb([[part for pair in each.items() for part in pair] for each in m.events])
    about: list[Arg] = [row.id, digest(row.thread), row.thread, row.state, row.created, row.updated, row.asked]
    return [*about, *held, events]


def job_fields(row: JobRow) -> dict[str, Any]:
    """A job as its hash in Redis has it. (If it is ready, its `delivery` is missing.)"""
    told = {field.name: getattr(row, field.name) for field in fields(JobRow) if field.name != "ready"}
    told["waits"] = int(bool(row.waits))
    always = {*_ALWAYS, *(_OF_CHILDREN if row.parent else ()), *(_OF_PARENTS if row.fan else ())}
    kept = {name: value for name, value in told.items() if value or name in always}
    return {**kept, "thread_digest": digest(row.thread), "count": "", **({} if row.ready else {"delivery": ""})}


def _packed_pairs(told: Mapping[str, Any]) -> bytes:
    """Names and values in turn, as texts, in one piece."""
    flat = (part for pair in told.items() for part in pair)
    parts = [part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass") for part in flat]
    packed: bytes = msgpack.packb(parts, use_bin_type=False)
    return packed


def _packed_outcome(row: OutcomeRow) -> bytes:
    texts = [text.encode("utf-8", "surrogatepass") for text in (row.job_id, row.state, row.reason, row.error)]
    packed: bytes = msgpack.packb([*texts, row.result, row.fan.encode()], use_bin_type=False)
    return packed


def children_args(children: Iterable[c.Child]) -> Iterable[bytes]:
    """Each child packed into one piece; lua/lib/children.lua unpacks it."""
    for child in children:
        to = child.target
        where = (child.job_id, digest(child.job_id), str(child.number), to.agent, to.contract, to.queue, to.lane)
        texts = [text.encode("utf-8", "surrogatepass") for text in where]
        packed: bytes = msgpack.packb([*texts, to.envelope], use_bin_type=False)
        yield packed


def spawn_args(m: c.Spawn) -> list[Arg]:
    """As spawn.lua takes it."""
    which: list[Arg] = [*fence_args(m.fence), m.fan, m.total, m.need, m.spare, len(m.children)]
    return [*which, *checkpoint_args(m.checkpoint), *children_args(m.children), *pairs(m.records)]


# reading


# Not functions of ours, for speed: a job has many fields, and waits for its worker to read them.
_READERS: dict[str, Callable[[bytes], Any]] = {
    "int": int,
    "str": methodcaller("decode", "utf-8", "replace"),
    "bytes": bytes,
}
# Field names in Redis and in a row, and how each is read. Fields that are not listed here are the scripts' own.
_JOB_FIELDS = {field.name.encode(): (field.name, _READERS[str(field.type)]) for field in fields(JobRow)}
_JOB_FIELDS[b"delivery"] = ("ready", lambda entry: int(bool(entry)))


# What a claim's reply says of a job, in this order: what the claim wrote or looked at, then the others, then those of
# jobs that have asked or had children. The rest is known. (lua/claim.lua has the names, too: sending them would cost
# more than all else in a claim.)
TOLD = (
    *("id", "queue", "lease", "token", "lease_until", "updated", "lane", "slot", "deadline", "brood", "parent"),
    *("priority", "agent", "hop", "tip", "attempt", "failing", "asked", "children"),
)
RARE = (
    *("answered", "assignee", "escalation", "escalated", "question", "answer", "terms", "otherwise"),
    *("fan", "verdict", "need", "spare", "done", "lost"),
)
_KNOWN = {*TOLD, *RARE, "waits", "worker", "state", "reason", "ready", "expires", "due", "result"}
ASKED = [field.name for field in fields(JobRow) if field.name not in _KNOWN]
_CLAIMED = [_JOB_FIELDS[name.encode()] for name in (*TOLD, *ASKED, *RARE)]


def job_row(items: list[bytes]) -> JobRow:
    """A job with all its fields."""
    try:
        return JobRow(**_job_values(items))
    except ValueError:
        named = zip(items[::2], items[1::2], strict=True)
        return _damaged((*known, value) for name, value in named if value and (known := _JOB_FIELDS.get(name)))


def submitted(m: c.Submit, reply: list[Any]) -> JobRow:
    """The job. For a new one, the script replies with what it added, or in the usual case just with the time."""
    known: dict[str, Any] = {"id": m.job_id, "thread": m.thread, "key": m.key, "idem": m.idem, "key_ttl": m.key_ttl}
    to = m.target
    known |= {"agent": to.agent, "contract": to.contract, "queue": to.queue, "envelope": to.envelope}
    if reply[0].isdigit():
        now = int(reply[0])
        return JobRow(**known, state="submitted", reason="ready", ready=1, created=now, updated=now)
    return JobRow(**(known | _job_values(unpacked(reply[0]))))


def _job_values(items: list[bytes]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field, value in zip(items[::2], items[1::2], strict=True):
        if value and (known := _JOB_FIELDS.get(field)):
            name, read = known
            values[name] = read(value)
    return values


def _delivery(worker: str, parts: list[Any]) -> Delivery:
    values = parts[0]
    told = compress(zip(_CLAIMED, values, strict=False), values)  # half of the fields are empty
    try:
        row = JobRow(worker=worker, state="working", **{name: read(value) for (name, read), value in told})
    except ValueError:
        found = ((*known, value) for known, value in zip(_CLAIMED, values, strict=False) if value)
        row = _damaged(found, worker=worker, state="working")
    journal: list[bytes] = parts[2] or []
    if parts[2] is False:  # its key is of another type
        held: dict[str, Any] = {**asdict(row), "damaged": ("journal",)}
        row = DamagedRow(**held)
    checkpoint = None
    if parts[1]:
        id_, *stored = parts[1]
        checkpoint = checkpoint_row([id_, row.thread.encode("utf-8", "surrogatepass"), b"", *stored])
    return Delivery(row, checkpoint, flat(journal))


def _damaged(found: Iterable[tuple[str, Callable[[bytes], Any], bytes]], **values: Any) -> DamagedRow:
    """A job with what can be read of it."""
    wrong: list[str] = []
    for name, read, value in found:
        try:
            values[name] = read(value)
        except ValueError:
            wrong.append(name)
    return DamagedRow(**values, damaged=tuple(wrong))


def claimed(m: c.Claim, reply: list[Any]) -> c.Claimed:
    """The deliveries that a claim got."""
    due = reply.pop() if reply and isinstance(reply[-1], int) else -1
    return c.Claimed((_delivery(m.worker, each) for each in reply if not isinstance(each, bytes)), due=due)


def outcomes(_: object, reply: list[Any]) -> list[OutcomeRow]:
    """How children ended."""
    return [_outcome(number, packed) for number, packed in reply]


def _outcome(number: int, packed: bytes) -> OutcomeRow:
    job_id, state, reason, error, result, below = unpacked(packed)
    about = (read_text(state), read_text(reason), read_text(error))
    return OutcomeRow(read_text(job_id), number, *about, result, read_text(below))


def lane_row(_: object, reply: list[Any]) -> LaneRow:
    """A lane."""
    opens, holders = reply
    return LaneRow(tuple(each.decode() for each in holders), int(opens or 0))


def kept_job(_: object, reply: list[Any]) -> KeptJob:
    """A job with all that is kept of it."""
    items, journal, ended = reply
    named = ((name.partition(" "), packed) for name, packed in flat(ended).items())
    found = sorted((fan, int(number), packed) for (fan, _, number), packed in named)
    return KeptJob(job_row(items), flat(journal), [(fan, _outcome(number, packed)) for fan, number, packed in found])

"""The wire format: a command as a script's arguments, and a script's reply as the command's answer.

Plain functions without I/O, so that the sync and the async client share all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from ...contracts.names import digest
from .. import commands as c
from ..commands.streaming import KEPT, KEPT_FOR
from ..operations.travel import NAMES
from ..refusals import refusal
from ..rows import CheckpointRow, StreamRow
from ..seals import read_commit
from . import wire_items as items
from . import wire_jobs as jobs
from . import wire_observing as observing
from . import wire_places as places
from .going_on import GoOn, Unfinished
from .wire_checkpoints import checkpoint_args, checkpoint_row, commit_line, fence_args
from .wire_values import Arg, flat, pairs, read_text, unpacked

R = TypeVar("R")
_PACKED = 0x90  # a packed list begins with this byte or a greater one


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
    if isinstance(command, c.Saving) and command.checkpoint and command.checkpoint.place:
        name = f"{name}+put"
    return name, argv


def unfolded(reply: Any) -> list[Any]:
    """A script's reply, unpacked if it came in one piece."""
    if isinstance(reply, bytes):
        if reply[0] >= _PACKED:
            return unpacked(reply)
        return [reply] if reply == b"+" else [b"+", reply]
    given: list[Any] = reply
    return given


def answer(command: c.Command[R], reply: list[Any]) -> R:
    """The command's answer. Raises what the script refused. `Unfinished` if the script stopped early."""
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
    """The queues in which a script made deliveries ready, besides those that its command names."""
    at = _FILLING.get(type(command))
    return [read_text(queue) for queue in reply[at:] if isinstance(queue, bytes)] if at else []


# building


def _save(m: c.Save) -> list[Arg]:
    assert m.fence is not None
    return [*fence_args(m.fence), *checkpoint_args(m.checkpoint), *pairs(m.records)]


def _save_unleased(m: c.Save) -> list[Arg]:
    where: list[Arg] = [digest(m.thread), m.thread, m.parent, int(m.branch), m.checkpoint.agent, b""]
    return [*where, *checkpoint_args(m.checkpoint)]


def _import(m: c.Import) -> list[Arg]:
    stamps: Sequence[tuple[Arg, Arg, Arg]] = m.stamps or [("", "", "")] * len(m.checkpoints)
    saved = zip(m.checkpoints, m.parents, stamps, strict=True)
    each = [part for new, parent, stamp in saved for part in (*stamp, parent, new.agent, *checkpoint_args(new))]
    return [digest(m.thread), m.thread, m.count, *each]


def _prune(m: c.Prune) -> list[Arg]:
    which: list[Arg] = [m.keep_last, m.older_than, int(m.keep_named), m.start, m.limit]
    return [digest(m.thread), m.thread, *which, *m.kept]


def _declare(m: c.Declare) -> list[Arg]:
    before = m.before or {}
    each: list[Arg] = [part for name, packed in m.agents.items() for part in (name, packed, before.get(name, b""))]
    return [int(m.before is not None), *each]


# reading


def _rows(_: object, reply: list[Any]) -> list[CheckpointRow]:
    return [checkpoint_row(parts) for parts in reply]


def _freed(_: object, reply: list[Any]) -> c.Freed:
    return c.Freed(*reply)


def _nothing(_: object, reply: list[Any]) -> None:
    return None


def _reaped(_: object, reply: list[Any]) -> c.Reaped:
    moved, next_due, left, *queues = reply
    return c.Reaped(moved, next_due, tuple(map(read_text, queues)), left=bool(left))


def _stream_rows(m: c.ReadStream, reply: list[Any]) -> list[StreamRow]:
    return [StreamRow(m.job_id, read_text(position), data) for position, data in reply]


# For scripts that may stop early: the number of the argument that says where to go on.
_GOING_ON = {
    "find": 4,
    "latest": 2,
    "places": 6,
    "timeline": 5,
    **dict.fromkeys(("put", "put+put"), 8),
    **dict.fromkeys(("save_unleased", "save_unleased+put"), 5),
}
# Where, in the reply, the queues for `filled` begin.
_FILLING: dict[type[c.Command[Any]], int] = {
    **dict.fromkeys((c.Claim, c.Complete, c.Fail, c.HandOff, c.Release, c.Sleep, c.Spawn, c.Suspend), 1),
    **dict.fromkeys((c.Cancel, c.RunNow, c.Submit), 2),
    c.ResumeAgent: 3,
}
_Operation = tuple[str, Callable[[Any], list[Arg]], Callable[[Any, list[Any]], Any]]
_OPERATIONS: dict[type[c.Command[Any]], _Operation] = {
    c.Submit: ("submit", jobs.submit_args, jobs.submitted),
    c.Claim: ("claim", jobs.claim_args, jobs.claimed),
    c.Heartbeat: ("heartbeat", jobs.heartbeat_args, lambda _, r: [read_text(status) for status in r]),
    c.Save: ("save", _save, commit_line),
    c.Record: ("record", lambda m: [*fence_args(m.fence), *pairs(m.records)], _nothing),
    c.Emit: ("emit", lambda m: [*fence_args(m.fence), KEPT, KEPT_FOR, *m.data], _nothing),
    c.ReadStream: ("read_stream", lambda m: [m.job_id, m.after, m.limit], _stream_rows),
    c.HandOff: ("hand_off", jobs.hand_off_args, _nothing),
    c.Complete: ("complete", lambda m: [*fence_args(m.fence), m.result, *checkpoint_args(m.checkpoint)], _nothing),
    c.Fail: ("fail", jobs.fail_args, _nothing),
    c.Suspend: ("suspend", jobs.suspend_args, _nothing),
    c.Sleep: ("sleep", lambda m: [*fence_args(m.fence), m.delay, *checkpoint_args(m.checkpoint)], _nothing),
    c.Stage: ("stage", lambda m: [*fence_args(m.fence), m.at, *jobs.children_args(m.children)], _nothing),
    c.Spawn: ("spawn", jobs.spawn_args, _nothing),
    c.ReadOutcomes: ("read_outcomes", lambda m: [m.job_id, m.fan, m.start, m.limit], jobs.outcomes),
    c.Release: ("release", jobs.release_args, _nothing),
    c.AnswerJob: ("answer", lambda m: [m.job_id, m.answer, m.asked, m.by], _nothing),
    c.Cancel: ("cancel", lambda m: [m.job_id], lambda _, r: bool(r[0])),
    c.RunNow: ("run_now", lambda m: [m.job_id], lambda _, r: bool(r[0])),
    c.Redrive: ("redrive", jobs.redrive_args, _nothing),
    c.Adopt: ("adopt", jobs.adopt_args, _nothing),
    c.Expire: ("expire", lambda m: [m.checkpoint_id], _nothing),
    c.Reap: ("reap", jobs.reap_args, _reaped),
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
    c.DeleteThread: ("delete_thread", lambda m: [digest(m.thread), m.thread, m.limit, int(m.placed)], _freed),
    c.DeleteJob: ("delete_job", lambda m: [m.job_id], _nothing),
    c.PruneJobs: ("prune_jobs", lambda m: [m.older_than, m.start, m.limit], _freed),
    c.Events: ("events", observing.events_args, observing.events_answer),
    c.LastEvent: ("last_event", lambda m: [], lambda _, r: r[0].decode()),
    c.JoinGroup: ("join_group", observing.join_args, _nothing),
    c.TakeEvents: ("take_events", observing.take_args, observing.take_answer),
    c.AckEvents: ("ack_events", observing.ack_args, lambda _, r: bool(r[0])),
    c.ListGroups: ("list_groups", lambda m: [m.unfinished], observing.list_answer),
    c.DeleteGroup: ("delete_group", observing.delete_args, _nothing),
    c.TrimEvents: ("trim_events", lambda m: [m.keep, m.limit], lambda _, r: r[0]),
    c.ReadJob: ("read_job", lambda m: [m.job_id], lambda _, r: jobs.job_row(r[0])),
    c.ReadLane: ("read_lane", lambda m: [m.lane, m.limit], jobs.lane_row),
    c.ReadTurns: ("read_turns", lambda m: [digest(m.thread), m.limit], lambda _, r: [each.decode() for each in r]),
    c.FirstUse: ("first_use", lambda m: [m.idem], lambda _, r: jobs.job_row(r[0]) if r[0] else None),
    c.ReadKept: ("read_kept", lambda m: [m.job_id], jobs.kept_job),
    c.ListJobs: (
        "list_jobs",
        lambda m: [m.limit, m.before, int(m.dead), m.state, m.agent, m.at, int(m.children)],
        lambda _, r: [jobs.job_row(items) for items in r],
    ),
    c.JobsOn: (
        "jobs_on",
        lambda m: [digest(m.thread), m.thread, m.limit, m.before, m.at],
        lambda _, r: [jobs.job_row(items) for items in r],
    ),
    c.Inbox: (
        "inbox",
        lambda m: [m.limit, m.after, m.after_id],
        lambda _, r: [jobs.job_row(items) for items in r],
    ),
    c.Declare: ("declare", _declare, lambda _, r: [name.decode() for name in r]),
    c.Declared: ("declared", lambda m: [], lambda _, r: flat(r[0])),
    c.PauseAgent: ("pause_agent", lambda m: [m.agent, m.reason, m.at], observing.changed),
    c.ResumeAgent: ("resume_agent", lambda m: [m.agent, m.at, *m.queues], observing.changed),
    c.Pauses: ("pauses", lambda m: [], lambda _, r: observing.pause_rows(r[0])),
    c.Takers: ("takers", lambda m: [m.queue], lambda _, r: r[0]),
}

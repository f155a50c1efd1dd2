"""The operations as pure functions over records: no clock, no I/O and no sleep of their own.

`run(records, command)` carries one out; memory and SQLite call it inside of a transaction. The Lua scripts are
their second implementation; one suite holds both to the same behaviour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from .. import commands as c
from ..records import Records
from . import (
    checkpoints,
    children,
    clients,
    finding,
    groups,
    holders,
    items,
    observing,
    pausing,
    places,
    reading,
    retention,
    streaming,
    travel,
    upkeep,
)

R = TypeVar("R")

_OPERATIONS: dict[type[c.Command[Any]], Callable[[Records, Any], Any]] = {
    c.Submit: clients.submit,
    c.AnswerJob: clients.answer,
    c.Cancel: clients.cancel,
    c.RunNow: clients.run_now,
    c.Redrive: clients.redrive,
    c.Adopt: clients.adopt,
    c.Declare: clients.declare,
    c.PauseAgent: pausing.pause,
    c.ResumeAgent: pausing.resume,
    c.Pauses: pausing.pauses,
    c.Claim: holders.claim,
    c.Heartbeat: holders.heartbeat,
    c.Record: holders.record,
    c.Emit: streaming.emit,
    c.HandOff: holders.hand_off,
    c.Complete: holders.complete,
    c.Fail: holders.fail,
    c.Suspend: holders.suspend,
    c.Sleep: holders.sleep,
    c.Stage: children.stage,
    c.Spawn: children.spawn,
    c.Release: holders.release,
    c.Save: checkpoints.save,
    c.Expire: checkpoints.expire,
    c.Name: travel.name,
    c.Import: travel.import_,
    c.Put: places.put,
    c.PutWrites: places.put_writes,
    c.WriteItems: items.write,
    c.RefreshItems: items.refresh,
    c.Prune: retention.prune,
    c.Drop: retention.drop,
    c.DeleteThread: retention.delete_thread,
    c.DeleteJob: retention.delete_job,
    c.PruneJobs: retention.prune_jobs,
    c.Reap: upkeep.reap,
    c.Restore: reading.restore,
    c.Latest: reading.latest,
    c.Timeline: reading.timeline,
    c.Ancestors: travel.ancestors,
    c.FindName: travel.find_name,
    c.Threads: travel.threads,
    c.Export: travel.export,
    c.Find: finding.find,
    c.Places: finding.places,
    c.Walk: finding.walk,
    c.ReadSpans: finding.read_spans,
    c.OfRun: finding.of_run,
    c.ReadItems: items.read,
    c.ListItems: items.page,
    c.ListSpaces: items.spaces,
    c.Events: observing.events,
    c.LastEvent: observing.last_event,
    c.TrimEvents: observing.trim_events,
    c.JoinGroup: groups.join,
    c.TakeEvents: groups.take,
    c.AckEvents: groups.ack,
    c.ListGroups: groups.listed,
    c.DeleteGroup: groups.delete,
    c.ReadJob: reading.read_job,
    c.FirstUse: reading.first_use,
    c.ReadKept: reading.read_kept,
    c.ReadLane: reading.read_lane,
    c.ReadTurns: reading.read_turns,
    c.ReadOutcomes: children.outcomes,
    c.ReadStream: streaming.read,
    c.ListJobs: reading.list_jobs,
    c.JobsOn: reading.jobs_on,
    c.Inbox: reading.inbox,
    c.Declared: reading.declared,
    c.Takers: reading.takers,
}


def run(records: Records, command: c.Command[R]) -> R:
    """Carry a command out; what it raises must undo the whole transaction."""
    return cast("R", _OPERATIONS[type(command)](records, command))

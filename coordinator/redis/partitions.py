"""Partitions: which of a store's partitions a command concerns, and what their answers come to.

Everything about a job and its thread lives in one partition, so that most commands are one round trip to one of them,
and a second one (to the doors in partition 0) if workers have to be woken. Only claims, upkeep, lists and the events
of everything concern several.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar, cast

from ...contracts.errors import BadSetup, Unavailable
from ...contracts.names import home, is_id, partition_of
from .. import commands as c
from ..refusals import refusal
from ..rows import JobRow
from . import (
    partitions_events,
    partitions_groups,
    partitions_items,
    partitions_jobs,
    partitions_pauses,
    partitions_submit,
)
from .partitions_plan import Plan, Ready, Ring, good, rings, told

R = TypeVar("R")


def plan(command: c.Command[R], count: int) -> Plan[R]:
    """How a command is carried out on `count` partitions."""
    several = _SEVERAL.get(type(command))
    if several is not None:
        return cast("Plan[R]", several(command, count))
    return _one(command, count)


def claim_at(command: c.Claim, knock: Ring) -> Plan[Any]:
    """Claim where a ring said that there are deliveries. The rest of their number is passed on to another worker."""
    [answer] = good((yield [(knock.partition, command)]))
    found = yield from told(knock.partition, answer)
    left = knock.number - len(found)
    if left > 0 and len(found) == len(command.leases):
        yield [(0, replace(knock, number=left))]
    return found


def partition(command: c.Command[Any]) -> int:
    """The partition that a command concerns: its job's, its checkpoint's, else its thread's. Agents are in 0."""
    if (fence := getattr(command, "fence", None)) is not None:
        return _of(fence.job_id)
    if isinstance(command, c.Put):
        return home(command.checkpoint.thread)
    for name, find in (("job_id", _of), ("checkpoint_id", _of), ("thread", home)):
        if about := getattr(command, name, ""):
            return find(about)
    return 0


def _of(minted: str) -> int:
    """The partition in an id. What is not an id can't be found anywhere, so any partition will do."""
    return partition_of(minted) if is_id(minted, minted[:1]) else 0


def _one(command: c.Command[R], count: int) -> Plan[R]:
    at = partition(command) % count
    [answer] = good((yield [(at, command)]))
    answer = yield from told(at, answer)
    queue = ""
    if isinstance(command, c.HandOff):
        queue = command.target.queue
    elif isinstance(command, c.AnswerJob | c.Redrive | c.Release):
        job_id = command.fence.job_id if isinstance(command, c.Release) else command.job_id
        [row] = yield [(at, c.ReadJob(job_id))]
        queue = row.queue if isinstance(row, JobRow) else ""
    if queue:
        yield [(0, Ring(queue, at))]  # if it fails, workers find the delivery a little later
    return cast("R", answer)


def _submit(command: c.Submit, count: int) -> Plan[JobRow]:
    if command.origin:
        yield from _together(command.origin, command.job_id, count)
    row = yield from partitions_submit.submit(command, count)
    if row.reason == "ready":
        yield [(0, Ring(row.queue, partition_of(row.id) % count))]
    return row


def _save(command: c.Save, count: int) -> Plan[Any]:
    if command.parent and command.fence is None:
        yield from _together(command.parent, command.thread, count)
    return (yield from _one(command, count))


def _together(checkpoint_id: str, thread: str, count: int) -> Plan[None]:
    """Refuse to go on from another partition's checkpoint: nothing can be in two partitions."""
    at = partition_of(checkpoint_id) % count
    if home(thread) % count != at:
        good((yield [(at, c.Restore(checkpoint_id))]))
        raise BadSetup(
            f"checkpoint {checkpoint_id} and thread {thread!r} live in different partitions of this store, so nothing "
            "on that thread can go on from it: make a new thread of it with fork(checkpoint, thread=...), save to the "
            "checkpoint's own thread, or give it to a job of its own (hand_off)"
        )


def _claim(command: c.Claim, count: int) -> Plan[c.Claimed]:
    """Look into all partitions at once, then claim in those that have deliveries, in the order of the queues. If one
    refuses, that is only raised if no other gave a lease: leases must not be thrown away for it."""
    places = random.sample(range(count), count)  # no partition may starve the others
    queues = tuple(queue for queue, _ in command.queues)
    lengths = yield [(at, Ready(queues)) for at in places]
    if all(isinstance(outcome, Exception) for outcome in lengths):
        raise lengths[0]
    lots = [
        (at, outcome[index])
        for index in range(len(queues))
        for at, outcome in zip(places, lengths, strict=True)
        if not isinstance(outcome, Exception) and outcome[index]
    ]
    found, refused = c.Claimed(), list[Exception]()
    dues = [outcome[-1] for outcome in lengths if not isinstance(outcome, Exception)]
    leases = list(command.leases)
    while lots and leases:
        asks = list(_deal(command, lots, leases))
        for (at, asked), outcome in zip(asks, (yield asks), strict=True):
            answer = yield from told(at, outcome)
            if isinstance(answer, c.Claimed):
                found += answer
                leases += asked.leases[len(answer) :]
                dues.append(answer.due)
            else:
                refused.append(answer)
    if refused and not found:
        raise refused[0]
    found.sort(key=lambda delivery: queues.index(delivery.job.queue))
    if leases:
        found.due = min((due for due in dues if due >= 0), default=-1)
    return found


def _deal(command: c.Claim, lots: list[tuple[int, int]], leases: list[str]) -> Iterator[tuple[int, c.Claim]]:
    """Give the leases to the first lots, and remove those. One claim per partition."""
    wanted: Counter[int] = Counter()
    while lots and len(leases) > wanted.total():
        at, number = lots.pop(0)
        wanted[at] += min(number, len(leases) - wanted.total())
    for at, number in wanted.items():
        yield at, replace(command, leases=tuple(leases[:number]))
        del leases[:number]


def _heartbeat(command: c.Heartbeat, count: int) -> Plan[list[str]]:
    places: dict[int, list[int]] = {}
    for index, (fence, _) in enumerate(command.leases):
        places.setdefault(partition_of(fence.job_id) % count, []).append(index)
    asks = [(at, c.Heartbeat(tuple(command.leases[index] for index in held))) for at, held in places.items()]
    answers = [""] * len(command.leases)
    for held, statuses in zip(places.values(), good((yield asks)), strict=True):
        for index, status in zip(held, statuses, strict=True):
            answers[index] = status
    return answers


def _reap(command: c.Reap, count: int) -> Plan[c.Reaped]:
    """Reap all partitions at once. A worker's presence is only recorded in partition 0."""
    elsewhere, spared = replace(command, worker="", queues=(), presence=0), frozenset(command.spared or ())
    each = ((at, elsewhere if at else command) for at in range(count))
    outcomes = yield [(at, replace(asked, leases=False) if at in spared else asked) for at, asked in each]
    woken = [
        ring
        for at, outcome in enumerate(outcomes)
        if isinstance(outcome, c.Reaped)
        for ring in rings(at, outcome.queues, more=1)  # the worker that waits first may be the frozen one
    ]
    if woken:
        yield woken
    away = {at: outcome for at, outcome in enumerate(outcomes) if isinstance(outcome, Unavailable)}
    if command.spared is None or len(away) == count:
        away = {}
    reaped: list[c.Reaped] = good([outcome for at, outcome in enumerate(outcomes) if at not in away])
    due = [one.next_due for one in reaped if one.next_due >= 0]
    left = any(one.left for one in reaped)
    return c.Reaped(sum(one.moved for one in reaped), min(due, default=-1), away=away, left=left)


def _timeline(command: c.Timeline, count: int) -> Plan[list[Any]]:
    at = home(command.thread) % count
    if command.before and partition_of(command.before) % count != at:
        # A checkpoint of another thread, if it exists.
        good((yield [(partition_of(command.before) % count, c.Restore(command.before))]))
        raise refusal("not_on", command.before, command.thread)
    [rows] = good((yield [(at, command)]))
    return cast("list[Any]", rows)


def _of_run(command: c.OfRun, count: int) -> Plan[list[tuple[str, str]]]:
    found = good((yield [(at, command) for at in range(count)]))
    return sorted(each for of_one in found for each in of_one)[: command.limit]


def _threads(command: c.Threads, count: int) -> Plan[list[str]]:
    """A page of the threads of all partitions, in one order."""
    pages = good((yield [(at, command) for at in range(count)]))
    return sorted(name for page in pages for name in page)[: command.limit]


def _prune_jobs(command: c.PruneJobs, count: int) -> Plan[c.Freed]:
    """One partition after the other. The number to go on from is the job's number there times `count`, plus the
    partition."""
    start, at = divmod(command.start, count)
    freed = 0
    while at < count:
        [one] = good((yield [(at, replace(command, start=start, limit=max(command.limit - freed, 1)))]))
        freed += one.count
        if one.next >= 0:
            return c.Freed(freed, one.next * count + at)
        start, at = 0, at + 1
        if freed >= command.limit and at < count:
            return c.Freed(freed, at)
    return c.Freed(freed)


_SEVERAL: dict[type[c.Command[Any]], Callable[[Any, int], Plan[Any]]] = {
    c.Submit: _submit,
    c.Save: _save,
    c.Claim: _claim,
    c.Heartbeat: _heartbeat,
    c.Reap: _reap,
    c.PauseAgent: partitions_pauses.pause,
    c.ResumeAgent: partitions_pauses.resume,
    c.Timeline: _timeline,
    c.FirstUse: partitions_submit.first_use,
    c.ListJobs: partitions_jobs.list_jobs,
    c.Inbox: partitions_jobs.inbox,
    c.Events: partitions_events.events,
    c.LastEvent: partitions_events.last_event,
    c.TrimEvents: partitions_events.trim_events,
    c.JoinGroup: partitions_groups.join,
    c.TakeEvents: partitions_groups.take,
    c.AckEvents: partitions_groups.ack,
    c.ListGroups: partitions_groups.listed,
    c.DeleteGroup: partitions_groups.delete,
    c.OfRun: _of_run,
    c.WriteItems: partitions_items.write,
    c.RefreshItems: partitions_items.refresh,
    c.ReadItems: partitions_items.read,
    c.ListItems: partitions_items.page,
    c.ListSpaces: partitions_items.spaces,
    c.Threads: _threads,
    c.PruneJobs: _prune_jobs,
}

"""Groups of consumers over several partitions: a group has a position in each of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ...contracts.errors import NotFound, Trimmed, Unavailable
from .. import commands as c
from .partitions_events import begin, position
from .partitions_plan import Plan, good


def join(command: c.JoinGroup, count: int) -> Plan[None]:
    """Join in all partitions, so that the group sees every event from now on."""
    good((yield [(at, command) for at in range(count)]))


def take(command: c.TakeEvents, count: int) -> Plan[c.Taken]:
    """A batch from each partition, of its share. What is found counts, even if other partitions are unreachable."""
    share = replace(command, limit=max(command.limit // count, 1))
    outcomes = yield [(at, share) for at in range(count)]
    batches: list[c.Batch] = []
    for at, outcome in enumerate(outcomes):
        if isinstance(outcome, c.Taken):
            batches += [replace(batch, partition=at) for batch in outcome.batches]
        elif isinstance(outcome, Trimmed):
            raise Trimmed(str(outcome), first_available=(yield from _first_available(at, count)))
        elif not isinstance(outcome, Unavailable):
            raise outcome
    found = outcomes if batches else good(outcomes)
    return c.Taken(tuple(batches), any(isinstance(each, c.Taken) and each.more for each in found))


def _first_available(at: int, count: int) -> Plan[str]:
    """A position at the oldest events that are kept, in each partition."""
    read = [""] * count
    yield from begin(range(count), read)
    return position(at, read)


def ack(command: c.AckEvents, count: int) -> Plan[bool]:
    """The partition that a batch is from."""
    [held] = good((yield [(command.partition % count, command)]))
    return bool(held)


def listed(command: c.ListGroups, count: int) -> Plan[list[c.GroupRow]]:
    """What is left to take and to do, in all partitions."""
    lag, taken, unfinished, about = Counter[str](), Counter[str](), Counter[str](), dict[str, bytes]()
    for rows in good((yield [(at, command) for at in range(count)])):
        for row in rows:
            lag[row.name] += row.lag
            taken[row.name] += row.taken
            unfinished[row.name] += row.unfinished
            about[row.name] = row.about
    return [c.GroupRow(name, lag[name], taken[name], about[name], unfinished[name]) for name in sorted(lag)]


def delete(command: c.DeleteGroup, count: int) -> Plan[None]:
    """Delete in all partitions. Some may lack it, if an earlier deletion was interrupted."""
    outcomes = yield [(at, command) for at in range(count)]
    gone = [each for each in outcomes if isinstance(each, NotFound)]
    good(outcomes if len(gone) == count else [each for each in outcomes if each not in gone])

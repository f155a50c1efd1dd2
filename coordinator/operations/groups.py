"""Groups of consumers, who share events: each is taken by one, and again by another if that one does not finish it."""

from __future__ import annotations

from ..commands import AckEvents, Batch, DeleteGroup, GroupRow, JoinGroup, ListGroups, TakeEvents, Taken
from ..commands.observing import MOST
from ..records import Records
from ..refusals import refusal
from ..rows import ConsumerGroup, EventRow
from .observing import wanted

# How many batches of a group may be taken at a time.
BATCHES = 100


def join(records: Records, command: JoinGroup) -> None:
    """Make a group, or move it. Stores what its maker keeps with it."""
    known = records.group(command.group)
    if known is None and command.known:
        raise refusal("no_group", command.group)
    row = known
    if command.anew or row is None:
        front = records.last_event() if command.now else records.trimmed()
        row = ConsumerGroup(command.group, int(front), about=known.about if known else b"")
    elif command.about is None:
        return
    row.about = row.about if command.about is None else command.about
    records.put_group(row)


def take(records: Records, command: TakeEvents) -> Taken:
    """A batch that its consumer did not finish in time, else the next events."""
    group = _group(records, command.group)
    again = _to_take_again(records, group, command.batch)
    first, last = group.batches[again][:2] if again else (group.front, 0)
    if first < int(gone := records.trimmed()):
        raise refusal("behind", command.group, gone)
    if not again and len(group.batches) >= BATCHES:
        return Taken()
    rows = records.events(str(first), MOST if again else command.limit)
    rows = [row for row in rows if int(row.position) <= last] if again else rows
    if not rows and not again:
        return Taken()
    return _given(records, command, group, again, first, rows)


def _given(
    records: Records, command: TakeEvents, group: ConsumerGroup, again: str, first: int, rows: list[EventRow]
) -> Taken:
    fits = wanted(records, command.which)
    page = tuple(row for row in rows if fits(row))
    last = group.batches.pop(again)[1] if again else int(rows[-1].position)
    if not again:
        group.front = last
    if page:
        group.batches[command.batch] = (first, last, records.now + command.lease)
    records.put_group(group)
    return Taken((Batch(command.batch, page, str(last)),) if page else (), more=True)


def _to_take_again(records: Records, group: ConsumerGroup, mine: str) -> str:
    """The batch with this id, if it was taken before, else the first one whose lease is over."""
    if mine in group.batches:
        return mine
    over = [(first, id_) for id_, (first, _, until) in group.batches.items() if until <= records.now]
    return min(over)[1] if over else ""


def nothing_to_take(records: Records, command: TakeEvents) -> bool:
    """Whether there is nothing to take, so that asking would only cost a turn as a writer."""
    group = records.group(command.group)
    return bool(group and not _to_take_again(records, group, command.batch) and not records.events(str(group.front), 1))


def ack(records: Records, command: AckEvents) -> bool:
    """Record how far a consumer is in its batch."""
    group = records.group(command.group)
    if group is None or command.batch not in group.batches:
        return False
    first, last, _ = group.batches[command.batch]
    done = int(command.position or first)
    if done >= last:
        del group.batches[command.batch]
    else:
        group.batches[command.batch] = (max(done, first), last, records.now + command.lease)
    records.put_group(group)
    return True


def listed(records: Records, command: ListGroups) -> list[GroupRow]:
    """All groups."""
    return [
        GroupRow(
            row.name,
            records.count_events(row.front),
            len(row.batches),
            row.about,
            _unfinished(records, row) if command.unfinished and row.name.startswith(command.unfinished) else 0,
        )
        for row in records.groups()
    ]


def _unfinished(records: Records, row: ConsumerGroup) -> int:
    return sum(records.count_events(first, last) for first, last, _ in row.batches.values())


def delete(records: Records, command: DeleteGroup) -> None:
    """Delete a group."""
    records.drop_group(_group(records, command.group).name)


def _group(records: Records, name: str) -> ConsumerGroup:
    group = records.group(name)
    if group is None:
        raise refusal("no_group", name)
    return group

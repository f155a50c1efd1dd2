"""The wire format of events, groups and pauses."""

from __future__ import annotations

from typing import Any

from ...contracts.names import digest
from .. import commands as c
from ..operations.groups import BATCHES
from ..rows import EventRow, PauseRow
from .wire_values import Arg, read_text


def events_args(m: c.Events) -> list[Arg]:
    return [m.after, m.subject, m.limit, int(m.stored), *_which(m.which)]


def _which(which: c.Which) -> list[Arg]:
    return [which.agent, which.thread, *which.types]


def events_answer(_: object, reply: list[Any]) -> list[EventRow]:
    return [_event_row(position, fields) for position, fields in reply]


def _event_row(position: bytes, fields: list[bytes]) -> EventRow:
    pairs = zip(fields[::2], fields[1::2], strict=True)
    read = {name.decode(): read_text(value) for name, value in pairs if value}
    at = position.decode()
    return EventRow(at, {**read, "time": at.partition("-")[0]} if read else {})


def join_args(m: c.JoinGroup) -> list[Arg]:
    about: list[Arg] = [int(m.about is not None), m.about or b""]
    return [_group(m.group), m.group, int(m.now), int(m.anew), int(m.known), *about]


def take_args(m: c.TakeEvents) -> list[Arg]:
    return [_group(m.group), m.group, m.batch, m.lease, m.limit, BATCHES, *_which(m.which)]


def ack_args(m: c.AckEvents) -> list[Arg]:
    return [_group(m.group), m.batch, m.position, m.lease]


def delete_args(m: c.DeleteGroup) -> list[Arg]:
    return [_group(m.group), m.group]


def _group(name: str) -> str:
    return digest("group", name)


def take_answer(m: c.TakeEvents, reply: list[Any]) -> c.Taken:
    more, *batch = reply
    if not batch:
        return c.Taken(more=bool(more))
    last, *rows = batch
    return c.Taken((c.Batch(m.batch, tuple(_event_row(*row) for row in rows), last.decode()),), bool(more))


def list_answer(_: object, reply: list[Any]) -> list[c.GroupRow]:
    rows = [c.GroupRow(read_text(name), *rest) for name, *rest in reply]
    return sorted(rows, key=lambda row: row.name)


def changed(_: object, reply: list[Any]) -> c.Changed:
    now, at, *_queues = reply
    return c.Changed(bool(now), at)


def pause_rows(reply: list[bytes]) -> list[PauseRow]:
    rows = [_pause_row(read_text(agent), read_text(told)) for agent, told in zip(reply[::2], reply[1::2], strict=True)]
    return sorted(rows, key=lambda row: row.agent)


def _pause_row(agent: str, told: str) -> PauseRow:
    at, _, reason = told.partition(" ")
    return PauseRow(agent, int(at), True, reason)

"""What goes over the wire about events."""

from __future__ import annotations

from typing import Any

from .. import commands as c
from ..rows import EventRow
from .wire_checkpoints import Arg, read_text


def events_args(m: c.Events) -> list[Arg]:
    return [m.after, m.subject, m.limit, *_which(m.which)]


def _which(which: c.Which) -> list[Arg]:
    return [which.agent, which.thread, *which.types]


def events_answer(_: object, reply: list[Any]) -> list[EventRow]:
    return [_event_row(position, fields) for position, fields in reply]


def _event_row(position: bytes, fields: list[bytes]) -> EventRow:
    pairs = zip(fields[::2], fields[1::2], strict=True)
    read = {name.decode(): read_text(value) for name, value in pairs if value}
    at = position.decode()
    return EventRow(at, {**read, "time": at.partition("-")[0]} if read else {})

"""Groups: calls of consumers, who share the events of a group."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ...contracts.bounds import is_count
from ...contracts.duration import Duration
from ...contracts.errors import BadSetup, BatonpassError, NotFound, Trimmed, Unavailable
from ...contracts.event import Event
from ...contracts.group import GroupInfo
from ...contracts.names import mint
from ..commands import AckEvents, Batch, DeleteGroup, GroupRow, JoinGroup, ListGroups, TakeEvents, Taken, Which
from ..commands.observing import MOST
from . import Call
from .events import read
from .inputs import milliseconds, text

_log = logging.getLogger("batonpass.events")
# After so many seconds, progress within a batch is acknowledged. But at least after this share of a lease.
_SAID_WITHIN, _OF_LEASE = 1.0, 1 / 3
_STARTS = ("begin", "now")
WEBHOOK = "webhook:"  # begins the names of webhooks' groups


class Work:
    """What one consumer of a group does. Asking for the next event means that the last one is done."""

    def __init__(self, group: str, which: Which, *, start: str, lease: Duration, batch: int, source: str) -> None:
        if not is_count(batch, most=MOST):
            raise BadSetup(f"batch={batch!r}, but it must be from 1 to {MOST}")
        self._group = _name(group)
        self._join = JoinGroup(self._group, is_now(start))
        self._take = TakeEvents(self._group, mint("l"), milliseconds(lease, "lease", least=0.1), batch, which)
        self._source = source
        self._joined = self._asking = False
        self._held: list[Batch] = []  # the rest of each batch; the first is being worked on
        self._done = ""  # the position in it up to which everything is done
        self._given = ""  # the position of the event that was returned last
        self._said = 0.0
        self._within = min(_SAID_WITHIN, self._take.lease / 1000 * _OF_LEASE)

    def next(self) -> Call[Event | None]:
        """Mark the last event as done, and return the next one, or None. After an error it may be called again."""
        if not self._joined:
            yield self._join
            self._joined = True
        yield from self.ack(within=self._within)
        more = True
        while not self._held and more:
            more = yield from self._fetch()
        if not self._held:
            return None
        first = self._held[0]
        row = first.rows[0]
        self._held[0] = replace(first, rows=first.rows[1:])
        self._given = row.position
        at = "" if first.partition is None else f"{first.partition}."
        return replace(read(row, self._source), id=at + row.position, cursor="")

    def ack(self, *, within: float = 0.0) -> Call[None]:
        """Mark the last event as done. The store is told if it was last told longer ago than `within` seconds."""
        self._done, self._given = self._given or self._done, ""
        if self._held and not self._held[0].rows:
            first = self._held[0]
            yield self._told(first, first.last)
            self._held, self._done = self._held[1:], ""
            within = self._within  # the other batches have not changed
        if self._held and time.monotonic() - self._said >= within:
            yield from self.keep()

    def keep(self) -> Call[None]:
        """Renew the leases, and tell the store how far they are done. Drops batches that others have taken over."""
        for batch in list(self._held):
            done = self._done if batch is self._held[0] else ""
            if not (yield self._told(batch, done)):
                _log.warning("a batch of group %r took longer than its lease: another consumer has it", self._group)
                if batch is self._held[0]:  # its progress does not apply to the next batch
                    self._done = self._given = ""
                self._held.remove(batch)
        self._said = time.monotonic()

    def give_back(self) -> Call[None]:
        """Give back what is not done, also what was being asked for when the consumer was cancelled."""
        if self._asking:
            with suppress(NotFound, Trimmed):  # nothing to give back
                yield from self._fetch()
        held, self._held = self._held, []
        for number, batch in enumerate(held):
            yield replace(self._told(batch, "" if number else self._done), lease=0)
        self._done = self._given = ""

    def _fetch(self) -> Call[bool]:
        self._asking = True
        try:
            taken: Taken = yield self._take
        except BatonpassError as error:
            self._asking = isinstance(error, Unavailable)  # it may have been carried out
            raise
        self._asking = False
        self._take = replace(self._take, batch=mint("l"))
        self._held = list(taken.batches)
        self._said = time.monotonic()
        return taken.more

    def _told(self, batch: Batch, position: str) -> AckEvents:
        return AckEvents(self._group, batch.id, position, self._take.lease, batch.partition or 0)


def users(group: str) -> str:
    """The name of a group that users' consumers join."""
    if _name(group).startswith(WEBHOOK):
        raise BadSetup(
            f"group {group!r} sends the events of a webhook, which would miss the events you consume: use a name "
            f"that does not start with {WEBHOOK!r}"
        )
    return group


def listed() -> Call[list[GroupInfo]]:
    """All groups."""
    rows: Sequence[GroupRow] = yield ListGroups()
    return [GroupInfo(name=row.name, lag=row.lag, taken=row.taken) for row in rows]


def move(group: str, to: str) -> Call[None]:
    """Move an existing group, and forget what it has taken."""
    yield JoinGroup(_name(group), is_now(to), anew=True, known=True)


def delete(group: str) -> Call[None]:
    """Delete a group of users' consumers. A webhook's would take its URL and its secret along."""
    if (webhook := _name(group).removeprefix(WEBHOOK)) != group:
        raise BadSetup(
            f"group {group!r} is a webhook's, whose URL and secret would be lost: remove the webhook if you mean that, "
            f"by `batonpass webhooks remove {webhook}` or delete_webhook({webhook!r}), or use `groups move` to skip "
            "what it has not sent"
        )
    yield DeleteGroup(group)


def _name(group: str) -> str:
    if not group:
        raise BadSetup("a consumer group needs a name")
    return text(group, "group")


def is_now(start: str, what: str = "group") -> bool:
    """Whether a group, or what else is made of one, starts after the newest event, and not at the first."""
    if start not in _STARTS:
        raise BadSetup(f"a {what} can't start at {start!r}: use {' or '.join(map(repr, _STARTS))}")
    return start == "now"

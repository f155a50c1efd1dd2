"""Key uses: what was stored with which key. Everything is looked at as it is stored, so no key is needed for that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import field
from typing import Any

from ...contracts.errors import Corrupted, NotFound, Trimmed
from ...contracts.key_use import KeyUse
from ...contracts.lean import dataclass
from ..coded.codec import PLAIN, Codec, KeyName, key_of
from ..coded.frames import keys_in
from ..coded.texts import key_in
from ..commands import Events, LastEvent, ListGroups, ListItems, ListJobs, Places, ReadKept, ReadSpans, Threads
from ..commands.threads import LOOKED_AT
from ..items import OURS, ItemPage
from ..parts.runs import Runs
from ..parts.spans import read_spans
from ..place_writes import is_written
from ..rows import CommitLine, EventRow, JobRow, KeptJob, OutcomeRow
from ..seals import read_commit
from . import Call
from .copies import page
from .events import PAGE
from .groups import WEBHOOK
from .rewinding import is_short_of

_ROWS = 100
_ITEMS = 100
Looked = Callable[[int], None]
"""Told how many jobs, threads, items and webhooks were looked at."""


@dataclass(slots=True)
class _Found:
    """What needs each key: by kind, the names of what does, in order."""

    looked: Looked
    mine: list[KeyName]
    uses: dict[KeyName, dict[str, dict[Any, None]]] = field(default_factory=dict[KeyName, dict[str, dict[Any, None]]])
    events: dict[KeyName, int] = field(default_factory=dict[KeyName, int])
    count: int = 0

    def add(self, kind: str, name: Any, keys: Iterable[KeyName | None]) -> None:
        """Something that needs these keys. (None is of what is empty.)"""
        for key in filter(None, set(keys)):
            self.uses.setdefault(self.told_apart(key), {}).setdefault(kind, {})[name] = None
        self.count += 1
        self.looked(self.count)

    def told_apart(self, key: KeyName) -> KeyName:
        """This process's key, if it may be that, one without a mark if this process has none of that name, else the
        other key of that name."""
        named = [each for each in self.mine if each[:2] == key[:2]]
        if any(key.mark in (b"", each.mark) for each in named):
            return named[0]
        return key if named else key._replace(mark=b"")


def uses(codec: Codec | None, looked: Looked | None) -> Call[list[KeyUse]]:
    """Of each key that something needs, and each that the codec has, what needs it. What changes meanwhile may be left
    out: it is stored with the key of those who write."""
    mine = (codec.names if codec else []) or [PLAIN]
    found = _Found(looked or _nobody, mine)
    yield from _jobs(found)
    yield from _threads(found)
    yield from _items(found)
    for row in (yield ListGroups()):
        if row.about:
            found.add("webhooks", row.name.removeprefix(WEBHOOK), [key_of(row.about)])
    yield from _events(found)
    every = dict.fromkeys([*mine, *sorted(found.uses.keys() | found.events.keys())])
    return [_use(key, found) for key in every]


def _use(key: KeyName, found: _Found) -> KeyUse:
    protection, name, _ = key
    named = {kind: tuple(names) for kind, names in found.uses.get(key, {}).items()}
    known, writes = key in found.mine or not name, key == found.mine[0]
    other = not known and any(each[:2] == key[:2] for each in found.mine)
    events = found.events.get(key, 0)
    return KeyUse(key=name, protection=protection, known=known, writes=writes, other=other, events=events, **named)


def _jobs(found: _Found) -> Call[None]:
    last, at = "", 0
    while True:
        rows: list[JobRow] = yield ListJobs(_ROWS, last, at=at)
        for row in rows:
            with suppress(NotFound):  # it was deleted meanwhile
                kept: KeptJob = yield ReadKept(row.id)
                found.add("jobs", row.id, _of_job(kept))
        if not rows:
            return
        last, at = rows[-1].id, rows[-1].created


def _of_job(kept: KeptJob) -> Iterator[KeyName | None]:
    row = kept.job
    for data in (row.envelope, row.result, row.question, row.answer, row.terms, row.otherwise, *kept.journal.values()):
        yield key_of(data)
    yield key_in(row.error)
    outcomes: Iterable[OutcomeRow] = (outcome for _, outcome in kept.outcomes)
    for outcome in outcomes:
        yield key_of(outcome.result)
        yield key_in(outcome.error)


def _threads(found: _Found) -> Call[None]:
    last = ""
    while names := (yield Threads(after=last)):
        for name in names:
            keys = yield from _of_thread(name)
            if keys:
                found.add("threads", name, keys)
        last = names[-1]


def _of_thread(thread: str) -> Call[set[KeyName | None]]:
    """The keys of a thread's checkpoints and of what was written at its places. The bytes in logs are read once."""
    keys: set[KeyName | None] = set()
    start, runs = 0, Runs()
    while rows := (yield from page(thread, start)):
        keys |= {key_of(data) for row in rows for data in (row.header, row.state, row.native)}
        commits: list[CommitLine] = []
        for row in rows:
            with suppress(Corrupted):
                commits.append(read_commit(row.commit, row.id))
        keys |= yield from _in_logs(thread, runs, [commit.spans for commit in commits])
        start = 1 + max((commit.step_index for commit in commits), default=start + LOOKED_AT)
    before: tuple[str, str] | None = None
    while places := (yield Places(thread, None, before, _ROWS, whole=True)):
        writes = [write for row in places for write in row.writes]
        keys |= {PLAIN if is_written(write.data) else key_of(write.data) for write in writes}
        keys |= yield from _in_logs(thread, runs, [write.spans for write in writes])
        before = (places[-1].place.key, places[-1].place.scope)
    return keys


def _in_logs(thread: str, runs: Runs, texts: Iterable[str]) -> Call[set[KeyName | None]]:
    """The keys of what these spans hold, as far as it was not read before."""
    portions = [portion for text in texts for portion in runs.carry(read_spans(text), "")[1]]
    spans = tuple(portion.source for portion in portions)
    data: list[bytes] = (yield ReadSpans(thread, spans)) if spans else []
    return {key for each in data for key in keys_in(each)}


def _items(found: _Found) -> Call[None]:
    start = ""
    while True:
        read: ItemPage = yield ListItems((), start, _ITEMS, indexed=True)
        for row in read.rows:
            keys = [key_of(row.value), key_of(row.index)]
            if row.name.labels[0] in OURS:
                found.add("schedules", row.name.key, keys)
            else:
                found.add("items", (*row.name.labels, row.name.key), keys)
        if not read.start:
            return
        start = read.start


def _events(found: _Found) -> Call[None]:
    newest: str = yield LastEvent()
    after = ""
    while True:
        before = after
        try:
            rows: list[EventRow] = yield Events(before, limit=PAGE)
        except Trimmed as error:
            after = error.first_available
            continue
        for row in rows:
            if key := key_in(row.fields.get("error", "")):
                own = found.told_apart(key)
                found.events[own] = found.events.get(own, 0) + 1
        after = rows[-1].position if rows else before
        if not rows or not is_short_of(newest, before, after):
            return


def _nobody(looked: int) -> None:
    """Tells nobody."""

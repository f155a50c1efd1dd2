"""Embedded: everything that a namespace keeps in a SQLite file, as pieces for Redis (keys: lua/lib/base.lua).

What does not last is left behind: workers' presence, what jobs streamed lately, the starts that a rate counts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from hashlib import sha1
from sqlite3 import Connection
from typing import Any, NamedTuple

import msgpack

from ....contracts.errors import Corrupted
from ....contracts.names import digest
from ...items import name_from
from ...parts.spans import read_spans
from ...rows import BEHIND, JobRow
from ...sqlite.commit_lines import unpacked
from ..segments import SEGMENT
from ..wire_jobs import job_fields
from ..wire_places import spot_of
from .kinds import Form, Piece
from .reading import PIECE, portions

_JOB = [field.name for field in fields(JobRow)]
_UNENDED = ("submitted", "working", "input_required")
# As in lua/lib/turns.lua.
_BAND, _AHEAD = 3 * 10**15, 10**15
# As in sqlite/logs.py.
_ROOM = 1 << 36
Index = defaultdict[str, list[tuple[bytes, bytes]]]


class _Passed(NamedTuple):
    """An event's new position, and how many events of the file a reader who is there has read."""

    position: bytes
    passed: int


class Embedded:
    """Goes through a namespace in a file in which no job runs or waits for children. `rows` is how many it has seen."""

    def __init__(self, connection: Connection, namespace: str, now: int) -> None:
        self._db = connection
        self._namespace = namespace
        self._now = now
        self.rows = 0

    def __iter__(self) -> Iterator[Piece]:
        self._used: set[str] = set()  # logs
        yield from self._jobs()
        yield from self._ready()
        yield from self._of_jobs()
        yield from self._threads()
        yield from self._writes()
        for log in sorted(self._used):
            yield from self._log(log)
        yield from self._items()
        yield from self._events()
        yield from _pairs("agents", "hash", self._of("name, declaration FROM agent"))
        for key, since in (("paused", "at || ' ' || reason"), ("resumed", "at")):
            which = f"AND {'' if key == 'paused' else 'NOT '}paused"
            yield from _pairs(key, "hash", self._of(f"agent, {since} FROM pause", which))

    def _ask(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        for row in self._db.execute(query, values):
            self.rows += 1
            yield row

    def _of(self, query: str, more: str = "", *values: Any) -> Iterator[tuple[Any, ...]]:
        return self._ask(f"SELECT {query} WHERE namespace = ? {more}", self._namespace, *values)

    def _jobs(self) -> Iterator[Piece]:
        index: Index = defaultdict(list)
        for values in self._of(f"{', '.join(_JOB)} FROM job", "ORDER BY waits"):
            row = JobRow(*values)
            for key, score in _indexes(row).items():
                index[key].append((row.id.encode(), _bytes(score)))
            if row.waits:
                line = f"lw:{row.lane}"
                ahead = 0 if row.waits < BEHIND else _AHEAD
                place = (1 - row.priority) * _BAND + ahead + len(index[line])
                index[line].append((row.id.encode(), b"%d" % place))
            if row.slot:
                index[f"la:{row.slot}"].append((row.id.encode(), b"0"))
            yield from _pairs(f"j:{row.id}", "hash", job_fields(row).items())
        for key, members in index.items():
            yield from _pairs(key, "zset", members)
        yield from _pairs("gates", "zset", self._of("lane, at FROM gate"))

    def _ready(self) -> Iterator[Piece]:
        """Deliveries in their queues. Their entries say since when they are there, as far as their order allows."""
        queues: defaultdict[str, list[Any]] = defaultdict(list)
        ahead: Index = defaultdict(list)
        last: dict[str, tuple[int, int]] = {}
        for id_, queue, ready, since in self._of("id, queue, ready, updated FROM job", "AND ready > 0 ORDER BY ready"):
            before, number = last.get(queue, (0, 0))
            at, number = last[queue] = (since, 0) if since > before else (before, number + 1)
            entry = b"%d-%d" % (at, number)
            queues[queue].append((entry, {b"job": _bytes(id_)}))
            yield Piece(0, f"j:{id_}", "hash", [(b"delivery", entry)])
            if ready < BEHIND:
                ahead[f"a:{queue}"].append((_bytes(id_), b"%d" % (at * 1000 + min(number, 999))))  # as place_of in Lua
        for queue, entries in queues.items():
            yield from _parted(f"q:{queue}", "stream", entries)
        for key, members in ahead.items():
            yield from _pairs(key, "zset", members)

    def _of_jobs(self) -> Iterator[Piece]:
        """First uses of keys, journals, and how children ended."""
        for idem, job, payload, until in self._of("idem, job, payload_digest, forget_at FROM first_use"):
            if not until or until > self._now:
                fields_ = [(b"job", _bytes(job)), (b"payload", _bytes(payload))]
                yield Piece(0, f"i:{idem}", "hash", fields_, max(until - self._now, 0))
        for job, key, value in self._ask(
            "SELECT j.job, j.key, j.value FROM journal AS j JOIN job ON job.id = j.job WHERE namespace = ?",
            self._namespace,
        ):
            yield Piece(0, f"n:{job}", "hash", [(_bytes(key), value)])
        for job, fan, number, *outcome in self._ask(
            "SELECT o.job, o.fan, o.number, o.child, o.state, o.reason, o.error, o.result, o.below FROM outcome AS o "
            "JOIN job ON job.id = o.job WHERE namespace = ?",
            self._namespace,
        ):
            packed = msgpack.packb([_bytes(each) for each in outcome], use_bin_type=False)
            yield Piece(0, f"f:{job}", "hash", [(_bytes(f"{fan} {number}"), packed)])

    def _threads(self) -> Iterator[Piece]:
        names: list[tuple[str, int]] = []
        for name, tip, count, job in self._of("name, tip, count, job FROM thread"):
            thread = digest(name)
            names.append((name, 0))
            about = {"name": name, "count": count, "job": job, **({"tip": tip} if tip else {})}
            yield from _pairs(f"t:{thread}", "hash", about.items())
            line = self._of("job FROM turn", "AND thread = ? ORDER BY number", name)
            yield from _parted(f"z:{thread}", "list", [_bytes(job) for (job,) in line])
            yield from self._checkpoints(name, thread)
        yield from _pairs("threads", "zset", names)

    def _checkpoints(self, name: str, thread: str) -> Iterator[Piece]:
        index: Index = defaultdict(list)
        rows = "id, step_index, expires, name, CAST(commit_line AS BLOB), header, state, native FROM checkpoint"
        for id_, step, expires, called, stored, header, state, native in self._of(rows, "AND thread = ?", name):
            key, commit = id_.encode(), unpacked(stored)
            line = commit.split(b" ", 6)
            if len(line) < 6:
                raise Corrupted(f"the commit line of checkpoint {id_} is damaged: delete its thread {name!r} first")
            index[f"o:{thread}"].append((key, b"%d" % step))
            index[f"t:{thread}"].append((key, commit))
            if called:
                index[f"m:{thread}"] += [(b"@" + key, _bytes(called)), (b"=" + _bytes(called), key)]
            elif expires:
                index["expiry"].append((key, b"%d" % expires))
            if len(line) > 6:
                scope, spot, run = line[6].split(b"\0")
                index[f"g:{thread}"].append((b"%s\0%s\0%s" % (scope, spot, key), b"0"))
                if run:
                    index[f"r:{run.decode()}"].append((key, b"0"))
            self._note(line[4])
            record = b"%s%08d%010d" % (thread.encode(), len(header), len(state)) + header + state + native
            yield Piece(0, f"c:{id_}", "string", [record])
        for key, pairs in index.items():
            yield from _pairs(key, "hash" if key[:2] in ("t:", "m:") else "zset", pairs)

    def _note(self, spans: bytes) -> None:
        self._used |= {span.log for span in read_spans(spans.decode("utf-8", "replace").removeprefix("-"))}

    def _writes(self) -> Iterator[Piece]:
        """What was written at places, also at those without a checkpoint."""
        places = "scope AS s JOIN place AS p ON p.scope = s.number WHERE s.namespace = ?"
        for thread, scope, key in self._ask(
            f"SELECT s.thread, s.name, p.key FROM {places} AND p.step_index IS NULL", self._namespace
        ):
            yield Piece(0, f"g:{digest(thread)}", "zset", [(_bytes(spot_of(scope, key)), b"0")])
        query = f"SELECT s.thread, s.name, p.key, w.name, w.spans, w.data FROM {places}"
        query = query.replace("WHERE", "JOIN write AS w ON w.place = p.id WHERE")
        for thread, scope, key, name, spans, data in self._ask(query, self._namespace):
            self._note(_bytes(spans))
            where = f"k:{digest(thread)}:{sha1(_bytes(spot_of(scope, key))).hexdigest()}"
            yield Piece(0, where, "hash", [(_bytes(name), _bytes(spans or "-") + b" " + data)])

    def _log(self, log: str) -> Iterator[Piece]:
        """A log in segments. What was freed inside a segment is filled with zeros. Empty segments are left out."""
        number = next((number for (number,) in self._ask("SELECT number FROM log WHERE name = ?", log)), 0)
        end, segments = 0, dict[int, bytearray]()
        pieces = "SELECT place - ?, data FROM piece WHERE place >= ? AND place < ? ORDER BY place"
        start = number * _ROOM
        for first, data in self._ask(pieces, start, start, start + _ROOM):
            end, at = first + len(data), first
            while at < end:
                segment = segments.setdefault(at // SEGMENT, bytearray())
                segment.extend(bytes(at % SEGMENT - len(segment)))
                part = data[at - first : at - first + SEGMENT - at % SEGMENT]
                segment.extend(part)
                at += len(part)
        uses = self._ask("SELECT first || ':' || last, uses FROM span WHERE log = ?", number)
        yield from _pairs(f"u:{log}", "hash", [("end", end), *uses])
        for at, segment in segments.items():
            yield Piece(0, f"l:{log}:{at}", "string", [bytes(segment)])

    def _items(self) -> Iterator[Piece]:
        index: Index = defaultdict(list)
        names = ("created", "updated", "ttl", "until", "value", "index")
        for path, *values in self._of("path, created, updated, ttl, expires, value, search FROM item"):
            item = name_from(path.decode()).digest
            index["items"].append((path + item.encode(), b"0"))
            if until := values[3]:
                index["lapses"].append((path + item.encode(), b"%d" % until))
            yield from _pairs(f"e:{item}", "hash", zip(names, values, strict=True))
        for key, members in index.items():
            yield from _pairs(key, "zset", members)

    def _events(self) -> Iterator[Piece]:
        """Events, and how far their groups are."""
        groups = [
            (name, front, json.loads(batches), about)
            for name, front, batches, about in self._of("name, front, batches, about FROM consumer_group")
        ]
        wanted = {number for _, front, batches, _ in groups for number in [front, *_ends(batches)]}
        positions, entries, before_all = dict[int, _Passed](), list[Any](), b""
        for count, (number, position, told) in enumerate(self._told(), 1):
            before_all = before_all or position.partition(b"-")[0] + b"-0"
            if number in wanted:
                positions[number] = _Passed(position, count)
            entries.append((position, told))
            if len(entries) == PIECE:
                yield Piece(0, "events", "stream", entries)
                entries = []
        yield from _parted("events", "stream", entries)
        trimmed = next((up_to for (up_to,) in self._of("trimmed FROM event_trim")), 0)
        gone = (before_all or b"%d-0" % self._now) if trimmed else b"0-0"
        if trimmed:
            yield Piece(0, "trimmed", "string", [b"%s 0" % gone])
        at = defaultdict(lambda: _Passed(gone, 0), positions)
        for group in groups:
            yield from _group(*group, at)

    def _told(self) -> Iterator[tuple[int, bytes, dict[bytes, bytes]]]:
        """Each event with its number and its new position, which is made of its time and a count within that."""
        ms = count = 0
        for number, text in self._of("number, fields FROM event", "ORDER BY number"):
            told = json.loads(text)
            at = int(told.pop("time"))
            ms, count = (at, 1) if at > ms else (ms, count + 1)
            told = {"type": told.pop("type"), "subject": told.pop("subject"), **told}
            yield number, b"%d-%d" % (ms, count), {_bytes(name): _bytes(value) for name, value in told.items()}


def _group(
    name: str, front: int, batches: Mapping[str, Sequence[int]], about: bytes, at: Mapping[int, _Passed]
) -> Iterator[Piece]:
    """A group of consumers: what it has taken, and what of that is not done yet."""
    place: dict[str, Any] = {"front": at[front].position, "passed": at[front].passed, "about": about}
    for batch, (first, last, until) in batches.items():
        place[f"#{batch}"] = b"%s %s %d" % (at[first].position, at[last].position, until)
    yield from _pairs("groups", "hash", [(digest("group", name), name)])
    yield from _pairs(f"h:{digest('group', name)}", "hash", place.items())


def _ends(batches: Mapping[str, Sequence[int]]) -> Iterator[int]:
    for first, last, _ in batches.values():
        yield from (first, last)


def _indexes(row: JobRow) -> dict[str, int]:
    """The index in which a job is found, and its number there."""
    unended = row.state in _UNENDED
    found = {"jobs": row.created}
    if row.thread != row.id:
        found[f"y:{digest(row.thread)}"] = row.created
    if unended and row.due and row.reason != "thread_busy":
        found["timers"] = row.due
    if unended and row.limit:
        found["limits"] = row.limit
    if row.state == "failed":
        found["dead"] = row.updated
    if row.state == "input_required":
        found["asking"] = row.asked
    return found


def _bytes(value: str | int | bytes) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _pairs(key: str, form: Form, pairs: Iterable[tuple[Any, Any]]) -> Iterator[Piece]:
    """Fields of a hash, or members of a sorted set, in pieces small enough to send."""
    for portion in portions({_bytes(name): _bytes(value) for name, value in pairs}):
        yield Piece(0, key, form, portion)


def _parted(key: str, form: Form, elements: list[Any]) -> Iterator[Piece]:
    for first in range(0, len(elements), PIECE):
        yield Piece(0, key, form, elements[first : first + PIECE], first=first)

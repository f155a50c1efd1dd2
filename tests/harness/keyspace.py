"""Keyspace: all that a namespace keeps on a Redis server, read at once, and what must be true of it at any moment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha1
from typing import Any

import redis

import batonpass as bp
from batonpass.contracts.event import IMPORTED
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import NEVER
from batonpass.coordinator.snapshots import open_checkpoint
from batonpass.coordinator.store import Store

ENDED = ("completed", "failed", "canceled", "rejected")
# Keys that are there once in a namespace, for ever.
SINGLE = {
    *("schema", "epoch", "partitions", "rewound", "trimmed", "dealt", "groups", "agents", "clock", "log"),
    *(
        "jobs",
        "dead",
        "threads",
        "events",
        "leases",
        "timers",
        "limits",
        "gates",
        "asking",
        "expiry",
        "items",
        "lapses",
    ),
    *("opening", "closing", "paused", "resumed"),
}
# What each end of a job, and nothing else, leaves in the events.
_LAST_EVENT = {state: f"batonpass.job.{state}" for state in ENDED}


class Keyspace:
    """The keys of one prefix, without it, and their values."""

    def __init__(self, server: redis.Redis, prefix: str) -> None:
        escaped = re.sub(r"([\[\]*?\\])", r"\\\1", prefix)
        self._server: Any = server
        self.keys: dict[str, Any] = {}
        self.expiring: set[str] = set()
        found: list[bytes] = list(self._server.scan_iter(match=f"{escaped}*", count=1000))
        for start in range(0, len(found), 1000):
            self._read(found[start : start + 1000], len(prefix))
        self._kinds: dict[str, dict[str, Any]] = {}
        for name, value in self.keys.items():
            kind, mark, id_ = name.partition(":")
            if mark:
                self._kinds.setdefault(kind, {})[id_] = value

    def _read(self, keys: list[bytes], cut: int) -> None:
        with self._server.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.type(key)
            kinds = dict(zip(keys, pipe.execute(), strict=True))
            for key, kind in kinds.items():
                _READ[kind](pipe, key)
                pipe.pttl(key)
            read = pipe.execute()
        for key, value, left in zip(keys, read[::2], read[1::2], strict=True):
            name = key.decode()[cut:]
            if value is not None:
                self.keys[name] = dict(value) if kinds[key] == b"zset" else value
                if left >= 0:
                    self.expiring.add(name)

    def of(self, kind: str) -> dict[str, Any]:
        """The keys `kind:<id>`, by id."""
        return self._kinds.get(kind, {})

    def single(self, name: str) -> Mapping[bytes, float]:
        """One of the sorted sets that there is one of."""
        found: Mapping[bytes, float] = self.keys.get(name, {})
        return found

    def problems(self, *, events: bool = True) -> list[str]:
        """What is not as it must be; without `events`, where some were trimmed."""
        return [
            *self._jobs(),
            *self._queues(),
            *self._lanes(),
            *self._threads(),
            *self._uses(),
            *self._items(),
            *self._owners(),
            *(self._events() if events else ()),
        ]

    # Rule 4: a job is deliverable, leased, scheduled, waiting, or ended.

    def _jobs(self) -> Iterator[str]:
        jobs = self.of("j")
        if {id_.decode() for id_ in self.single("jobs")} != jobs.keys():
            yield "the index of jobs is not that of the jobs"
        for id_, job in jobs.items():
            at = f"job {id_} ({job[b'state'].decode()})"
            places = {
                "ready": (job[b"delivery"], id_.encode()) in self._deliveries(job),
                "leased": self.single("leases").get(id_.encode()) is not None,
                "in line": id_.encode() in self.keys.get(f"z:{job[b'thread_digest'].decode()}", []),
                "timed": self.single("timers").get(id_.encode()) is not None and job[b"state"] != b"input_required",
                "asking": self.single("asking").get(id_.encode()) is not None and bool(job.get(b"question")),
                "in lane": job.get(b"waits") == b"1",
                "ended": job[b"state"].decode() in ENDED,
                "waiting": job[b"state"] == b"working" and job[b"reason"] == b"waiting_children",
            }
            held = [name for name, is_there in places.items() if is_there]
            if len(held) != 1:
                yield f"{at} is in {held or 'no place'}"
            if places["asking"] != (job[b"state"] == b"input_required"):
                yield f"{at} and the inbox do not fit"
            if places["leased"] + places["waiting"] != (job[b"state"] == b"working"):
                yield f"{at} and what it does do not fit"
            if places["leased"] != bool(job[b"lease"]):
                yield f"{at} and its lease do not fit"
            if places["waiting"]:
                yield from self._family(id_, job)
            thread = self.keys.get(f"t:{job[b'thread_digest'].decode()}", {})
            if (thread.get(b"job") == id_.encode()) == (places["ended"] or places["in line"]):
                yield f"{at} and its thread, which belongs to {thread.get(b'job')!r}, do not fit"
            if job[b"tip"] and f"c:{job[b'tip'].decode()}" not in self.keys and not places["ended"]:
                yield f"{at} would resume from {job[b'tip'].decode()}, which is not there"

    def _family(self, id_: str, job: Mapping[bytes, bytes]) -> Iterator[str]:
        """A job that waits does not have everything that it waits for, and each child is still to be made, under way or
        counted."""
        fan = job[b"fan"].decode()
        left = self.of("v").get(fan, {})
        counted = [name for name in self.of("f").get(id_, {}) if name.decode().startswith(f"{fan} ")]
        numbers = [int(job[name]) for name in (b"done", b"lost", b"need", b"spare", b"children")]
        done, lost, need, spare, children = numbers
        if done >= need or lost > spare or done + lost >= children or len(counted) != done + lost:
            yield f"job {id_} waits for children with {numbers} and {len(counted)} outcomes"
        if len(left) + len(self.of("b").get(id_, [])) + done + lost != children:
            yield f"job {id_} lost children: {len(left)} left, {numbers}"

    def _deliveries(self, job: Mapping[bytes, bytes]) -> set[tuple[bytes, bytes]]:
        stream: list[Any] = self.keys.get(f"q:{job[b'queue'].decode()}", [])
        return {(entry, fields[b"job"]) for entry, fields in stream}

    def _queues(self) -> Iterator[str]:
        for name in ("leases", "timers", "asking"):
            for id_ in self.single(name):
                if f"j:{id_.decode()}" not in self.keys:
                    yield f"{name} has {id_.decode()}, which is no job"
        if self.single("limits") != self._limits():
            yield "the index of limits is not that of the unended jobs"
        for queue, stream in self.of("q").items():
            for _, fields in stream:
                if f"j:{fields[b'job'].decode()}" not in self.keys:
                    yield f"queue {queue} has {fields[b'job'].decode()}, which is no job"
        for queue, ahead in self.of("a").items():
            ready = {fields[b"job"] for _, fields in self.of("q").get(queue, [])}
            if lost := ahead.keys() - ready:
                yield f"{lost} go ahead in queue {queue}, and are not ready there"

    def _lanes(self) -> Iterator[str]:
        """A job that has a place in a lane, or waits in its line, says so itself, and something moves each line."""
        jobs = self.of("j")
        places = {(id_, job[b"slot"].decode()) for id_, job in jobs.items() if job.get(b"slot")}
        if places != {(id_.decode(), lane) for lane, held in self.of("la").items() for id_ in held}:
            yield "the places in lanes are not those of the jobs"
        lines = {(id_, job[b"lane"].decode()) for id_, job in jobs.items() if job.get(b"waits") == b"1"}
        if lines != {(id_.decode(), lane) for lane, line in self.of("lw").items() for id_ in line}:
            yield "the lines of lanes are not those of the jobs"
        if left := self.single("gates").keys() - {lane.encode() for lane in self.of("lw")}:
            yield f"gates of lines in which nobody waits: {left}"
        for lane in self.of("lw"):
            if f"la:{lane}" not in self.keys and self.single("gates").get(lane.encode(), NEVER) >= NEVER:
                yield f"nobody moves the line of lane {lane}"

    def _limits(self) -> dict[bytes, float]:
        found: dict[bytes, float] = {}
        for id_, job in self.of("j").items():
            times = [float(job.get(name) or 0) for name in (b"expires", b"deadline")]
            if any(times) and job[b"state"].decode() not in ENDED:
                found[id_.encode()] = min(at for at in times if at)
        return found

    def _threads(self) -> Iterator[str]:
        listed = {id_.decode() for line in self.of("o").values() for id_ in line}
        if listed != self.of("c").keys():
            yield f"checkpoints on no thread, or lost ones: {sorted(listed ^ self.of('c').keys())}"
        for thread, fields in self.of("t").items():
            line = self.of("o").get(thread, {})
            tip, job = fields.get(b"tip", b""), fields.get(b"job", b"")
            if tip and not job and tip not in line:
                yield f"thread {thread} has a tip {tip.decode()} that is not on it"
            yield from self._places(thread, fields, line)
        named = {fields[b"name"] for fields in self.of("t").values()}
        for name in self.single("threads"):
            if name not in named:
                yield f"the index of threads has {name!r}, which is none"
        for id_ in self.single("expiry"):
            if f"c:{id_.decode()}" not in self.keys:
                yield f"{id_.decode()} is to expire and is not there"

    def _places(self, thread: str, fields: Mapping[bytes, bytes], line: Mapping[bytes, float]) -> Iterator[str]:
        """A checkpoint is at its place, in its run, and nowhere else."""
        commits = {id_: fields[id_].split(b" ", 6)[6] for id_ in line if fields[id_].count(b" ") > 5}
        spots = {id_: b"".join(text.rpartition(b"\0")[:2]) + id_ for id_, text in commits.items()}
        members = set(self.keys.get(f"g:{thread}", {}))
        if set(spots.values()) != {member for member in members if not member.endswith(b"\0")}:
            yield f"thread {thread} has other places than its checkpoints"
        if len({member.rpartition(b"\0")[0] for member in members}) != len(members):
            yield f"thread {thread} has two members of one place"
        for id_, text in commits.items():
            run = text.rpartition(b"\0")[2].decode()
            if run and id_ not in self.keys.get(f"r:{run}", {}):
                yield f"checkpoint {id_.decode()} is not in its run"

    def _uses(self) -> Iterator[str]:
        """Logs count the spans in use: those of commit lines and of what was written at places."""
        spans = [
            commit.split(b" ")[4]
            for thread, fields in self.of("t").items()
            for id_, commit in fields.items()
            if id_ in self.keys.get(f"o:{thread}", {})
        ]
        spans += [value.partition(b" ")[0] for writes in self.of("k").values() for value in writes.values()]
        used = Counter(span.decode() for text in spans if text != b"-" for span in text.split(b","))
        for log, fields in self.of("u").items():
            for field, count in fields.items():
                if field != b"end" and used[f"{log}:{field.decode()}"] != int(count):
                    yield f"log {log} counts {int(count)} users of {field.decode()}"
        missing = [span for span in used if not self.of("u").get(span.partition(":")[0])]
        if missing:
            yield f"spans of logs that are not there: {missing}"

    def _items(self) -> Iterator[str]:
        """An item is in the order of all items, and in the order of times if it has a ttl."""
        items = {member[-32:].decode(): member for member in self.single("items")}
        if items.keys() != self.of("e").keys() or len(items) != len(self.single("items")):
            yield "the index of items is not that of the items"
        timed = {items.get(id_): float(item[b"until"]) for id_, item in self.of("e").items() if item[b"until"] != b"0"}
        if timed != self.single("lapses"):
            yield "the times of items are not those of the items"

    # Every key has an owner, and goes with it or by its time.

    def _owners(self) -> Iterator[str]:
        owned: dict[str, Callable[[str], bool]] = {
            "j": lambda id_: True,  # an ended job stays until its thread is deleted
            "t": lambda id_: True,
            "c": lambda id_: True,  # on a thread, see above
            "b": lambda id_: self._unended(id_),
            "f": lambda id_: (
                self._unended(id_) or id_ in {job.decode() for job in self.single("dead")} or self._told_on(id_)
            ),
            "v": lambda id_: id_.encode() in self.single("closing") or id_ in self._open_fans(),
            "n": lambda id_: (
                self._unended(id_) or id_ in {job.decode() for job in self.single("dead")} or self._may_be_back(id_)
            ),
            "o": lambda id_: f"t:{id_}" in self.keys,
            "z": lambda id_: self._unended(self.keys[f"t:{id_}"][b"job"].decode()),
            "m": lambda id_: f"t:{id_}" in self.keys,
            "g": lambda id_: f"t:{id_}" in self.keys,
            "k": lambda id_: id_ in self._spots(),
            "e": lambda id_: True,  # until it is deleted, or its time is over
            "r": lambda id_: all(f"c:{one.decode()}" in self.keys for one in self.keys[f"r:{id_}"]),
            "y": lambda id_: all(f"j:{job.decode()}" in self.keys for job in self.keys[f"y:{id_}"]),
            "l": lambda id_: "u:" + id_.split(":")[0] in self.keys,
            "u": lambda id_: all(int(count) > 0 for count in self.keys[f"u:{id_}"].values()),
            "a": lambda id_: f"q:{id_}" in self.keys,
            "la": lambda id_: True,  # those of its jobs, see above
            "lw": lambda id_: True,
            "q": lambda id_: True,  # one for each agent and contract, empty most of the time
            "s": lambda id_: f"j:{id_}" in self.keys,
            "w": lambda id_: f"q:{id_}" in self.keys,
            "h": lambda id_: id_.encode() in self.keys["groups"],
            "i": lambda id_: self._unended(self.keys[f"i:{id_}"][b"job"].decode()),
        }
        for name in self.keys:
            kind, _, id_ = name.partition(":")
            if not (name in SINGLE or name in self.expiring or (kind in owned and owned[kind](id_))):
                yield f"nobody owns the key {name}"

    def _open_fans(self) -> set[str]:
        return {job[b"fan"].decode() for job in self.of("j").values() if job.get(b"fan") and not job[b"verdict"]}

    def _spots(self) -> set[str]:
        """What keys of what was written at places end with."""
        spots = ((thread, member.rpartition(b"\0")) for thread, places in self.of("g").items() for member in places)
        return {f"{thread}:{sha1(b''.join(spot[:2]), usedforsecurity=False).hexdigest()}" for thread, spot in spots}

    def _told_on(self, id_: str) -> bool:
        """Whether it was a child that ended without a result. Then its parent reads how its own children ended."""
        job = self.of("j").get(id_, {})
        return bool(job.get(b"brood") and job.get(b"fan")) and job[b"state"] in (b"canceled", b"rejected")

    def _may_be_back(self, id_: str) -> bool:
        """Whether it was a child that was canceled. It goes on if its parent is redriven."""
        job = self.of("j").get(id_, {})
        return bool(job.get(b"brood")) and job[b"state"] == b"canceled"

    def _unended(self, job: str) -> bool:
        return f"j:{job}" in self.keys and self.keys[f"j:{job}"][b"state"].decode() not in ENDED

    # An operation is whole: what it did to the job and its event are both there, or neither is.

    def _events(self) -> Iterator[str]:
        told: Counter[tuple[str, str]] = Counter()
        for _, fields in self.keys.get("events", []):
            told[fields[b"subject"].decode(), fields[b"type"].decode()] += 1
        for id_, job in self.of("j").items():
            if told[id_, IMPORTED]:
                continue  # it ran in another store
            state, again = job[b"state"].decode(), told[id_, "batonpass.job.redriven"]
            for kinds in (["failed", "canceled"], ["completed"], ["rejected"]):
                times = sum(told[id_, _LAST_EVENT[kind]] for kind in kinds)
                if times != (state in kinds) + (again if "failed" in kinds else 0):
                    yield f"job {id_} is {state}, but {kinds} was told {times} times, and that it was redriven {again}"
            if told[id_, "batonpass.job.submitted"] < 1:
                yield f"job {id_} was never submitted"
            hops = told[id_, "batonpass.job.handed_off"]
            if int(job[b"hop"]) != hops:
                yield f"job {id_} is in hop {int(job[b'hop'])}, but was handed off {hops} times"
        for subject in {subject for subject, kind in told if kind.startswith("batonpass.job.")} - self.of("j").keys():
            if not any(told[subject, kind] for kind in _LAST_EVENT.values()):
                yield f"job {subject} was told of, did not end, and is gone"


def restorable(store: Store, keyspace: Keyspace) -> Iterator[str]:
    """Which checkpoints of a keyspace can't be restored, whole and verified."""
    for id_ in keyspace.of("c"):
        try:
            open_checkpoint(store.call(c.Restore(id_)))
        except bp.BatonpassError as error:
            gone = isinstance(error, bp.NotFound) and id_.encode() in keyspace.single("expiry")
            if not gone:  # it may have expired without having been reaped yet
                yield f"checkpoint {id_}: {error}"


_READ: dict[bytes, Any] = {
    b"hash": lambda server, key: server.hgetall(key),
    b"list": lambda server, key: server.lrange(key, 0, -1),
    b"stream": lambda server, key: server.xrange(key),
    b"string": lambda server, key: server.get(key),
    b"zset": lambda server, key: server.zrange(key, 0, -1, withscores=True),
    b"none": lambda server, key: server.get(key),
}

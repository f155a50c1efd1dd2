"""Checkup: what a Redis server and a namespace on it report about themselves, by commands that readers may use."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from ...contracts.errors import BadSetup, Corrupted
from .. import checkup
from ..checkup import Examined, Finding, Load, Queued, Shares, shares_of, size
from .dialogue import Calls
from .failures import raise_first
from .lost import losing
from .server import check_namespace, check_replicas, check_schema, check_version, dangers, product_of, refusing
from .wire_values import read_text

# By how many seconds a server's clock may be off, including the time that the question takes.
_CLOCK = 2.0
# The share of its memory above which a server counts as nearly full.
_NEARLY_FULL = 0.9
# For how many seconds it is reported that the store went back in time.
_LATELY = 7 * 86_400
_POWER_LOSS = {
    "always": "appendfsync always: a power loss loses nothing",
    "everysec": "appendfsync everysec: a power loss loses up to 2 s",
    "no": "appendfsync no: a power loss loses what the system had not written yet",
}
_ALL = ("-inf", "+inf")


def examining(prefix: str, url: str, *, whole: bool, replicas: int) -> Calls[Examined]:
    """Look at the server, and at a namespace or one of its partitions."""
    names = ("schema", "moved", "partitions", "rewound")
    asked = [("INFO",), ("MGET", *(f"{prefix}{name}" for name in names))]
    info, kept, *told = yield [*asked, *([("CONFIG GET", "appendfsync")] if whole else [])]
    raise_first((info, kept))
    schema, moved, partitions, rewound = kept
    found = [
        *_server(info, url, replicas),
        *_safety(info, url, told[0] if told else None),
        _clock(info, time.time()),
        *_namespace(schema, moved, partitions if whole else None, url),
        *_rewound(rewound),
    ]
    opens = schema is not None and all(each.level != "fail" for each in found)
    lost = (yield from losing(prefix)) if opens else ()
    return Examined((*found, *_full(info, url), *lost), opens)  # a full server can still be read


def counting(prefix: str, queues: Sequence[str]) -> Calls[Load]:
    """Count what lies in a namespace or partition."""
    [info] = yield [("INFO", "server")]
    raise_first((info,))
    now = int(info.get("server_time_usec", time.time() * 1e6)) // 1000
    numbers = [("ZCOUNT", f"{prefix}{name}", *_ALL) for name in ("jobs", "leases", "timers", "asking", "dead")]
    waiting = [("XLEN", f"{prefix}q:{queue}") for queue in queues]
    heads = [("XRANGE", f"{prefix}q:{queue}", "-", "+", "COUNT", 1) for queue in queues]
    alive = [("ZRANGEBYSCORE", f"{prefix}p:{queue}", f"({now}", "+inf") for queue in queues]
    replies = yield [*numbers, *waiting, *heads, *alive]
    raise_first(replies)
    jobs, running, timed, asking, dead = replies[:5]
    rest, first, workers = (replies[5 + part * len(queues) :][: len(queues)] for part in range(3))
    there = {
        queue: Queued(waits, _age(head, now), frozenset(name.decode() for name in names))
        for queue, waits, head, names in zip(queues, rest, first, workers, strict=True)
    }
    return Load(jobs, running, timed, asking, dead, there, now)


_KEYS = {"running": "leases", "timed": "timers", "asking": "asking", "dead": "dead"}


def sharing(prefix: str) -> Calls[Shares]:
    """The jobs of each kind, in a namespace or partition, by their agents."""
    keys = [f"{prefix}{key}" for key in _KEYS.values()]
    replies = yield [
        *(("ZREVRANGE", key, 0, checkup.SHARED_OUT - 1) for key in keys),
        *(("ZCOUNT", key, *_ALL) for key in keys),
        ("ZRANGE", f"{prefix}gates", 0, checkup.SHARED_OUT - 1),  # every line has a gate
    ]
    raise_first(replies)
    jobs, totals, lanes = replies[: len(keys)], dict(zip(_KEYS, replies[len(keys) : -1], strict=True)), replies[-1]
    asked = [("HGET", f"{prefix}j:{job.decode()}", "agent") for page in jobs for job in page]
    told: Sequence[Any] = (yield asked) if asked else []
    raise_first(told)
    agents = iter(_agent(each) for each in told)
    found = shares_of({kind: list(islice(agents, len(page))) for kind, page in zip(_KEYS, jobs, strict=True)}, totals)
    return {**found, "limited": (yield from _limited(prefix, lanes))}


def _limited(prefix: str, lanes: Sequence[bytes]) -> Calls[Mapping[str, int]]:
    """The jobs in the lines of these lanes, by their agents. A lane is of one agent."""
    keys = [f"{prefix}lw:{lane.decode()}" for lane in lanes]
    if not keys:
        return {}
    replies = yield [*(("ZCOUNT", key, *_ALL) for key in keys), *(("ZRANGE", key, 0, 0) for key in keys)]
    raise_first(replies)
    lines = [
        (first[0], number) for number, first in zip(replies[: len(keys)], replies[len(keys) :], strict=True) if first
    ]
    told: Sequence[Any] = (yield [("HGET", f"{prefix}j:{job.decode()}", "agent") for job, _ in lines]) if lines else []
    raise_first(told)
    found = Counter[str]()
    for (_, number), agent in zip(lines, map(_agent, told), strict=True):
        found[agent or ""] += number
    return found


def _agent(value: Any) -> str | None:
    return None if value is None else read_text(value)


def _age(head: Sequence[tuple[bytes, Any]], now: int) -> int:
    """How long the first entry of a stream has been there, in ms."""
    return max(now - int(head[0][0].partition(b"-")[0]), 0) if head else 0


def _server(info: Mapping[str, Any], url: str, replicas: int) -> Iterator[Finding]:
    try:
        check_version(info, url)
        check_replicas(info, url, replicas)
    except BadSetup as error:
        yield Finding("fail", "server", str(error))
        return
    name, version = product_of(info)
    most = int(info.get("maxmemory", 0))
    memory = f"{size(int(info.get('used_memory', 0)))} in memory, {f'at most {size(most)}' if most else 'no limit set'}"
    attached = int(info.get("connected_slaves", 0))
    confirmed = f"{replicas} confirm each write" if replicas else "none is waited for"
    told = f", {attached} replica(s), of which {confirmed}" if attached else ""
    yield Finding("ok", "server", f"{name} {version}, {memory}{told}")
    if 0 < replicas < attached:
        yield Finding(
            "warn",
            "replicas",
            f"each write is confirmed by {replicas} of {attached} replicas, and a failover may promote another one, "
            f"which lacks it: give the number of all of them, ?replicas={attached}",
        )


def _full(info: Mapping[str, Any], url: str) -> Iterator[Finding]:
    """What keeps the server from writing. One that evicts is among what may lose data."""
    if why := refusing(info):
        yield Finding("fail", "disk", f"{url} {why}")
    used, most = int(info.get("used_memory", 0)), int(info.get("maxmemory", 0))
    if most and used >= _NEARLY_FULL * most and info.get("maxmemory_policy", "noeviction") == "noeviction":
        what = "raise maxmemory, or free some with `batonpass prune --older-than 30d --jobs`"
        if used >= most:
            yield Finding("fail", "memory", f"full ({size(used)}): every write that needs memory is refused. {what}")
        else:
            yield Finding("warn", "memory", f"{size(used)} of {size(most)}: writes are refused when it is full. {what}")


def _safety(info: Mapping[str, Any], url: str, policy: Any) -> Iterator[Finding]:
    found = list(dangers(info))
    yield from (Finding("warn", "safety", f"{url} {danger}") for danger in found if danger != refusing(info))
    if found:
        return
    kept = "" if policy is None or isinstance(policy, Exception) else str(policy.get("appendfsync", ""))
    text = _POWER_LOSS.get(kept, "its appendfsync can't be seen from here")
    yield Finding("ok", "safety", f"append-only file, {text}")


def _clock(info: Mapping[str, Any], here: float) -> Finding:
    there = int(info.get("server_time_usec", 0)) / 1e6
    if not there:
        return Finding("ok", "clock", "the server doesn't report its time")
    ahead = there - here
    if abs(ahead) <= _CLOCK:
        return Finding("ok", "clock", "the server's and this machine's agree")
    way = "ahead of" if ahead > 0 else "behind"
    text = f"the server's is {abs(ahead):.0f} s {way} this machine's: times of jobs and schedules are the server's"
    return Finding("warn", "clock", f"{text}, synchronize them with NTP")


def _namespace(schema: bytes | None, moved: bytes | None, partitions: bytes | None, url: str) -> Iterator[Finding]:
    try:
        check_schema(schema, url)
        check_namespace(moved, partitions, url)
    except (BadSetup, Corrupted) as error:
        yield Finding("fail", "namespace", str(error))
        return
    if schema is None:
        yield Finding("warn", "namespace", "it is empty: is it the right one? The first worker creates it")
    else:
        yield Finding("ok", "namespace", f"schema {int(schema)}")


def _rewound(position: bytes | None) -> Iterator[Finding]:
    """When the event about it was written: the time is in the event's position."""
    at = int(position.partition(b"-")[0]) / 1000 if position else 0.0
    if time.time() - at < _LATELY:
        when = datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        text = f"went back in time on {when} (a restart without its last writes, a failover, an old backup)"
        yield Finding("warn", "store", f"{text}: jobs continued from what was left, and later work may have run again")

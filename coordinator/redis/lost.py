"""Lost: checkpoints that are listed, but whose records are gone: evicted by the server, or deleted by somebody with
another client."""

from __future__ import annotations

from collections.abc import Iterator

from ...contracts.names import digest
from ..checkup import Finding
from .dialogue import Calls
from .failures import raise_first
from .wire_values import read_text

# In how many threads of a partition, and among how many of the newest of each, lost ones are looked for.
_THREADS, _NEWEST = 100, 20


def losing(prefix: str) -> Calls[Iterator[Finding]]:
    """Look for them, where it costs little."""
    [names] = yield [("ZRANGE", f"{prefix}threads", 0, _THREADS - 1)]
    raise_first((names,))
    threads = [read_text(name) for name in names]
    lines = yield [("ZREVRANGE", f"{prefix}o:{digest(name)}", 0, _NEWEST - 1) for name in threads] if threads else []
    raise_first(lines)
    listed = [(thread, read_text(id_)) for thread, line in zip(threads, lines, strict=True) for id_ in line]
    there = yield [("EXISTS", f"{prefix}c:{id_}") for _, id_ in listed] if listed else []
    raise_first(there)
    return _told([each for each, found in zip(listed, there, strict=True) if not found])


def _told(lost: list[tuple[str, str]]) -> Iterator[Finding]:
    if lost:
        thread, id_ = lost[0]
        yield Finding(
            "warn",
            "checkpoints",
            f"{len(lost)} are listed, but gone, such as {id_} of thread {thread!r}: the server has evicted them, or "
            "somebody has deleted their keys. All others stay usable, and whatever prunes or deletes a thread clears "
            "such ones away",
        )

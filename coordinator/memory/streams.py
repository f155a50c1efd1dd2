"""The streams of the model store."""

from __future__ import annotations

from collections.abc import Sequence

from ..rows import StreamRow


class MemoryStreams:
    """What jobs stream. `now` is set from outside before each operation."""

    def __init__(self) -> None:
        self.now = 0
        self._streams: dict[str, list[StreamRow]] = {}
        self._streams_until: dict[str, int] = {}
        self._streamed = 0

    def add_to_stream(self, job_id: str, data: Sequence[bytes], kept: int, until: int) -> None:
        stream = self._streams.setdefault(job_id, [])
        for each in data:
            self._streamed += 1
            stream.append(StreamRow(job_id, str(self._streamed), each))
        del stream[:-kept]
        self._streams_until[job_id] = until

    def stream(self, job_id: str, after: int, limit: int) -> list[StreamRow]:
        if self._streams_until.get(job_id, 0) <= self.now:
            return []
        return [row for row in self._streams[job_id] if int(row.position) > after][:limit]

    def drop_stream(self, job_id: str) -> None:
        self._streams.pop(job_id, None)
        self._streams_until.pop(job_id, None)

    def drop_old_streams(self, limit: int) -> None:
        for job_id in [job for job, until in self._streams_until.items() if until <= self.now][:limit]:
            self.drop_stream(job_id)

"""Bench: what a conformance test works with: a store, asked from sync or async code, its clock, and short words for
jobs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from batonpass.contracts.app import App
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.contract import ContractRef
from batonpass.contracts.handoff import Envelope
from batonpass.contracts.names import digest, mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import seal_blob, seal_envelope
from batonpass.coordinator.book import Book, target
from batonpass.coordinator.calls.jobs import new_partition
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.rows import CheckpointRow, CommitLine, Delivery, JobRow
from batonpass.coordinator.seals import read_commit
from batonpass.coordinator.snapshots import draft
from batonpass.coordinator.store import Store
from batonpass.coordinator.sync_client import SyncCoordinator
from tests.harness.stores import Harness

R = TypeVar("R")
NOTES = ContractRef("desk.notes", 1)
MINUTE = 60_000


def new_target(
    agent: str = "write", payload: bytes = b"j{}", contract: ContractRef = NOTES, *, priority: int = 0
) -> c.Target:
    """A delivery's address and envelope."""
    envelope = seal_envelope(Envelope(contract=contract, payload=payload, path=(agent,)))
    return target(agent, contract, envelope, priority=priority)


def new_job(agent: str = "write", *, thread: str = "", key: str = "", payload: str = "{}", **more: Any) -> c.Submit:
    """A submit command with a new id. The payload's digest is that of its text."""
    if on_busy := more.pop("on_busy", ""):
        more["terms"] = replace(more.get("terms", c.Terms()), on_busy=on_busy)
    idem = digest("key", agent, key) if key else ""
    job_id = mint("j", new_partition(thread, idem, more.get("origin", "")))
    return c.Submit(
        job_id=job_id,
        thread=thread or job_id,
        target=new_target(agent, b"j" + payload.encode(), priority=more.get("terms", c.Terms()).priority),
        key=key,
        idem=idem,
        payload_digest=digest(payload),
        **more,
    )


def new_checkpoint(state: Any = "state", *, step: str = "step", thread: str = "t", **more: Any) -> c.NewCheckpoint:
    """A packed checkpoint with a new id."""
    about = {name: more.pop(name) for name in ("ttl", "place") if name in more}
    return draft(Snapshot(step=step, state=state, **more), thread=thread, agent="write", **about).new


def fence_of(delivery: Delivery) -> c.Fence:
    """The proof of ownership that a claim gave."""
    return delivery.job.fence


def commit_of(row: CheckpointRow) -> CommitLine:
    """What the store added to a checkpoint."""
    return read_commit(row.commit, row.id)


class Bench:
    """A store in one namespace. `do` carries commands out and gives the answer, whichever side it is asked from."""

    def __init__(self, harness: Harness, *, side: str, namespace: str = "default") -> None:
        self.harness = harness
        self.clock = harness.clock
        self.side = side
        self._runner = asyncio.Runner()
        self._threads: dict[str, str] = {}
        self.store: Store = harness.store(namespace)
        self.each(self.store.open, self.store.aopen)

    def beside(self, namespace: str = "default") -> Bench:
        """Another handle on the same records, or on another namespace of theirs."""
        made = Bench(self.harness, side=self.side, namespace=namespace)
        made._threads = self._threads
        return made

    def close(self) -> None:
        """Close the handle."""
        self.each(self.store.close, self.store.aclose)
        self._runner.close()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, value: Any) -> Any:
        """The value itself. It is awaited if it has to be, and read to its end if it is an iterator."""
        if inspect.isawaitable(value):
            return self._until_done(_awaited(value))
        if isinstance(value, AsyncIterator):
            return self._until_done(_listed(value))
        return list(value) if isinstance(value, Iterator) else value

    def _until_done(self, coroutine: Coroutine[Any, Any, R]) -> R:
        # Not by the runner's own `run`: it makes a text of the task and of its whole result, twice, each time.
        return self._runner.get_loop().run_until_complete(coroutine)

    def each(self, sync: Callable[[], Any], awaited: Callable[[], Any]) -> Any:
        """The one of two calls that is of this side."""
        return self.run((awaited if self.side == "async" else sync)())

    def do(self, command: c.Command[R]) -> R:
        """Carry a command out. A checkpoint under a lease goes to its job's thread, whatever thread it was made for."""
        sent: Any = command
        if isinstance(sent, c.Submit):
            self._threads[sent.job_id] = sent.thread
        if isinstance(sent, c.Adopt):
            self._threads[sent.job_id] = sent.kept.job.thread
        if isinstance(sent, c.Saving) and sent.fence and sent.checkpoint:
            sent.checkpoint.thread = self._threads.get(sent.fence.job_id, sent.fence.job_id)
        if self.side == "async":
            return self._until_done(self.store.acall(command))
        return self.store.call(command)

    def face(self, app: App | None = None) -> Any:
        """The coordinator of this side; what its methods give goes through `run`."""
        return (Coordinator if self.side == "async" else SyncCoordinator)(self.store, Book(app))

    # short words

    def submit(self, agent: str = "write", **more: Any) -> str:
        """A new job's id."""
        return self.do(new_job(agent, **more)).id

    def claim(self, wanted: int = 1, *, agent: str = "write", lease: int = MINUTE, worker: str = "w") -> list[Delivery]:
        """Claim deliveries of an agent."""
        queue = new_target(agent).queue
        return self.do(c.Claim(worker, ((queue, lease),), tuple(mint("l") for _ in range(wanted))))

    def take(self, **more: Any) -> c.Fence:
        """Claim the one delivery that there must be."""
        [delivery] = self.claim(**more)
        return fence_of(delivery)

    def take_again(self, job_id: str, **more: Any) -> c.Fence:
        """Claim a job whose worker died, at once, even if it has to wait because many have."""
        self.do(c.RunNow(job_id))
        return self.take(**more)

    def start(self, agent: str = "write", *, lease: int = MINUTE, worker: str = "w", **more: Any) -> c.Fence:
        """A new job, submitted and claimed."""
        job_id = self.submit(agent, **more)
        fence = self.take(agent=agent, lease=lease, worker=worker)
        assert fence.job_id == job_id
        return fence

    def save(self, fence: c.Fence | None, state: Any = "state", *, thread: str = "t", **more: Any) -> str:
        """Commit a checkpoint; its id."""
        new = new_checkpoint(state, thread=thread, ttl=more.pop("ttl", 0), step=more.pop("step", "step"))
        self.do(c.Save(thread, new, fence, **more))
        return new.id

    def job(self, job_id: str) -> JobRow:
        """The job's record."""
        return self.do(c.ReadJob(job_id))

    def state(self, job_id: str) -> tuple[str, str]:
        """The job's state and reason."""
        row = self.job(job_id)
        return row.state, row.reason

    def tip(self, thread: str) -> str:
        """The id of the thread's newest checkpoint, "" if there is none."""
        newest = self.do(c.Latest(thread))
        return newest.id if newest else ""

    def line(self, thread: str) -> list[CheckpointRow]:
        """The thread's checkpoints, newest first."""
        return self.do(c.Timeline(thread, 500))

    def happened(self, subject: str = "") -> list[str]:
        """The types of a subject's events, without the common prefix."""
        rows = self.do(c.Events(subject=subject, limit=500))
        return [row.fields["type"].removeprefix("batonpass.") for row in rows if row.fields]

    def suspend(self, fence: c.Fence, question: str = "sure?") -> None:
        """End the delivery with a question."""
        self.do(c.Suspend(fence, seal_blob(question, path="question")))

    @contextmanager
    def nothing_changes(self) -> Iterator[None]:
        """Whatever the block tries, the store keeps exactly what it kept."""
        before = self.harness.dump()
        yield
        assert self.harness.dump() == before

    @contextmanager
    def refused(self, error: type[Exception], match: str | None = None) -> Iterator[None]:
        """The block raises `error`, and nothing changes."""
        with self.nothing_changes(), pytest.raises(error, match=match):
            yield


async def _awaited(value: Any) -> Any:
    return await value


async def _listed(values: AsyncIterator[Any]) -> list[Any]:
    return [value async for value in values]

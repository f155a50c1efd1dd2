"""Job handles: how a client refers to a job."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import aclosing, closing
from typing import Any, Generic, TypeVar, cast

from anyio import sleep

from ..contracts.contract import Contract, Payload
from ..contracts.duration import Duration
from ..contracts.job import ENDED, JobInfo
from ..contracts.part import Part
from .book import Book
from .calls import adrive, drive, inbox, jobs, waits
from .calls.awaiting import Awaiting
from .calls.inputs import cursor
from .store import Store, Topic

R = TypeVar("R", covariant=True)


class _Handle:
    def __init__(self, store: Store, book: Book, job_id: str, returns: type[Contract] | None) -> None:
        self._store = store
        self._book = book
        self.id = job_id
        self._returns = returns

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


class Job(_Handle, Generic[R]):
    """A job, for async code. `id` is its id, and its thread's name unless it was submitted on another thread."""

    async def info(self) -> JobInfo:
        """The job as it is now."""
        return await adrive(self._store, jobs.info(self.id))

    async def waits_for(self) -> str | None:
        """What the job waits for, in a sentence: a worker, a time, another job (of its thread, or with a place within a
        limit), its children, or a person. None if a worker runs it, or if it has ended."""
        return await adrive(self._store, waits.waits_for(self._book, self.id))

    async def payload(self) -> Contract | Payload:
        """What the job's agent was given; after handoffs, what its last agent was.

        It is the agent's contract, or a read-only mapping where this process doesn't have the class, or the payload
        does not fit it. Raises `Corrupted` if it is damaged, and `BadSetup` if it needs a key that this client lacks.
        """
        return await adrive(self._store, jobs.payload(self._book, self.id))

    async def result(self, *, timeout: Duration | None = None) -> R:
        """Wait for the result, at most `timeout` seconds (None: no limit).

        Raises `JobFailed`, `JobCanceled` or `JobRejected` as soon as the job ends that way, and `ResultTimeout` if it
        has not ended in time. The job then continues. During an outage of the store this keeps waiting, and raises
        `Unavailable` if the store is still away at the timeout.
        """
        awaiting = Awaiting(self.id, timeout)
        watch = self._store.watch(Topic(subject=self.id))
        try:
            while True:
                row = await adrive(self._store, awaiting.ask(jobs.look(self.id)))
                if row is None:
                    await sleep(awaiting.rest)
                    continue
                if row.state in ENDED:
                    return cast("R", jobs.outcome(self._book, row, self._returns))
                if (left := awaiting.left) <= 0:
                    raise await adrive(self._store, jobs.late(row))
                await watch.await_(left)
        finally:
            await watch.aclose()

    async def stream(self) -> AsyncIterator[Any]:
        """Read what the agents stream with `ctx.emit`, until the job ends.

        Starts with the oldest part still stored (the last 1,000, for an hour), and continues after an outage of the
        store. If an attempt is retried, it streams again.
        """
        async with aclosing(self.parts()) as parts:
            async for part in parts:
                yield part.data

    async def parts(self, *, after: str = "") -> AsyncGenerator[Part]:
        """The same as `stream`, each part with its cursor, from the oldest part still stored or after a cursor."""
        awaiting, after = Awaiting(self.id), cursor(after, "a part")
        watch = self._store.watch(Topic(subject=self.id))
        try:
            ended = False
            while not ended:
                page = await adrive(self._store, awaiting.ask(jobs.streamed(self.id, after)))
                if page is None:
                    await sleep(awaiting.rest)
                    continue
                found, ended = page
                for each in found:
                    yield each
                    after = each.cursor
                if not (found or ended):
                    await watch.await_(awaiting.left)
        finally:
            await watch.aclose()

    async def answer(self, value: Any, *, question: str | None = None, by: str = "") -> None:
        """Answer the job's question (`info().question`). Any worker then continues the job.

        `value` is plain values, or the contract that the question asks for. `ContractViolation` names the fields that
        don't fit. The first answer counts: the same answer again has no effect, another one raises `WrongState`.
        `question` is the id of the question you mean (`coordinator.inbox()`). If the job asks another one by now, you
        get `WrongState`. `by` says who answers: it is kept, readable by all, in the event `batonpass.job.answered`.
        """
        await adrive(self._store, inbox.answer(self._book, self.id, value, question, by))

    async def cancel(self) -> bool:
        """End the job now, even if a worker is running it. Returns False if it had already ended."""
        return await adrive(self._store, jobs.cancel(self.id))

    async def run_now(self) -> bool:
        """Don't let the job wait any longer for its next attempt (`reason` "retry_at"), or for the time that it was
        submitted for ("scheduled"). Returns False if it is ready, or at work, already.

        `WrongState` if it waits for something else, has ended, or sleeps: a `ctx.sleep` lasts as long as it was told.
        """
        return await adrive(self._store, jobs.run_now(self.id))


class SyncJob(_Handle, Generic[R]):
    """A job, for sync code: the same as `Job`, without await."""

    def info(self) -> JobInfo:
        """The job as it is now."""
        return drive(self._store, jobs.info(self.id))

    def waits_for(self) -> str | None:
        """What the job waits for, in a sentence: see `Job.waits_for`."""
        return drive(self._store, waits.waits_for(self._book, self.id))

    def payload(self) -> Contract | Payload:
        """What the job's agent was given: see `Job.payload`."""
        return drive(self._store, jobs.payload(self._book, self.id))

    def result(self, *, timeout: Duration | None = None) -> R:
        """Wait for the result, at most `timeout` seconds: see `Job.result`."""
        awaiting = Awaiting(self.id, timeout)
        watch = self._store.watch(Topic(subject=self.id))
        try:
            while True:
                row = drive(self._store, awaiting.ask(jobs.look(self.id)))
                if row is None:
                    time.sleep(awaiting.rest)
                    continue
                if row.state in ENDED:
                    return cast("R", jobs.outcome(self._book, row, self._returns))
                if (left := awaiting.left) <= 0:
                    raise drive(self._store, jobs.late(row))
                watch.wait(left)
        finally:
            watch.close()

    def stream(self) -> Iterator[Any]:
        """Read what the agents stream: see `Job.stream`."""
        with closing(self.parts()) as parts:
            for part in parts:
                yield part.data

    def parts(self, *, after: str = "") -> Generator[Part]:
        """The same as `stream`, with cursors: see `Job.parts`."""
        awaiting, after = Awaiting(self.id), cursor(after, "a part")
        watch = self._store.watch(Topic(subject=self.id))
        try:
            ended = False
            while not ended:
                page = drive(self._store, awaiting.ask(jobs.streamed(self.id, after)))
                if page is None:
                    time.sleep(awaiting.rest)
                    continue
                found, ended = page
                for each in found:
                    yield each
                    after = each.cursor
                if not (found or ended):
                    watch.wait(awaiting.left)
        finally:
            watch.close()

    def answer(self, value: Any, *, question: str | None = None, by: str = "") -> None:
        """Answer the job's question: see `Job.answer`."""
        drive(self._store, inbox.answer(self._book, self.id, value, question, by))

    def cancel(self) -> bool:
        """End the job now: see `Job.cancel`."""
        return drive(self._store, jobs.cancel(self.id))

    def run_now(self) -> bool:
        """Don't let the job wait any longer for its time: see `Job.run_now`."""
        return drive(self._store, jobs.run_now(self.id))

"""History: what a coordinator does with a thread's past, in async code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from ..contracts.agent import Agent, name_of
from ..contracts.checkpoint import Checkpoint, CheckpointSummary
from ..contracts.contract import Contract
from ..contracts.diff import Diff
from ..contracts.duration import Duration
from ..contracts.transcript import Transcript
from .book import Book
from .calls import adrive, copies, edits, forks, retention, transcripts, travel
from .calls.inputs import name_wanted
from .job import Job
from .parts.bases import Bases
from .store import Store


class History:
    """The part of `Coordinator` that looks back, goes back and lets go."""

    def __init__(self, store: Store, book: Book) -> None:
        self.store = store
        self.book = book
        self._bases = Bases(store.codec)

    async def timeline(
        self,
        thread: str,
        *,
        limit: int = 50,
        before: str | None = None,
        agent: str | Agent[Any] | None = None,
        step: str | None = None,
        framework: str | None = None,
        job: str | None = None,
        context: Mapping[str, Any] | None = None,
        named: bool = False,
    ) -> list[CheckpointSummary]:
        """The thread's checkpoints without their state, newest first; `before` a checkpoint's id pages.

        Only those that fit: `context` has (at least) these values, `named` are those that have a name.
        """
        wanted = travel.Wanted(name_wanted(agent), step, framework, job, context or {}, named)
        return await adrive(self.store, travel.timeline(thread, limit, before, wanted))

    async def ancestors(self, checkpoint_id: str, *, limit: int | None = None) -> list[CheckpointSummary]:
        """What a checkpoint came from, nearest first, also over threads: as far back as it is kept."""
        return await adrive(self.store, travel.ancestors(checkpoint_id, limit))

    async def branches(self, thread: str) -> list[CheckpointSummary]:
        """The tips of the thread's tree: checkpoints from which nothing in it goes on, newest first. Reads it all."""
        return await adrive(self.store, travel.branches(thread))

    async def diff(self, old: str | Checkpoint, new: str | Checkpoint) -> Diff:
        """How two checkpoints' states differ, also across threads and jobs: `.added`, `.removed`, `.changed`."""
        return await adrive(self.store, travel.differ(self.book, old, new))

    async def transcript(self, checkpoint_id: str) -> Transcript:
        """The conversation that a checkpoint holds, in no framework's form: with what its job had brought along from
        agents of other frameworks, and what is done and what is next."""
        return await adrive(self.store, transcripts.transcript(self.book, checkpoint_id))

    async def name(self, checkpoint_id: str, name: str) -> None:
        """Name a checkpoint, uniquely in its thread: `Conflict` if another one has that name.

        A checkpoint has one name at most. As long as it has one it is kept: its ttl does not count, `prune` leaves it.
        """
        await adrive(self.store, travel.name(checkpoint_id, name))

    async def unname(self, checkpoint_id: str) -> None:
        """Take a checkpoint's name away. If its ttl is over it is gone then."""
        await adrive(self.store, travel.unname(checkpoint_id))

    @overload
    async def fork(
        self,
        checkpoint_id: str,
        *,
        changes: Mapping[str, Any] | None = None,
        append: Mapping[str, Any] | None = None,
        state: Any = None,
        agent: None = None,
        thread: str | None = None,
        key: str | None = None,
    ) -> Checkpoint: ...

    @overload
    async def fork(
        self,
        checkpoint_id: str,
        *,
        changes: Mapping[str, Any] | None = None,
        append: Mapping[str, Any] | None = None,
        state: Any = None,
        agent: str | Agent[Any],
        payload: Contract | Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Job[Any]: ...

    async def fork(
        self,
        checkpoint_id: str,
        *,
        changes: Mapping[str, Any] | None = None,
        append: Mapping[str, Any] | None = None,
        state: Any = None,
        agent: str | Agent[Any] | None = None,
        payload: Any = None,
        thread: str | None = None,
        key: str | None = None,
    ) -> Checkpoint | Job[Any]:
        """Go on from a checkpoint in another way, with its state as it is or edited; what it keeps is shared.

        The edit is `changes` and `append` as of `save`, or a whole `state`. Gives a checkpoint whose parent is that
        one: on the same thread, whose tip it becomes (`ThreadBusy` while a job runs there), or the first of the new
        thread that `thread` names (`Conflict` if there is one). With `key` the same fork is made once.

        With `agent` it gives a new job instead, at an agent of any framework, which goes on with the checkpoint's
        conversation, as edited: as its framework's messages, for a plain function as `ctx.transcript`. Its payload is
        `payload`, or the state where that fits its contract, or, without an edit, what the checkpoint's own agent was
        given. A tool call without a result is closed with a failed one; what else the framework can't be told is
        counted in `lost` of the job's first event.
        """
        edit = edits.Edit(changes or {}, append or {}, state)
        forks.check(agent, payload, thread)
        if agent is None:
            call = forks.fork(self._bases, self.book, checkpoint_id, edit, thread, key)
            return await adrive(self.store, call)
        name = name_of(agent)
        job = forks.fork_job(self._bases, self.book, checkpoint_id, edit, name, payload, key)
        return Job(self.store, self.book, (await adrive(self.store, job)).id, None)

    async def rollback(self, thread: str, *, to: str) -> Checkpoint:
        """Go back to an earlier checkpoint of the thread, by its id or name: a new one with its state becomes the tip.

        Nothing is deleted: what came after stays as a branch. `ThreadBusy` while a job runs on the thread.
        """
        return await adrive(self.store, forks.rollback(self._bases, self.book, thread, to))

    async def copy(self, thread: str, *, to: str) -> int:
        """Copy a thread's history, with its tree and names, to a new thread; how many checkpoints.

        States are shared, not sent. A copy has its own id and time (`.copy_of` and `.original_at` tell the original's)
        and lives as long as the original did. What an interrupted copy left is removed by `delete`.
        """
        return await adrive(self.store, copies.copy(self._bases, thread, to))

    async def prune(
        self,
        thread: str | None = None,
        *,
        keep_last: int | None = None,
        older_than: Duration | None = None,
        keep_named: bool = True,
    ) -> int:
        """Free checkpoints of a thread, or of all threads, that are neither among the last `keep_last` nor younger than
        `older_than` seconds; how many. What a job on the thread would resume from stays, and so does what others share
        of them."""
        return await adrive(self.store, retention.prune(thread, keep_last, older_than, keep_named))

    async def delete(self, thread: str) -> int:
        """Delete a thread: its checkpoints, names and ended jobs; how many checkpoints. Forks in other threads and the
        events stay, and so does what a job needs that was forked from here. `ThreadBusy` while a job runs on it."""
        return await adrive(self.store, retention.delete(self._bases, thread))

    async def delete_job(self, job_id: str) -> None:
        """Delete an ended job with its result, its idempotency key, and the thread that is its own. `WrongState` if it
        has not ended."""
        await adrive(self.store, retention.delete_job(self._bases, job_id))

    async def prune_jobs(self, *, older_than: Duration) -> int:
        """Delete jobs that ended `older_than` seconds ago, each as `delete_job` does; how many. A job stays as long as
        its own thread has a named or a younger checkpoint."""
        return await adrive(self.store, retention.prune_jobs(older_than))

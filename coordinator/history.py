"""History: the part of a coordinator for a thread's past, in async code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any, TypeVar, overload

from anyio import to_thread
from typing_extensions import Unpack

from ..contracts.agent import Agent, name_of
from ..contracts.bundle import BundleInfo
from ..contracts.checkpoint import Checkpoint, CheckpointSummary
from ..contracts.contract import Contract
from ..contracts.diff import Diff
from ..contracts.duration import Duration
from ..contracts.key_use import KeyUse
from ..contracts.options import JobOptions
from ..contracts.transcript import Transcript
from . import bundling
from .bundling import Progress
from .calls import adrive, checkpoints, copies, edits, forks, retention, travel
from .calls.inputs import contract_wanted, name_wanted
from .calls.key_uses import Looked, uses
from .coded.store import uncoded
from .comparing import compared
from .connected import Connected
from .job import Job

P = TypeVar("P", bound=Contract)
R = TypeVar("R", bound=Contract)


class History(Connected):
    """The part of `Coordinator` for time travel and retention."""

    async def threads(self, *, limit: int = 50, after: str = "") -> list[str]:
        """List the names of all threads that have a checkpoint or a job, in the order of their characters' codes. A job
        that was submitted without a thread has one that is named like its id.

        For the next page, pass the last name as `after`.
        """
        return await adrive(self.store, travel.threads(limit, after))

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
        """List the thread's checkpoints without their state, newest first.

        For the next page, pass the last checkpoint's id as `before`. The other arguments filter: `context` matches
        checkpoints that have (at least) these values, `named` those with a name. `framework` is "python" for plain
        functions (agents of the kind "function").
        """
        wanted = travel.Wanted(name_wanted(agent), step, framework, job, context or {}, named)
        return await adrive(self.store, travel.timeline(thread, limit, before, wanted))

    async def ancestors(self, checkpoint_id: str, *, limit: int | None = None) -> list[CheckpointSummary]:
        """The checkpoints that this one came from, nearest first, also across threads, as far back as stored."""
        return await adrive(self.store, travel.ancestors(checkpoint_id, limit))

    async def branches(self, thread: str) -> list[CheckpointSummary]:
        """The tips of the thread's tree: checkpoints without a successor in it, newest first. Reads it all."""
        return await adrive(self.store, travel.branches(thread))

    async def diff(self, old: str | Checkpoint, new: str | Checkpoint) -> Diff:
        """Compare the states of two checkpoints, also across threads and jobs: `.added`, `.removed`, `.changed`."""
        return await compared(*(await adrive(self.store, travel.states(self.book, old, new))))

    async def transcript(self, checkpoint_id: str) -> Transcript:
        """The conversation in a checkpoint, independent of its framework.

        It includes what the job brought along from agents of other frameworks, and what is done and what is next.
        """
        return await adrive(self.store, travel.transcript(self.book, checkpoint_id))

    async def name(self, checkpoint_id: str, name: str) -> None:
        """Name a checkpoint, uniquely in its thread. Raises `Conflict` if another one has that name.

        A checkpoint has at most one name. While it has one it is kept: its ttl doesn't apply, and `prune` leaves it.
        """
        await adrive(self.store, travel.name(checkpoint_id, name))

    async def unname(self, checkpoint_id: str) -> None:
        """Remove a checkpoint's name. If its ttl has passed, it is then deleted."""
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
        returns: type[R],
        **options: Unpack[JobOptions],
    ) -> Job[R]: ...

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
        returns: None = None,
        **options: Unpack[JobOptions],
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
        returns: type[Contract] | None = None,
        **options: Unpack[JobOptions],
    ) -> Checkpoint | Job[Any]:
        """Continue from a checkpoint in another way, with its state unchanged or edited. Storage is shared.

        Edit with `changes` and `append` as in `save` (names that the state lacks are added, and a change may be
        of a place in a value, "messages[0].content"), or with a whole
        `state`. Without `agent`, this returns a new checkpoint whose parent is the given one. It becomes the tip of the
        same thread (`ThreadBusy` while a job runs there), or the first checkpoint of the new thread named by `thread`
        (`Conflict` if that exists). With `key` the same fork is made once.

        With `agent`, this returns a new job at that agent, of any framework, which continues the checkpoint's
        conversation, as edited. It gets the conversation as its framework's messages, or in a plain function as
        `ctx.transcript`. The payload is `payload`, else the state if it fits the agent's contract, else, without an
        edit, the payload of the checkpoint's own agent. A tool call without a result is closed with a failed one. What
        the framework can't represent is counted in `lost` of the job's first event. `returns` is the type of the
        result. The options are those of `submit` without `thread` and `on_busy`: see `JobOptions`. Without `trace`, the
        job has the trace context of the checkpoint's job.
        """
        edit = edits.Edit(changes or {}, append or {}, state)
        forks.check(agent, payload, thread, returns, options)
        if agent is None:
            call = forks.fork(self._bases, self.book, checkpoint_id, edit, thread, options.get("key"))
            return await adrive(self.store, call)
        wanted, name = contract_wanted(returns), name_of(agent)
        job = forks.fork_job(self._bases, self.book.knowing(agent), checkpoint_id, edit, name, payload, options)
        return Job(self.store, self.book, (await adrive(self.store, job)).id, wanted)

    @overload
    async def hand_off(
        self,
        checkpoint_id: str,
        *,
        to: str | Agent[P],
        payload: P | Mapping[str, Any] | None = None,
        returns: type[R],
        **options: Unpack[JobOptions],
    ) -> Job[R]: ...

    @overload
    async def hand_off(
        self,
        checkpoint_id: str,
        *,
        to: str | Agent[P],
        payload: P | Mapping[str, Any] | None = None,
        returns: None = None,
        **options: Unpack[JobOptions],
    ) -> Job[Any]: ...

    async def hand_off(
        self,
        checkpoint_id: str,
        *,
        to: str | Agent[P],
        payload: P | Mapping[str, Any] | None = None,
        returns: type[Contract] | None = None,
        **options: Unpack[JobOptions],
    ) -> Job[Any]:
        """Submit a new job that continues from a checkpoint. The job's first checkpoint has this one as its parent.

        Without `payload` the agent gets the checkpoint's state, which must validate as the contract it accepts
        (`batonpass.State` accepts any). `returns` is the type of the result. The options are those of `submit` without
        `thread` and `on_busy`: see `JobOptions`. Without `trace`, the job has the trace context of the checkpoint's
        job.
        """
        wanted, name = contract_wanted(returns), name_of(to)
        call = checkpoints.hand_off(self.book.knowing(to), checkpoint_id, name, payload, options)
        return Job(self.store, self.book, (await adrive(self.store, call)).id, wanted)

    async def rollback(self, thread: str, *, to: str) -> Checkpoint:
        """Go back to an earlier checkpoint of the thread, by id or name. A new checkpoint with its state becomes the
        tip.

        Nothing is deleted: later checkpoints stay as a branch. Raises `ThreadBusy` while a job runs on the thread.
        """
        return await adrive(self.store, forks.rollback(self._bases, self.book, thread, to))

    async def copy(self, thread: str, *, to: str) -> int:
        """Copy a thread's history, with its tree and names, to a new thread. Returns how many checkpoints.

        States are shared, not sent. A copy has its own id and time (`.copy_of` and `.original_at` have the original's)
        and the original's lifetime. If a copy was interrupted, remove what it left with `delete`.
        """
        return await adrive(self.store, copies.copy(self._bases, thread, to))

    async def export_bundle(
        self, what: str, path: str | PathLike[str], *, plain: bool = False, progress: Progress | None = None
    ) -> BundleInfo:
        """Write a job, or a thread, to a new file: its checkpoints, and the jobs on it with their journals, questions
        and events. Nothing is changed here.

        With a codec, the file is as protected as the store, and read with the same key, unless `plain`. An existing
        file is never overwritten. `progress` is called from another thread with the checkpoints done, and in all.
        """
        return await to_thread.run_sync(
            partial(bundling.export_bundle, self.store, what, path, plain=plain, progress=progress)
        )

    async def import_bundle(self, path: str | PathLike[str], *, progress: Progress | None = None) -> BundleInfo:
        """Add what `export_bundle` has written, with the same ids, names and times, to this store. No job starts to
        run: one that had not ended is a failed job with the reason "imported", or still asks its question.

        Raises `Conflict` if it is there already. If an import is interrupted, run it again.
        """
        return await to_thread.run_sync(partial(bundling.import_bundle, self.store, path, progress=progress))

    async def key_uses(self, *, progress: Looked | None = None) -> list[KeyUse]:
        """What in the namespace was stored with which key of a codec: when nothing needs an old key any more, it may be
        removed. Reads all that is stored, but needs no key.

        What agents stream is left out: it goes after an hour. `progress` is called with the jobs, threads, items and
        webhooks looked at so far.
        """
        return await adrive(uncoded(self.store), uses(self.store.codec, progress))

    async def prune(
        self,
        thread: str | None = None,
        *,
        keep_last: int | None = None,
        older_than: Duration | None = None,
        keep_named: bool = True,
    ) -> int:
        """Delete checkpoints of a thread, or of all threads, and return how many.

        Kept are the last `keep_last`, those younger than `older_than` seconds, named ones (unless `keep_named` is
        false), and what a job on the thread would resume from. With a `keep_last` of 1 or more, so is the newest of
        each agent in jobs, from which one with `memory="thread"` goes on: to know whose they are, that needs the keys
        of what is encrypted or signed. What other checkpoints share of the deleted ones stays.

        In a BatonpassSaver's thread, those of subgraphs don't count, and what its graph goes on from stays with the
        newest: the latest of a subgraph that waits, and what delta channels are made of. That needs LangGraph, and the
        keys of what is encrypted. Of all threads, those that lack these are left, and `Unpruned` tells in the end.
        """
        return await adrive(self.store, retention.prune(thread, keep_last, older_than, keep_named))

    async def delete(self, thread: str) -> int:
        """Delete a thread with its checkpoints, names and ended jobs. Returns how many checkpoints.

        Forks in other threads, events, and what a job forked from here needs stay. Raises `ThreadBusy` while a job runs
        on the thread.
        """
        return await adrive(self.store, retention.delete(self._bases, thread))

    async def delete_job(self, job_id: str) -> None:
        """Delete an ended job with its result, its idempotency key and its own thread. Raises `WrongState` if it has
        not ended."""
        await adrive(self.store, retention.delete_job(self._bases, job_id))

    async def prune_jobs(self, *, older_than: Duration) -> int:
        """Delete jobs that ended `older_than` seconds ago, each like `delete_job`, and return how many.

        A job stays as long as its own thread has a named or a younger checkpoint.
        """
        return await adrive(self.store, retention.prune_jobs(older_than))

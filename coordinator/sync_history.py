"""SyncHistory: the part of a coordinator for a thread's past, in sync code."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, TypeVar, overload

from typing_extensions import Unpack

from ..contracts.agent import Agent, name_of
from ..contracts.bundle import BundleInfo
from ..contracts.checkpoint import Checkpoint, CheckpointSummary
from ..contracts.contract import Contract
from ..contracts.diff import Diff, diff
from ..contracts.duration import Duration
from ..contracts.key_use import KeyUse
from ..contracts.options import JobOptions
from ..contracts.transcript import Transcript
from . import bundling
from .bundling import Progress
from .calls import checkpoints, copies, drive, edits, forks, retention, travel
from .calls.inputs import contract_wanted, name_wanted
from .calls.key_uses import Looked, uses
from .coded.store import uncoded
from .connected import Connected
from .job import SyncJob

P = TypeVar("P", bound=Contract)
R = TypeVar("R", bound=Contract)


class SyncHistory(Connected):
    """`History` for sync code. See there what each method means and raises."""

    def threads(self, *, limit: int = 50, after: str = "") -> list[str]:
        """List the names of all threads: see `Coordinator.threads`."""
        return drive(self.store, travel.threads(limit, after))

    def timeline(
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
        """List the thread's checkpoints without their state, newest first."""
        wanted = travel.Wanted(name_wanted(agent), step, framework, job, context or {}, named)
        return drive(self.store, travel.timeline(thread, limit, before, wanted))

    def ancestors(self, checkpoint_id: str, *, limit: int | None = None) -> list[CheckpointSummary]:
        """The checkpoints that this one came from, nearest first, also across threads, as far back as stored."""
        return drive(self.store, travel.ancestors(checkpoint_id, limit))

    def branches(self, thread: str) -> list[CheckpointSummary]:
        """The tips of the thread's tree: checkpoints without a successor in it, newest first. Reads it all."""
        return drive(self.store, travel.branches(thread))

    def diff(self, old: str | Checkpoint, new: str | Checkpoint) -> Diff:
        """Compare the states of two checkpoints, also across threads and jobs: `.added`, `.removed`, `.changed`."""
        return diff(*drive(self.store, travel.states(self.book, old, new)))

    def transcript(self, checkpoint_id: str) -> Transcript:
        """The conversation in a checkpoint, independent of its framework."""
        return drive(self.store, travel.transcript(self.book, checkpoint_id))

    def name(self, checkpoint_id: str, name: str) -> None:
        """Name a checkpoint, uniquely in its thread."""
        drive(self.store, travel.name(checkpoint_id, name))

    def unname(self, checkpoint_id: str) -> None:
        """Remove a checkpoint's name. If its ttl has passed, it is then deleted."""
        drive(self.store, travel.unname(checkpoint_id))

    @overload
    def fork(
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
    def fork(
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
    ) -> SyncJob[R]: ...

    @overload
    def fork(
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
    ) -> SyncJob[Any]: ...

    def fork(
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
    ) -> Checkpoint | SyncJob[Any]:
        """Continue from a checkpoint in another way, with its state unchanged or edited. Storage is shared."""
        edit = edits.Edit(changes or {}, append or {}, state)
        forks.check(agent, payload, thread, returns, options)
        if agent is None:
            call = forks.fork(self._bases, self.book, checkpoint_id, edit, thread, options.get("key"))
            return drive(self.store, call)
        wanted, name = contract_wanted(returns), name_of(agent)
        job = forks.fork_job(self._bases, self.book.knowing(agent), checkpoint_id, edit, name, payload, options)
        return SyncJob(self.store, self.book, drive(self.store, job).id, wanted)

    @overload
    def hand_off(
        self,
        checkpoint_id: str,
        *,
        to: str | Agent[P],
        payload: P | Mapping[str, Any] | None = None,
        returns: type[R],
        **options: Unpack[JobOptions],
    ) -> SyncJob[R]: ...

    @overload
    def hand_off(
        self,
        checkpoint_id: str,
        *,
        to: str | Agent[P],
        payload: P | Mapping[str, Any] | None = None,
        returns: None = None,
        **options: Unpack[JobOptions],
    ) -> SyncJob[Any]: ...

    def hand_off(
        self,
        checkpoint_id: str,
        *,
        to: str | Agent[P],
        payload: P | Mapping[str, Any] | None = None,
        returns: type[Contract] | None = None,
        **options: Unpack[JobOptions],
    ) -> SyncJob[Any]:
        """Submit a new job that continues from a checkpoint. The job's first checkpoint has this one as its parent."""
        wanted, name = contract_wanted(returns), name_of(to)
        call = checkpoints.hand_off(self.book.knowing(to), checkpoint_id, name, payload, options)
        return SyncJob(self.store, self.book, drive(self.store, call).id, wanted)

    def rollback(self, thread: str, *, to: str) -> Checkpoint:
        """Go back to an earlier checkpoint of the thread, by id or name."""
        return drive(self.store, forks.rollback(self._bases, self.book, thread, to))

    def copy(self, thread: str, *, to: str) -> int:
        """Copy a thread's history, with its tree and names, to a new thread."""
        return drive(self.store, copies.copy(self._bases, thread, to))

    def export_bundle(
        self, what: str, path: str | PathLike[str], *, plain: bool = False, progress: Progress | None = None
    ) -> BundleInfo:
        """Write a job, or a thread, to a new file."""
        return bundling.export_bundle(self.store, what, path, plain=plain, progress=progress)

    def import_bundle(self, path: str | PathLike[str], *, progress: Progress | None = None) -> BundleInfo:
        """Add what `export_bundle` has written, with the same ids, names and times, to this store."""
        return bundling.import_bundle(self.store, path, progress=progress)

    def key_uses(self, *, progress: Looked | None = None) -> list[KeyUse]:
        """What in the namespace was stored with which key of a codec."""
        return drive(uncoded(self.store), uses(self.store.codec, progress))

    def prune(
        self,
        thread: str | None = None,
        *,
        keep_last: int | None = None,
        older_than: Duration | None = None,
        keep_named: bool = True,
    ) -> int:
        """Delete checkpoints of a thread, or of all threads, and return how many."""
        return drive(self.store, retention.prune(thread, keep_last, older_than, keep_named))

    def delete(self, thread: str) -> int:
        """Delete a thread with its checkpoints, names and ended jobs."""
        return drive(self.store, retention.delete(self._bases, thread))

    def delete_job(self, job_id: str) -> None:
        """Delete an ended job with its result, its idempotency key and its own thread."""
        drive(self.store, retention.delete_job(self._bases, job_id))

    def prune_jobs(self, *, older_than: Duration) -> int:
        """Delete jobs that ended `older_than` seconds ago, each like `delete_job`, and return how many."""
        return drive(self.store, retention.prune_jobs(older_than))

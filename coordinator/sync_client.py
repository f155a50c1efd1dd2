"""SyncCoordinator: the coordinator for sync code. The same names, no await and no event loop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, TypeVar, overload

from typing_extensions import Unpack

from ..contracts.agent import Agent, name_of
from ..contracts.app import App
from ..contracts.checkpoint import Checkpoint
from ..contracts.contract import Contract
from ..contracts.declared import AgentInfo
from ..contracts.duration import Duration
from ..contracts.errors import Unavailable
from ..contracts.event import Event
from ..contracts.group import GroupInfo
from ..contracts.guard import Guard
from ..contracts.inbox import InboxItem
from ..contracts.job import JobInfo
from ..contracts.options import SubmitOptions
from ..contracts.webhook import WebhookInfo
from ..contracts.worker import WorkerInfo
from .backup import Progress, back_up
from .calls import checkpoints, dead, drive, events, groups, inbox, jobs, pauses, travel, webhooks
from .calls.declaring import declaring, known
from .calls.inputs import contract_wanted
from .consumer import SyncConsumer
from .job import SyncJob
from .live_workers import workers_of
from .store import Topic
from .sync_scheduling import SyncScheduling

P = TypeVar("P", bound=Contract)
R = TypeVar("R", bound=Contract)


class SyncCoordinator(SyncScheduling):
    """The `Coordinator` for sync code, made by `with batonpass.connect(url)`. See there for details."""

    @overload
    def submit(
        self,
        agent: str | Agent[P],
        payload: P | Mapping[str, Any],
        *,
        returns: type[R],
        **options: Unpack[SubmitOptions],
    ) -> SyncJob[R]: ...

    @overload
    def submit(
        self,
        agent: str | Agent[P],
        payload: P | Mapping[str, Any],
        *,
        returns: None = None,
        **options: Unpack[SubmitOptions],
    ) -> SyncJob[Any]: ...

    def submit(
        self,
        agent: str | Agent[Any],
        payload: Any,
        *,
        returns: type[Contract] | None = None,
        **options: Unpack[SubmitOptions],
    ) -> SyncJob[Any]:
        """Submit a job to an agent. When this returns, the job is stored, and runs as soon as a worker serves the
        agent."""
        wanted, name = contract_wanted(returns), name_of(agent)
        call = jobs.submit(self.book.knowing(agent), name, payload, options)
        return SyncJob(self.store, self.book, drive(self.store, call).id, wanted)

    @overload
    def job(self, job_id: str, *, returns: type[R]) -> SyncJob[R]: ...

    @overload
    def job(self, job_id: str, *, returns: None = None) -> SyncJob[Any]: ...

    def job(self, job_id: str, *, returns: type[Contract] | None = None) -> SyncJob[Any]:
        """A handle for the job with this id. `returns` is the type of its result.

        Makes no call to the store yet, but raises `NotFound` for a text that is no job's id.
        """
        return SyncJob(self.store, self.book, jobs.checked(job_id), contract_wanted(returns))

    def jobs(
        self,
        *,
        state: str | None = None,
        agent: str | Agent[Any] | None = None,
        parent: str | None = None,
        children: bool = True,
        thread: str | None = None,
        key: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[JobInfo]:
        """List jobs, newest first, optionally of one state or agent, the children of one job, those that are nobody's
        (`children=False`), those on a thread, or those made from `since` and before `until`. For the next page, pass
        the last job's id as `before`."""
        return drive(
            self.store, jobs.page(state, agent, limit, before, parent, key, thread, since, until, children=children)
        )

    def inbox(
        self,
        *,
        assignee: str | None = None,
        agent: str | Agent[Any] | None = None,
        job: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> list[InboxItem]:
        """List the questions that jobs ask people, oldest first, optionally of one assignee or agent, or of one job."""
        return drive(self.store, inbox.page(assignee, agent, limit, after, job))

    def answer(self, of: str, value: Any, *, question: str | None = None, by: str = "") -> None:
        """Answer a job's question. `of` is the id of an inbox item or of a job."""
        drive(self.store, inbox.answer(self.book, of, value, question, by))

    def dead_letters(
        self,
        *,
        agent: str | Agent[Any] | None = None,
        reason: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[JobInfo]:
        """List failed jobs, the last to fail first, optionally of one agent or with one reason, or of a time."""
        return drive(self.store, dead.page(agent, reason, limit, before, since, until))

    def redrive(
        self,
        job_id: str,
        *,
        payload: Contract | Mapping[str, Any] | None = None,
        changes: Mapping[str, Any] | None = None,
        guard: Guard | None = None,
        not_done: Sequence[str] = (),
        add: Mapping[str, Any] | None = None,
        lost_children: bool = False,
    ) -> None:
        """Retry a failed job, optionally with another payload, guard or parts of its state: see
        `Coordinator.redrive`."""
        edits = payload, changes, guard, not_done, add, lost_children
        drive(self.store, dead.redrive(self._bases, self.book, job_id, *edits))

    def save(
        self,
        *,
        thread: str,
        agent: str,
        state: Any = None,
        changes: Mapping[str, Any] | None = None,
        append: Mapping[str, Any] | None = None,
        step: str = "",
        context: Mapping[str, Any] | None = None,
        framework: str = "python",
        ttl: Duration | None = None,
        parent: str | None = None,
        branch: bool = False,
    ) -> Checkpoint:
        """Save a checkpoint on a thread, outside of any job."""
        place = checkpoints.Place(thread, agent, parent, branch, ttl, self.book.state_version(agent))
        snapshot = checkpoints.snapshot(state, changes, append, step, context, framework)
        return drive(self.store, checkpoints.save_and_free(self._bases, self._freeing, place, snapshot))

    def restore(
        self,
        checkpoint_id: str | None = None,
        *,
        thread: str | None = None,
        name: str | None = None,
        partial: bool = False,
    ) -> Checkpoint:
        """Load a checkpoint with its state, verified, by its id, or by its name in a thread.

        Raises `NotFound` or `Corrupted`, or `BadSetup` if a key is missing or a class does not take what is stored. A
        state saved by an older version of its agent is migrated. With `partial`, the checkpoint is loaded without the
        values that can't be read. `.damaged` and `.unreadable` name them.
        """
        return drive(self.store, travel.restore(self.book, checkpoint_id, thread, name, rest=partial))

    def latest(self, *, thread: str) -> Checkpoint | None:
        """The thread's newest checkpoint with its state, or None."""
        found = drive(self.store, checkpoints.latest(self._bases, thread))
        return self.book.migrated(found) if found else None

    def expire(self, checkpoint_id: str) -> None:
        """Delete one checkpoint now. Its neighbours stay. Refused if a running job would resume from it."""
        drive(self.store, checkpoints.expire(checkpoint_id))

    def events(
        self,
        *,
        after: str = "",
        job: str | None = None,
        thread: str | None = None,
        agent: str | Agent[Any] | None = None,
        types: str | Sequence[str] = (),
        follow: bool = False,
    ) -> Iterator[Event]:
        """Read events, in order within each thread, from the beginning or after a cursor. `follow` waits for more."""
        reader = events.Reader(after, job or "", events.which(types, agent, thread), self.url, follow=follow)
        watch = self.store.watch(Topic(subject=job or ""))
        try:
            while True:
                try:
                    found = drive(self.store, reader.page())
                except Unavailable as error:
                    if not follow:
                        raise
                    time.sleep(reader.patience.pause(error))
                    continue
                yield from found
                if reader.ended and not follow:
                    return
                if reader.ended:
                    watch.wait(1.0)
                if follow and not reader.behind:
                    time.sleep(reader.patience.rest())
        finally:
            watch.close()

    def consume(
        self,
        group: str,
        *,
        types: str | Sequence[str] = (),
        agent: str | Agent[Any] | None = None,
        thread: str | None = None,
        start: str = "begin",
        lease: Duration = 60.0,
        batch: int = 100,
    ) -> SyncConsumer:
        """Share events among a group of consumers: `with` or `for`. Each event goes to one consumer, at least once."""
        which = events.which(types, agent, thread)
        work = groups.Work(groups.users(group), which, start=start, lease=lease, batch=batch, source=self.url)
        return SyncConsumer(self.store, work)

    def groups(self) -> list[GroupInfo]:
        """List the groups of consumers, and how far behind they are."""
        return drive(self.store, groups.listed())

    def move_group(self, group: str, *, to: str) -> None:
        """Move a group: "begin" is the first event still stored, "now" is after the newest."""
        drive(self.store, groups.move(group, to))

    def delete_group(self, group: str) -> None:
        """Delete a group and its position."""
        drive(self.store, groups.delete(group))

    def webhook(
        self,
        name: str,
        url: str,
        *,
        types: str | Sequence[str] = (),
        secret: str | None = None,
        start: str = "now",
        plain_http: bool = False,
    ) -> str:
        """Send events to a URL, signed. Returns the signing secret."""
        return drive(self.store, webhooks.add(name, url, types, secret, start, plain_http=plain_http))

    def webhooks(self) -> list[WebhookInfo]:
        """List the webhooks, with their state."""
        return drive(self.store, webhooks.infos())

    def resume_webhook(self, name: str) -> None:
        """Resume a paused webhook at the event where it stopped, or have a failing one send it now."""
        drive(self.store, webhooks.resume(name))

    def delete_webhook(self, name: str) -> None:
        """Delete a webhook and its position."""
        drive(self.store, webhooks.delete(name))

    def trim_events(self, keep: int) -> int:
        """Delete all but the newest `keep` events now, and return how many. On a cluster, each partition keeps its
        share, at least one."""
        return drive(self.store, events.trim(keep))

    def declare(self, app: App) -> None:
        """Record an app's agents, so that clients without the app can submit to them."""
        drive(self.store, declaring(app))

    def agents(self) -> list[AgentInfo]:
        """List the agents that were declared in the store, with the contracts that they accept, by name."""
        return drive(self.store, known())

    def pause_agent(self, agent: str | Agent[Any], *, reason: str = "") -> bool:
        """Let no worker start a job of an agent until `resume_agent`."""
        return drive(self.store, pauses.pause(self.book, agent, reason))

    def resume_agent(self, agent: str | Agent[Any]) -> bool:
        """Let workers start a paused agent's jobs again."""
        return drive(self.store, pauses.resume(self.book, agent))

    def workers(self) -> list[WorkerInfo]:
        """List the live workers, with the agents that they serve and their versions."""
        return workers_of(self.store)

    def backup(self, path: str | PathLike[str], *, progress: Progress | None = None) -> None:
        """Copy the whole store, with all namespaces, to a new file, while others keep writing. The copy opens as a
        store."""
        back_up(self.store, path, progress)

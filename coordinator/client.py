"""Coordinator: what clients and workers do everything through, in async code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from os import PathLike
from typing import Any, TypeVar, overload

from anyio import to_thread
from typing_extensions import Unpack

from ..contracts.agent import Agent, name_of
from ..contracts.app import App
from ..contracts.checkpoint import Checkpoint
from ..contracts.contract import Contract
from ..contracts.declared import AgentInfo
from ..contracts.duration import Duration
from ..contracts.event import Event
from ..contracts.group import GroupInfo
from ..contracts.guard import Guard
from ..contracts.inbox import InboxItem
from ..contracts.job import JobInfo
from ..contracts.options import SubmitOptions
from ..contracts.webhook import WebhookInfo
from ..contracts.worker import WorkerInfo
from .backup import Progress, back_up
from .calls import adrive, checkpoints, dead, events, groups, inbox, jobs, pauses, travel, webhooks
from .calls.declaring import declaring, known
from .calls.inputs import contract_wanted
from .consumer import Consumer
from .job import Job
from .live_workers import workers_of
from .scheduling import Scheduling
from .tail import tail

P = TypeVar("P", bound=Contract)
R = TypeVar("R", bound=Contract)


class Coordinator(Scheduling):
    """Submits and watches jobs, saves and restores checkpoints. Made by `async with batonpass.connect(url)`."""

    @overload
    async def submit(
        self,
        agent: str | Agent[P],
        payload: P | Mapping[str, Any],
        *,
        returns: type[R],
        **options: Unpack[SubmitOptions],
    ) -> Job[R]: ...

    @overload
    async def submit(
        self,
        agent: str | Agent[P],
        payload: P | Mapping[str, Any],
        *,
        returns: None = None,
        **options: Unpack[SubmitOptions],
    ) -> Job[Any]: ...

    async def submit(
        self,
        agent: str | Agent[Any],
        payload: Any,
        *,
        returns: type[Contract] | None = None,
        **options: Unpack[SubmitOptions],
    ) -> Job[Any]:
        """Submit a job to an agent. When this returns, the job is stored, and runs as soon as a worker serves the
        agent.

        `payload` is the contract that the agent accepts, or a mapping that validates as it. `returns` is the type of
        the result. Raises `UnknownAgent` or `ContractViolation`, and then nothing is written. For the options (`key` to
        submit only once, `thread`, `delay` or `at`, `priority` ...), see `batonpass.SubmitOptions`.
        """
        wanted, name = contract_wanted(returns), name_of(agent)
        call = jobs.submit(self.book.knowing(agent), name, payload, options)
        return Job(self.store, self.book, (await adrive(self.store, call)).id, wanted)

    @overload
    def job(self, job_id: str, *, returns: type[R]) -> Job[R]: ...

    @overload
    def job(self, job_id: str, *, returns: None = None) -> Job[Any]: ...

    def job(self, job_id: str, *, returns: type[Contract] | None = None) -> Job[Any]:
        """A handle for the job with this id. `returns` is the type of its result.

        Makes no call to the store yet, but raises `NotFound` for a text that is no job's id.
        """
        return Job(self.store, self.book, jobs.checked(job_id), contract_wanted(returns))

    async def jobs(
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
        the last job's id as `before`. (If that was deleted meanwhile, some jobs may come again.)

        With `key`, this looks up the job that was submitted to the `agent` with that idempotency key, wherever it is
        now: a list of one, or of none once the key has expired (`key_ttl` after the job's end).
        """
        return await adrive(
            self.store, jobs.page(state, agent, limit, before, parent, key, thread, since, until, children=children)
        )

    async def inbox(
        self,
        *,
        assignee: str | None = None,
        agent: str | Agent[Any] | None = None,
        job: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> list[InboxItem]:
        """List the questions that jobs ask people, oldest first, optionally of one assignee or agent, or of one job.

        For the next page, pass the last item's id as `after`. `answer` answers one.
        """
        return await adrive(self.store, inbox.page(assignee, agent, limit, after, job))

    async def answer(self, of: str, value: Any, *, question: str | None = None, by: str = "") -> None:
        """Answer a job's question: see `Job.answer`. `of` is the id of an inbox item or of a job."""
        await adrive(self.store, inbox.answer(self.book, of, value, question, by))

    async def dead_letters(
        self,
        *,
        agent: str | Agent[Any] | None = None,
        reason: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[JobInfo]:
        """List failed jobs, the last to fail first, optionally of one agent or with one reason, or those that failed
        from `since` and before `until`.

        `error` says what went wrong, and `checkpoint_id` where the job would continue. `redrive` retries a job,
        `delete_job` drops it. For the next page, pass the last job's id as `before`. (If that was deleted meanwhile,
        the list begins anew.)
        """
        return await adrive(self.store, dead.page(agent, reason, limit, before, since, until))

    async def redrive(
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
        """Retry a failed job: the same hop, from its last checkpoint, with a new count of attempts.

        Finished steps don't run again. `payload` replaces the agent's payload, and `changes` replaces values of its
        state, by key, or what is at a place in one ("messages[0].content"). A name that the state lacks is refused
        there: `add` adds it. What a plain function has recorded stays under another payload. If it was made of the old
        one, give what counts now, the recorded results or others (`changes={"fetch": ...}`), or submit a new job. If
        the thread was taken back since the job failed, the job continues from there. `guard` changes the limits that it
        names, and the others stay: a handoff that was refused is then made without running the hop again. `not_done`
        are the keys of effects whose outcome was unknown, and which have not happened, as you found out: they are
        called again. With `lost_children`, those that failed or were canceled go on, of each of its hop's fan-outs,
        even if it has done something since because they were lost. (Without, only if it has not.) Raises `WrongState`
        if the job has not failed, `ThreadBusy` while another one runs on its thread, and `BadSetup` for another payload
        of a graph, team or flow that has already started, because its payload is in its state, for effects that had not
        started, and if no children were lost.
        """
        edits = payload, changes, guard, not_done, add, lost_children
        await adrive(self.store, dead.redrive(self._bases, self.book, job_id, *edits))

    async def save(
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
        """Save a checkpoint on a thread, outside of any job.

        Give the whole `state`, or only what is new: `changes` (values by key) and `append` (what to append to a list, a
        dict or a text, by key), relative to the parent's state, which must be a dict. The latter costs what is new,
        however large the state is. Either way a thread stores only what is new in large values.

        The parent is the thread's newest checkpoint. `parent` says which one you expect: if another was saved since,
        you get `Conflict`, unless `branch` is true. With that, it may be on another thread, too (on a cluster only if
        both threads are in one partition, else you get `BadSetup`: `fork` makes a new thread anywhere). `context` is
        small metadata that lists show. `ttl` is in seconds, None to keep it. Raises `Unserializable` with the path of a
        value that can't be restored, and `ThreadBusy` while a job runs on the thread.
        """
        place = checkpoints.Place(thread, agent, parent, branch, ttl, self.book.state_version(agent))
        snapshot = checkpoints.snapshot(state, changes, append, step, context, framework)
        return await adrive(self.store, checkpoints.save_and_free(self._bases, self._freeing, place, snapshot))

    async def restore(
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
        return await adrive(self.store, travel.restore(self.book, checkpoint_id, thread, name, rest=partial))

    async def latest(self, *, thread: str) -> Checkpoint | None:
        """The thread's newest checkpoint with its state, or None."""
        found = await adrive(self.store, checkpoints.latest(self._bases, thread))
        return self.book.migrated(found) if found else None

    async def expire(self, checkpoint_id: str) -> None:
        """Delete one checkpoint now. Its neighbours stay. Refused if a running job would resume from it."""
        await adrive(self.store, checkpoints.expire(checkpoint_id))

    async def events(
        self,
        *,
        after: str = "",
        job: str | None = None,
        thread: str | None = None,
        agent: str | Agent[Any] | None = None,
        types: str | Sequence[str] = (),
        follow: bool = False,
    ) -> AsyncIterator[Event]:
        """Read events, in order within each thread, from the beginning or after a cursor ("now": after the newest).
        `follow` waits for more.

        You get each event exactly once, also if the store goes away and comes back while you follow. Filter with `job`,
        `thread`, `agent` and `types`. A type may end with `*` ("job.*"), and "batonpass." may be left out. Raises
        `Trimmed` if events after the cursor were deleted, and `Rewound` if the store lost its last events, including
        the cursor's.
        """
        reader = events.Reader(after, job or "", events.which(types, agent, thread), self.url, follow=follow)
        async with aclosing(tail(self.store, reader, job, follow=follow)) as pages:
            async for found in pages:
                for event in found:
                    yield event

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
    ) -> Consumer:
        """Share events among a group of consumers: `async with` or `async for`.

        Each event goes to one consumer, at least once. If a consumer dies or doesn't return within `lease` seconds, its
        events go to another one. The group remembers its position. A new group starts at the first event still stored,
        or with `start="now"` after the newest. All consumers of a group must use the same filters (`types`, `agent`,
        `thread`: see `events`). `batch` is how many events are fetched at a time, in order, and the most that can be
        repeated. Raises `Trimmed` if events were deleted before the group read them: continue with `move_group`.
        """
        which = events.which(types, agent, thread)
        work = groups.Work(groups.users(group), which, start=start, lease=lease, batch=batch, source=self.url)
        return Consumer(self.store, work)

    async def groups(self) -> list[GroupInfo]:
        """List the groups of consumers, and how far behind they are."""
        return await adrive(self.store, groups.listed())

    async def move_group(self, group: str, *, to: str) -> None:
        """Move a group: "begin" is the first event still stored, "now" is after the newest. Raises `NotFound` if there
        is no such group."""
        await adrive(self.store, groups.move(group, to))

    async def delete_group(self, group: str) -> None:
        """Delete a group and its position. Refused for a webhook's: see `delete_webhook`."""
        await adrive(self.store, groups.delete(group))

    async def webhook(
        self,
        name: str,
        url: str,
        *,
        types: str | Sequence[str] = (),
        secret: str | None = None,
        start: str = "now",
        plain_http: bool = False,
    ) -> str:
        """Send events to a URL, as CloudEvents in JSON, signed (Standard Webhooks). Returns the signing secret.

        `secret` is `whsec_` and base64. By default the webhook keeps its own, and a new one gets a new secret.
        `batonpass webhooks run` sends the events, each at least once and with a stable id. It retries for hours, then
        pauses the webhook at its position.

        Use an existing name to change a webhook without moving it. `start` is where a new one begins: "now" or "begin".
        `plain_http` allows http:// URLs.
        """
        return await adrive(self.store, webhooks.add(name, url, types, secret, start, plain_http=plain_http))

    async def webhooks(self) -> list[WebhookInfo]:
        """List the webhooks, with their state."""
        return await adrive(self.store, webhooks.infos())

    async def resume_webhook(self, name: str) -> None:
        """Resume a paused webhook at the event where it stopped, or have a failing one send it now."""
        await adrive(self.store, webhooks.resume(name))

    async def delete_webhook(self, name: str) -> None:
        """Delete a webhook and its position."""
        await adrive(self.store, webhooks.delete(name))

    async def trim_events(self, keep: int) -> int:
        """Delete all but the newest `keep` events now, and return how many. Workers do this on their own (`?events=` in
        the store's URL). On a cluster, each partition keeps its share, at least one: with 16 and `keep=10` up to 16."""
        return await adrive(self.store, events.trim(keep))

    async def declare(self, app: App) -> None:
        """Record an app's agents, so that clients without the app can submit to them."""
        await adrive(self.store, declaring(app))

    async def agents(self) -> list[AgentInfo]:
        """List the agents that were declared in the store, with the contracts that they accept, by name."""
        return await adrive(self.store, known())

    async def pause_agent(self, agent: str | Agent[Any], *, reason: str = "") -> bool:
        """Let no worker start a job of an agent until `resume_agent`: the model's provider is down, a deploy was bad.
        Once this has returned, no claim takes one, and the store remembers it, also for workers that start later.

        Jobs that run go on. All others wait, new ones and those that are handed off, retried or due, each with the
        pause in `info().paused`. Their expiry and deadlines still apply. Returns False if the agent was paused already
        (the first reason stays). Raises `UnknownAgent`.
        """
        return await adrive(self.store, pauses.pause(self.book, agent, reason))

    async def resume_agent(self, agent: str | Agent[Any]) -> bool:
        """Let workers start a paused agent's jobs again. Returns False if it was not paused. Raises `UnknownAgent`."""
        return await adrive(self.store, pauses.resume(self.book, agent))

    async def workers(self) -> list[WorkerInfo]:
        """List the live workers, with the agents that they serve and their versions.

        One that ended or was killed may still be listed, for up to 5 s.
        """
        return await to_thread.run_sync(workers_of, self.store)

    async def backup(self, path: str | PathLike[str], *, progress: Progress | None = None) -> None:
        """Copy the whole store, with all namespaces, to a new file, while others keep writing. The copy opens as a
        store.

        Works on SQLite. For other stores, `BadSetup` says how to back them up. An existing file is never overwritten.
        `progress` is called from another thread with the bytes copied and the bytes in all.
        """
        await to_thread.run_sync(back_up, self.store, path, progress)

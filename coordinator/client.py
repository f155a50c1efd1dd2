"""Coordinator: what clients and workers do everything through, in async code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from os import PathLike
from typing import Any, TypeVar, overload

from anyio import sleep, to_thread
from typing_extensions import Unpack

from ..contracts.agent import Agent, name_of
from ..contracts.app import App
from ..contracts.checkpoint import Checkpoint
from ..contracts.contract import Contract
from ..contracts.duration import Duration
from ..contracts.errors import Unavailable
from ..contracts.event import Event
from ..contracts.group import GroupInfo
from ..contracts.guard import Guard
from ..contracts.inbox import InboxItem
from ..contracts.job import JobInfo
from ..contracts.options import SubmitOptions
from ..contracts.webhook import WebhookInfo
from .backup import Progress, back_up
from .calls import adrive, checkpoints, dead, events, groups, inbox, jobs, travel, webhooks
from .calls.declaring import declaring
from .calls.inputs import contract_wanted
from .consumer import Consumer
from .job import Job
from .scheduling import Scheduling
from .store import Topic

P = TypeVar("P", bound=Contract)
R = TypeVar("R", bound=Contract)


class Coordinator(Scheduling):
    """Submits, watches, saves and restores. Made by `async with batonpass.connect(url)`."""

    @property
    def url(self) -> str:
        """The store's URL, without secrets."""
        return self.store.url

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
        """Give an agent a job. Returned means: it is kept, and will be done as soon as a worker runs the agent.

        `payload` is the contract that the agent accepts, or a mapping that validates as it. `returns` types the result.
        The options stand at `batonpass.SubmitOptions`: `key` for the same intent once, `thread`, `delay` or `at` for
        when, `priority`. Raises `UnknownAgent`, `ContractViolation`; nothing is written then.
        """
        wanted, name = contract_wanted(returns), name_of(agent)
        call = jobs.submit(self.book, name, payload, options)
        return Job(self.store, self.book, (await adrive(self.store, call)).id, wanted)

    @overload
    def job(self, job_id: str, *, returns: type[R]) -> Job[R]: ...

    @overload
    def job(self, job_id: str, *, returns: None = None) -> Job[Any]: ...

    def job(self, job_id: str, *, returns: type[Contract] | None = None) -> Job[Any]:
        """A handle for a job by its id. Asks nothing of the store yet."""
        return Job(self.store, self.book, jobs.checked(job_id), contract_wanted(returns))

    async def jobs(
        self,
        *,
        state: str | None = None,
        agent: str | Agent[Any] | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[JobInfo]:
        """Jobs, newest first; of one state or agent if given. `before` a job's id pages."""
        return await adrive(self.store, jobs.page(state, agent, limit, before))

    async def inbox(
        self,
        *,
        assignee: str | None = None,
        agent: str | Agent[Any] | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> list[InboxItem]:
        """What jobs ask of people, who has waited longest first; of one assignee or agent if given.

        `after` pages: the id of the last item of the page before. `answer` answers one.
        """
        return await adrive(self.store, inbox.page(assignee, agent, limit, after))

    async def answer(self, of: str, value: Any, *, question: str | None = None) -> None:
        """Answer what a job asks: see `Job.answer`. `of` is an inbox item's id, or a job's."""
        await adrive(self.store, inbox.answer(self.book, of, value, question))

    async def dead_letters(
        self,
        *,
        agent: str | Agent[Any] | None = None,
        reason: str | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[JobInfo]:
        """Jobs that failed, the last to fail first; of one agent or for one reason if given. `before` a job's id pages.

        `error` and `checkpoint_id` say what went wrong and from where they would go on. `redrive` tries one again,
        `delete_job` drops it.
        """
        return await adrive(self.store, dead.page(agent, reason, limit, before))

    async def redrive(
        self,
        job_id: str,
        *,
        payload: Contract | Mapping[str, Any] | None = None,
        changes: Mapping[str, Any] | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Try a failed job again: the same hop, from its last checkpoint, with attempts as new. Finished steps are
        not run again.

        `payload` replaces what the agent is given, `changes` values of its state by key, `guard` the limits of its
        chain: a handoff that was refused is made then, without running the hop again. `WrongState` if the job has not
        failed, `BadSetup` for another payload of a graph, a team or a flow that has begun: it is in its state.
        """
        await adrive(self.store, dead.redrive(self._bases, self.book, job_id, payload, changes, guard))

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
        """Commit a checkpoint of a thread outside of any job.

        Give the whole `state`, or what is new in it: `changes` (values by key) and `append` (what continues a list, a
        dict or a text, by key) of the parent's state, which must be a dict; that costs what is new, however large the
        state is. Either way a thread keeps only what is new of a large value.

        Its parent is the thread's newest checkpoint. `parent` says which that must be: if another was saved since,
        `Conflict` is raised, unless `branch`. `context` is small metadata that lists show. `ttl` is in seconds, None
        for ever. Raises `Unserializable` with the path of a value that could not be restored, `ThreadBusy` while a
        job runs on the thread.
        """
        place = checkpoints.Place(thread, agent, parent, branch, ttl, self.book.state_version(agent))
        snapshot = checkpoints.snapshot(state, changes, append, step, context, framework)
        return await adrive(self.store, checkpoints.save(self._bases, place, snapshot))

    async def restore(
        self,
        checkpoint_id: str | None = None,
        *,
        thread: str | None = None,
        name: str | None = None,
        partial: bool = False,
    ) -> Checkpoint:
        """One checkpoint with its state, verified: by its id, or by its name in a thread. `NotFound` or `Corrupted`
        otherwise.

        A state that an older version of its agent saved is migrated. `partial` gives the rest of a damaged one: what
        could not be verified is left out, and named in `.damaged`.
        """
        return await adrive(self.store, travel.restore(self.book, checkpoint_id, thread, name, rest=partial))

    async def latest(self, *, thread: str) -> Checkpoint | None:
        """The thread's newest checkpoint with its state, or None."""
        found = await adrive(self.store, checkpoints.latest(self._bases, thread))
        return self.book.migrated(found) if found else None

    async def hand_off(
        self,
        checkpoint_id: str,
        *,
        to: str | Agent[P],
        payload: P | Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Job[Any]:
        """A new job for an agent that goes on from a checkpoint: its first checkpoint will have this one as parent.

        Without `payload` the agent gets the checkpoint's state, which must validate as the contract it accepts
        (`batonpass.State` accepts any).
        """
        name = name_of(to)
        row = await adrive(self.store, checkpoints.hand_off(self.book, checkpoint_id, name, payload, key))
        return Job(self.store, self.book, row.id, None)

    async def expire(self, checkpoint_id: str) -> None:
        """Delete one checkpoint now. Its neighbours stay; one that a running job resumes from is refused."""
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
        """Events in order within each thread, from the beginning or after a cursor; `follow` waits for more.

        None is left out and none comes twice, also where the store goes away and comes back while they are followed.
        `job`, `thread`, `agent` and `types` say which are wanted; a type ends with `*` for all that begin so
        ("job.*"), and "batonpass." may be left out. `Trimmed` is raised where events after the cursor are not kept any
        more, and `Rewound` where the store has lost its last events, the cursor's among them.
        """
        reader = events.Reader(after, job or "", events.which(types, agent, thread), self.url, follow=follow)
        watch = self.store.watch(Topic(subject=job or ""))
        try:
            if follow:
                await watch.aopen()
            while True:
                try:
                    found = await adrive(self.store, reader.page())
                except Unavailable as error:
                    if not follow:
                        raise
                    await sleep(reader.patience.pause(error))
                    continue
                for event in found:
                    yield event
                if reader.ended and not follow:
                    return
                if reader.ended:
                    await watch.await_(1.0)
                if follow and not reader.behind:
                    await sleep(reader.patience.rest())
        finally:
            await watch.aclose()

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
        """Events for a group of consumers, who share them: each goes to one of them, at least once, and again if that
        one dies or does not come back within `lease` seconds. Use it by `async with`, or simply `async for`.

        The group remembers where it is; a new one begins at the first event that is kept, or with `start="now"` behind
        the newest. All its consumers must want the same (`types`, `agent`, `thread`: see `events`). `batch` is how many
        are fetched at a time, and the most that come twice; they are in order within one batch. `Trimmed` is raised if
        some are gone before the group got to them: `move_group` goes on.
        """
        which = events.which(types, agent, thread)
        work = groups.Work(groups.users(group), which, start=start, lease=lease, batch=batch, source=self.url)
        return Consumer(self.store, work)

    async def groups(self) -> list[GroupInfo]:
        """Groups of consumers, and how far behind they are."""
        return await adrive(self.store, groups.listed())

    async def move_group(self, group: str, *, to: str) -> None:
        """Have a group begin anew: "begin" is the first event that is kept, "now" is behind the newest. `NotFound` if
        there is none of that name."""
        await adrive(self.store, groups.move(group, to))

    async def delete_group(self, group: str) -> None:
        """Forget a group and where it is."""
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
        """Have events sent to an address, signed (Standard Webhooks), as CloudEvents in JSON. Answers the secret that
        signs them: the given one (`whsec_` and base64), else the one that it has, else a new one. `batonpass webhooks
        run` sends them, each at least once and with the same id, and tries again for hours before it pauses the
        webhook, where it stays.

        The same name again changes the webhook and leaves it where it is; a new one begins `start`, "now" or "begin".
        `plain_http` allows http:// addresses.
        """
        return await adrive(self.store, webhooks.add(name, url, types, secret, start, plain_http=plain_http))

    async def webhooks(self) -> list[WebhookInfo]:
        """All webhooks, and what became of them."""
        return await adrive(self.store, webhooks.infos())

    async def resume_webhook(self, name: str) -> None:
        """Have a paused webhook go on with the event that it stopped at."""
        await adrive(self.store, webhooks.resume(name))

    async def delete_webhook(self, name: str) -> None:
        """Forget a webhook and where it is."""
        await adrive(self.store, webhooks.delete(name))

    async def trim_events(self, keep: int) -> int:
        """Delete the oldest events but `keep` now, as every worker does by itself (`?events=` in the store's URL).
        How many those were."""
        return await adrive(self.store, events.trim(keep))

    async def declare(self, app: App) -> None:
        """Record an app's agents, so that clients which do not have the app may submit to them."""
        await adrive(self.store, declaring(app))

    async def backup(self, path: str | PathLike[str], *, progress: Progress | None = None) -> None:
        """Copy the whole store, with all namespaces, to a new file while others go on writing; it opens as a store.

        On SQLite. `BadSetup` says how another store is backed up, or that the file exists: nothing is overwritten.
        `progress` is told bytes copied and bytes in all, from another thread.
        """
        await to_thread.run_sync(back_up, self.store, path, progress)

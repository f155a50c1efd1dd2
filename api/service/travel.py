"""Travel: what programs can ask about a thread's history: a checkpoint's state, a diff, a fork, going back."""

from __future__ import annotations

from typing import Any, cast

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from batonpass.cli.jobs import checkpoint_described
from batonpass.cli.retention import ALL
from batonpass.contracts.diff import Diff
from batonpass.contracts.errors import NotFound
from batonpass.contracts.options import JobOptions
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.paths import check_names

from .answers import DeletedThread, Made, Named, RolledBack, ShownCheckpoint
from .bodies import Body, JobForm, Query
from .operation import Operation
from .refusing import answer
from .tracing import trace_of

_OF_A_FORK = ("agent", "payload", "thread", "changes", "add", "append", "state")


class Restore(Query):
    """How a checkpoint is read."""

    partial: bool = False
    """If it is damaged, leave out the values that can't be verified, and name them in `damaged`."""


class Compared(Query):
    """Which two states are compared."""

    old: str
    """A checkpoint."""
    new: str
    """Another one, of any thread."""


class Fork(JobForm):
    """How to continue from a checkpoint. Without `agent`, `key` is the only option that there is."""

    changes: dict[str, Any] | None = None
    """Values of its state, by key, or by their place in one: `messages[0].content`. What is not there is refused."""
    add: dict[str, Any] | None = None
    """Values under new keys of its state."""
    append: dict[str, Any] | None = None
    """What to append to lists, dicts and texts of its state, by key."""
    state: Any = None
    """A whole state, instead of changes."""
    agent: str | None = None
    """Continue as a new job at this agent. Without one, a new checkpoint is made."""
    payload: dict[str, Any] | None = None
    """The new job's payload."""
    thread: str | None = None
    """Continue on this new thread, without a job. Without it, the new checkpoint is a branch of the same thread."""


class Naming(Body):
    """A checkpoint's name."""

    name: str
    """Unique in its thread. "" removes the name."""


class Rollback(Body):
    """To what a thread goes back."""

    thread: str
    to: str
    """A checkpoint, or its name in the thread."""


class OneThread(Query):
    """Which thread is meant."""

    thread: str
    """Its name: by default its job's id."""


def travel_operations(coordinator: Coordinator) -> list[Operation]:
    """What can be asked about history, besides timelines."""
    ends = _Travel(coordinator)
    return [
        Operation("GET", "/checkpoints/{id}", ends.restore, Restore, ShownCheckpoint),
        Operation("POST", "/checkpoints/{id}/fork", ends.fork, Fork, Made),
        Operation("POST", "/checkpoints/{id}/name", ends.name, Naming, Named),
        Operation("GET", "/diff", ends.diff, Compared, Diff),
        Operation("POST", "/rollback", ends.rollback, Rollback, RolledBack),
        Operation("DELETE", "/timeline", ends.delete_thread, OneThread, DeletedThread),
    ]


class _Travel:
    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def restore(self, request: Request, wanted: Restore) -> Response:
        """Show a checkpoint with its state. Values that JSON lacks become text."""
        found = await self._coordinator.restore(request.path_params["id"], partial=wanted.partial)
        return answer(checkpoint_described(found))

    async def diff(self, _: Request, wanted: Compared) -> Response:
        """Compare the states of two checkpoints."""
        found = await self._coordinator.diff(wanted.old, wanted.new)
        return await to_thread.run_sync(answer, found)  # there may be very much to say

    async def fork(self, request: Request, given: Fork) -> Response:
        """Continue from a checkpoint in another way: as a branch, a new thread, or a new job."""
        options = cast("JobOptions", given.given(*_OF_A_FORK))
        if given.agent is not None and (trace := trace_of(request)):
            options.setdefault("trace", trace)
        about = {name: getattr(given, name) for name in _OF_A_FORK if name != "add"}
        if given.changes or given.add:
            changes, added = given.changes or {}, given.add or {}
            check_names((await self._coordinator.restore(request.path_params["id"])).state, changes, added)
            about["changes"] = {**changes, **added}
        fork: Any = self._coordinator.fork  # only the request tells which of its overloads is meant
        made = await fork(request.path_params["id"], **about, **options)
        return answer(vars(Made(made.id)))

    async def name(self, request: Request, given: Naming) -> Response:
        """Name a checkpoint. A named one is kept, whatever its ttl."""
        of = request.path_params["id"]
        await (self._coordinator.name(of, given.name) if given.name else self._coordinator.unname(of))
        return answer(vars(Named(of, given.name or None)))

    async def rollback(self, _: Request, given: Rollback) -> Response:
        """Go back to an earlier state of a thread. Nothing is deleted: later checkpoints stay as a branch."""
        made = await self._coordinator.rollback(given.thread, to=given.to)
        return answer(vars(RolledBack(made.id, made.parent_id or "")))

    async def delete_thread(self, _: Request, wanted: OneThread) -> Response:
        """Delete a thread with its checkpoints, names and ended jobs."""
        jobs = len(await self._coordinator.jobs(thread=wanted.thread, limit=ALL))
        deleted = await self._coordinator.delete(wanted.thread)
        if not jobs and not deleted:
            raise NotFound(f"there is no thread {wanted.thread!r} here")
        return answer(vars(DeletedThread(wanted.thread, deleted, jobs)))

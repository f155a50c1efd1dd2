"""Commands that go through a thread's history: restore, diff, fork, rollback, name, copy."""

from __future__ import annotations

from typing import Annotated

import typer

from batonpass.contracts.diff import Diff
from batonpass.contracts.errors import BadSetup
from batonpass.coordinator.paths import edited
from batonpass.coordinator.sync_client import SyncCoordinator

from .job_options import At, Deadline, Delay, Expires, KeyTtl, Rank, Trace, job_options
from .jobs import checkpoint_described, mapping
from .options import (
    DEFAULT_NAMESPACE,
    DEFAULT_STORE,
    Additions,
    Changes,
    CheckedBy,
    GuardText,
    Json,
    Namespace,
    Store,
    assignments,
    opened,
)
from .printing import print_json, say

CheckpointId = Annotated[str, typer.Argument(metavar="CHECKPOINT", help="A checkpoint's id: `timeline` lists them")]
ThreadName = Annotated[str, typer.Argument(metavar="THREAD", help="A thread's name: by default its job's id")]
_COLOURS = {"-": "red", "+": "green", "~": "yellow"}


def restore(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT|NAME", help="Its id, or with --thread its name")],
    thread: Annotated[str | None, typer.Option(help="The thread in which to look up the name")] = None,
    partial: Annotated[bool, typer.Option("--partial", help="If it is damaged, print the rest")] = False,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Print a checkpoint's state as JSON. Values that JSON lacks become text. With --json, the whole checkpoint."""
    with opened(store, namespace) as coordinator:
        if thread is None:
            found = coordinator.restore(checkpoint, partial=partial)
        else:
            found = coordinator.restore(thread=thread, name=checkpoint, partial=partial)
    if found.damaged:
        say(f"batonpass: left out, because damaged: {', '.join(found.damaged)}", err=True)
    print_json(checkpoint_described(found) if as_json else found.state)


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A checkpoint's id")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another checkpoint's id, of any thread")],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Compare two states: - was removed, + was added, ~ was changed."""
    with opened(store, namespace) as coordinator:
        found: Diff = coordinator.diff(old, new)
    if as_json:
        print_json(found)
        return
    for line in found.lines():
        say(line, fg=_COLOURS[line[0]])


def fork(
    checkpoint: CheckpointId,
    changes: Changes = None,
    additions: Additions = None,
    agent: Annotated[str | None, typer.Option(help="Continue as a new job at this agent")] = None,
    payload: Annotated[
        str | None, typer.Option(help="The new job's payload, besides the conversation: JSON, @FILE or -")
    ] = None,
    thread: Annotated[
        str | None, typer.Option(help="Continue on this new thread (default: a branch of the same thread)")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: a known key returns the first fork")] = None,
    key_ttl: KeyTtl = None,
    delay: Delay = None,
    at: At = None,
    priority: Rank = None,
    expires: Expires = None,
    deadline: Deadline = None,
    guard: GuardText = None,
    trace: Trace = None,
    app: CheckedBy = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Continue from a checkpoint in another way: as a branch, a new thread, or a new job. Prints the new id."""
    given = None if payload is None else mapping(payload)
    options = job_options(
        key=key,
        key_ttl=key_ttl,
        delay=delay,
        at=at,
        priority=priority,
        expires=expires,
        deadline=deadline,
        guard=guard,
        trace=trace,
    )
    of_job = options.keys() - {"key"}
    of_job |= {name for name, value in (("payload", given), ("app", app)) if value is not None}
    if agent is None and of_job:
        raise BadSetup(f"--{min(of_job).replace('_', '-')} needs --agent")
    if agent is not None and thread is not None:
        raise BadSetup("--agent makes a job, which has its own thread: leave out --thread")
    with opened(store, namespace, app) as coordinator:
        state = None
        if changes or additions:
            state = edited(coordinator.restore(checkpoint).state, assignments(changes), assignments(additions))
        if agent is None:
            made = coordinator.fork(checkpoint, state=state, thread=thread, key=key).id
        else:
            made = coordinator.fork(checkpoint, state=state, agent=agent, payload=given, **options).id
            _tell_lost(coordinator, made, agent)
    print_json({"id": made}) if as_json else say(made)


def _tell_lost(coordinator: SyncCoordinator, job_id: str, agent: str) -> None:
    first = next(coordinator.events(job=job_id), None)
    if first is not None and (lost := first.data.get("lost")):
        say(f"batonpass: agent {agent} can't represent all of it, left out (by count): {lost}", err=True)


def rollback(
    thread: ThreadName,
    to: Annotated[
        str,
        typer.Argument(metavar="CHECKPOINT|NAME", help="The checkpoint to go back to: an id, or a name in the thread"),
    ],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Go back to an earlier state of a thread. Nothing is deleted: later checkpoints stay as a branch."""
    with opened(store, namespace) as coordinator:
        made = coordinator.rollback(thread, to=to)
    print_json({"id": made.id, "to": made.parent_id}) if as_json else say(made.id)


def name(
    checkpoint: CheckpointId,
    name: Annotated[str, typer.Argument(metavar="NAME", help='Unique in its thread; "" removes it')],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Name a checkpoint. A named checkpoint is kept, whatever its ttl, and `prune` leaves it."""
    with opened(store, namespace) as coordinator:
        coordinator.name(checkpoint, name) if name else coordinator.unname(checkpoint)
    print_json({"id": checkpoint, "name": name or None}) if as_json else say(f"{checkpoint} {name}".strip())


def copy(
    thread: ThreadName,
    to: Annotated[str, typer.Argument(metavar="NEW", help="The new thread's name")],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Copy a thread's history to a new thread."""
    with opened(store, namespace) as coordinator:
        count = coordinator.copy(thread, to=to)
    text = f"copied {count} checkpoint(s) of {thread} to {to}"
    print_json({"thread": to, "copied": count}) if as_json else say(text)

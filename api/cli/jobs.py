"""Commands about jobs: submit, jobs, show, cancel, run-now."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from batonpass.contracts import jsonable
from batonpass.contracts.checkpoint import Checkpoint
from batonpass.contracts.contract import State
from batonpass.contracts.errors import (
    BadSetup,
    BatonpassError,
    ContractViolation,
    Corrupted,
    JobError,
    NotFound,
    ResultTimeout,
    Unavailable,
    WrongState,
)
from batonpass.contracts.job import JobInfo, JobState, OnBusy
from batonpass.contracts.names import is_id
from batonpass.contracts.visible import visible_json
from batonpass.coordinator.calls import drive
from batonpass.coordinator.calls.jobs import unserved
from batonpass.coordinator.calls.pauses import told_of
from batonpass.coordinator.job import SyncJob
from batonpass.coordinator.sync_client import SyncCoordinator

from .agents import tell_undeclared
from .job_options import At, Deadline, Delay, Expires, Key, KeyTtl, Rank, Trace, job_options
from .options import (
    DEFAULT_NAMESPACE,
    DEFAULT_STORE,
    AgentName,
    CheckedBy,
    GuardText,
    Json,
    Namespace,
    PayloadText,
    Since,
    Store,
    Until,
    duration,
    opened,
    past,
    read_json,
)
from .printing import cell, print_json, print_table, say, tell_more, tell_unreadable
from .several import done_to, tell

_NARROWING = "--agent, --state, --since and --until"
_PATIENCE = 3.0  # seconds of --wait after which it says what it waits for


def submit(
    agent: AgentName,
    payload: PayloadText,
    key: Key = None,
    key_ttl: KeyTtl = None,
    thread: Annotated[str | None, typer.Option(help="Run on this thread instead of a new one")] = None,
    delay: Delay = None,
    at: At = None,
    priority: Rank = None,
    expires: Expires = None,
    deadline: Deadline = None,
    guard: GuardText = None,
    trace: Trace = None,
    on_busy: Annotated[
        OnBusy, typer.Option(help="If another job runs on --thread: be refused, wait for it, or cancel it")
    ] = "reject",
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the result and print it")] = False,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --wait: at most this long (default: no limit)")
    ] = None,
    app: CheckedBy = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Submit a job to an agent."""
    if timeout is not None and not wait:
        raise BadSetup("--timeout needs --wait")
    values = mapping(payload)
    patience = None if timeout is None else duration(timeout, "--timeout")
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
    with opened(store, namespace, app) as coordinator:
        job = coordinator.submit(agent, values, thread=thread, on_busy=on_busy, **options)
        if not wait:
            if as_json:
                print_json({"id": job.id})
                return
            say(job.id)
            _tell_unserved(coordinator, job.id)
            return
        say(f"job {job.id}", err=True)
        try:
            result = _awaited(job, patience)
        except JobError:
            if as_json:
                print_json(_job(coordinator, job.id))
            raise
        print_json(values_of(result))


def _tell_unserved(coordinator: SyncCoordinator, job: str) -> None:
    """Say if no worker is there for a job. (It is no error: one may come.)"""
    with suppress(BatonpassError):  # the job is submitted, whatever happens now
        if drive(coordinator.store, unserved(job)):
            say(f"batonpass: job {job} waits: no live worker accepts it yet", err=True)
        info = coordinator.job(job).info()
        if info.paused:
            say(f"batonpass: job {job} waits: {told_of(info.agent, info.paused)}", err=True)


def _awaited(job: SyncJob[Any], timeout: float | None) -> Any:
    """The job's result. If it is not there soon, one line says what it waits for: a worker that nobody started, say."""
    if timeout is not None and timeout <= _PATIENCE:
        return job.result(timeout=timeout)
    try:
        return job.result(timeout=_PATIENCE)
    except (ResultTimeout, Unavailable) as late:
        say(f"waiting: {late}", err=True)
    return job.result(timeout=None if timeout is None else timeout - _PATIENCE)


def jobs(
    state: Annotated[JobState | None, typer.Option(help="Only jobs in this state")] = None,
    agent: Annotated[str | None, typer.Option(help="Only jobs at this agent")] = None,
    parent: Annotated[str | None, typer.Option(metavar="JOB", help="Only the children of this job")] = None,
    no_children: Annotated[bool, typer.Option("--no-children", help="Only jobs that are nobody's children")] = False,
    thread: Annotated[str | None, typer.Option(help="Only the jobs on this thread")] = None,
    key: Annotated[
        str | None, typer.Option(help="Only the job that was submitted to --agent with this idempotency key")
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(help="At most this many", min=1)] = 50,
    before: Annotated[str | None, typer.Option(metavar="JOB", help="Only jobs older than this one")] = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """List jobs, newest first."""
    if parent is not None and no_children:
        raise BadSetup(f"--parent {parent} lists that job's children: leave out --no-children")
    with opened(store, namespace) as coordinator:
        found = coordinator.jobs(
            state=state,
            agent=agent,
            parent=parent,
            children=not no_children,
            thread=thread,
            key=key,
            since=past(since, "--since"),
            until=past(until, "--until"),
            limit=limit if as_json else limit + 1,
            before=before,
        )
        tell_undeclared(coordinator, agent, found)
    if as_json:
        print_json([described(info) for info in found])
        return
    rows = [
        (info.id, _state(info), info.agent, info.hop, info.attempt, info.created_at, trouble(info))
        for info in found[:limit]
    ]
    print_table(("JOB", "STATE", "AGENT", "HOP", "TRY", "CREATED", "ERROR"), rows)
    tell_unreadable("job", unreadable(found[:limit]))
    tell_more(found, limit, "--before")


def trouble(info: JobInfo) -> str | None:
    """What a list says is wrong with a job: of one that completed, nothing is."""
    return info.error or (None if info.state == JobState.COMPLETED else died(info.crashes))


def died(crashes: int) -> str | None:
    """What to say about a job that its workers died of. They could not say it themselves."""
    return f"{crashes} worker(s) died or went silent while they ran it" if crashes else None


def show(
    what: Annotated[str, typer.Argument(metavar="JOB|CHECKPOINT", help="A job's id, or a checkpoint's id")],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Show a job: its state, worker, question, payload and result. Or a checkpoint with its state."""
    with opened(store, namespace) as coordinator:
        if is_id(what, "c"):
            about = checkpoint_described(coordinator.restore(what))
        elif is_id(what, "j"):
            about = _job(coordinator, what)
        else:
            raise NotFound(f"{what!r} is neither a job nor a checkpoint: list jobs with `batonpass jobs`")
    if as_json:
        print_json(about)
        return
    for name, value in about.items():
        if value not in (None, "", ()):
            for line in f"{name:<14} {_text(name, value)}".split("\n"):
                say(line)


def _text(name: str, value: Any) -> str:
    """What `show` says of a value: in one line, or as JSON."""
    if name in ("guard", "spent"):
        return _limits(asdict(value))
    if name == "path":
        return cell(" > ".join(value))
    if name == "lease":
        return f"worker {cell(value.worker)}, token {value.token}, until {cell(value.expires_at)}"
    if name == "paused":
        return f"its agent, since {cell(value.since)}{value.reason and ': '}{cell(value.reason)}"
    if isinstance(value, dict | list) or is_dataclass(value):
        return visible_json(jsonable.as_json(value, indent=2).decode())
    return cell(", ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value)


def _limits(numbers: dict[str, Any]) -> str:
    return ", ".join(f"{name} {number:g}" for name, number in numbers.items() if number is not None)


def cancel(
    jobs: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Ids of jobs")] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help=f"All that have not ended, or those that match {_NARROWING}"),
    ] = False,
    agent: Annotated[str | None, typer.Option(help="Only jobs at this agent")] = None,
    state: Annotated[JobState | None, typer.Option(help="Only jobs in this state")] = None,
    since: Since = None,
    until: Until = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Cancel jobs now, even if workers are running them."""
    if bool(jobs) == everything or (jobs and any((agent, state, since, until))):
        raise BadSetup(f"cancel takes the ids of jobs, or --all, which {_NARROWING} narrow down")
    if state is not None and state.ended:
        raise BadSetup(f"--state {state}: those jobs have ended, so there is nothing to cancel")
    mistyped = False
    if everything:
        with opened(store, namespace) as coordinator:
            found = _unended(coordinator, agent, state, since, until)
            mistyped = tell_undeclared(coordinator, agent, found)
            canceled, stopped = _cancel_those_there(coordinator, found)
    else:
        canceled, stopped = _each(jobs or [], store, namespace, lambda job: job.cancel())
    lines = [f"canceled {job}" if now else f"{job} had already ended" for job, now in canceled.items()]
    about = {"canceled": [job for job in canceled if canceled[job]]}
    tell(about, lines or ["there are no such jobs"], stopped, as_json=as_json)
    if mistyped:
        raise typer.Exit(1)


def _cancel_those_there(
    coordinator: SyncCoordinator, jobs: Sequence[str]
) -> tuple[dict[str, bool], BatonpassError | None]:
    """Cancel listed jobs. One that ends or is deleted meanwhile needs it no more, and the others still do."""
    canceled: dict[str, bool] = {}

    def cancel_one(job: str) -> None:
        with suppress(NotFound, WrongState):
            canceled[job] = coordinator.job(job).cancel()

    _, stopped = done_to(jobs, cancel_one)
    return canceled, stopped


def _unended(
    coordinator: SyncCoordinator, agent: str | None, state: JobState | None, since: str | None, until: str | None
) -> list[str]:
    """The jobs that match the options of a command, and have not ended."""
    first, end = past(since, "--since"), past(until, "--until")
    # Working ones twice: a job may be started between the two looks.
    states = (state,) if state else (JobState.WORKING, JobState.INPUT_REQUIRED, JobState.SUBMITTED, JobState.WORKING)
    found = [coordinator.jobs(state=each, agent=agent, since=first, until=end, limit=2**31) for each in states]
    return list(dict.fromkeys(info.id for page in found for info in page))


def run_now(
    jobs: Annotated[list[str], typer.Argument(metavar="JOB", help="Ids of jobs")],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Run jobs now that wait for their next attempt, or for their scheduled time."""
    hastened, stopped = _each(jobs, store, namespace, lambda job: job.run_now())
    lines = (f"{job} is ready{'' if now else ' or running already'}" for job, now in hastened.items())
    tell({"run_now": [job for job in hastened if hastened[job]]}, lines, stopped, as_json=as_json)


def _each(
    jobs: list[str], store: str, namespace: str | None, act: Callable[[SyncJob[Any]], bool]
) -> tuple[dict[str, bool], BatonpassError | None]:
    """Act on jobs, and say whether that did anything, and what stopped it. If one is not there, none is touched."""
    with opened(store, namespace) as coordinator:
        handles = {job: coordinator.job(job) for job in jobs}
        for handle in handles.values():
            handle.info()
        return done_to(handles, lambda job: act(handles[job]))


def _job(coordinator: SyncCoordinator, job_id: str) -> dict[str, Any]:
    handle = coordinator.job(job_id)
    info = handle.info()
    payload = None
    if "envelope" not in info.unreadable:
        try:
            payload = handle.payload()
        except Corrupted:
            info = without_payload(info)
    result = handle.result(timeout=0) if info.state == JobState.COMPLETED else None
    return with_values(info, payload, result, None if info.state.ended else handle.waits_for())


def described(info: JobInfo) -> dict[str, Any]:
    """A job as `as_dict` and --json have it."""
    return {**vars(info), "state": str(info.state), "contract": str(info.contract)}


def checkpoint_described(found: Checkpoint) -> dict[str, Any]:
    """A checkpoint as JSON shows it: without what only its framework reads."""
    return {each.name: getattr(found, each.name) for each in fields(found) if each.name != "native"}


def with_values(info: JobInfo, payload: Any, result: Any, waits_for: str | None) -> dict[str, Any]:
    """The same with what it waits for, its payload and its result, None if that is not known."""
    told = {"waits_for": waits_for, "payload": values_of(payload), "result": values_of(result)}
    return described(info) | told


def without_payload(info: JobInfo) -> JobInfo:
    """A job whose payload can't be read, although its envelope can. Everything else can be shown."""
    return replace(info, unreadable=(*info.unreadable, "payload"))


def values_of(contract: Any) -> dict[str, Any] | None:
    """What a payload or result holds, to be shown as JSON."""
    if contract is None:
        return None
    if isinstance(contract, State):  # objects in it are shown as in states and streams, which pydantic does not know
        return contract.as_dict()
    try:
        shown: dict[str, Any] = contract.model_dump(mode="json") if hasattr(contract, "model_dump") else dict(contract)
    except ValueError:  # of a computed field, say
        shown = dict(iter(contract))
    return shown


def unreadable(found: Sequence[JobInfo]) -> list[str]:
    """The jobs that could not be read completely."""
    return [info.id for info in found if info.unreadable]


def _state(info: JobInfo) -> str:
    if info.children and info.reason == "waiting_children":
        ended = info.children.done + info.children.failed
        return f"{info.state} ({ended} of {info.children.total} children ended)"
    about = [info.reason] if info.reason else []
    about += ["agent paused"] if info.paused else []
    return f"{info.state} ({', '.join(about)})" if about else str(info.state)


def mapping(payload: str) -> dict[str, Any]:
    """A payload as given on the command line."""
    try:
        text = payload
        if payload == "-":
            text = sys.stdin.read()
        elif payload.startswith("@"):
            text = Path(payload[1:]).read_text(encoding="utf-8")
        values = read_json(text)
    except OSError as error:
        raise ContractViolation(f"the payload can't be read: {error}") from None
    except ValueError as error:
        raise ContractViolation(f'the payload is not JSON: {error}; write e.g. \'{{"text": "..."}}\'') from None
    if not isinstance(values, dict):
        raise ContractViolation(f"the payload is a {type(values).__name__}, but it must be a JSON object")
    return cast("dict[str, Any]", values)

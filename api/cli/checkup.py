"""What `batonpass doctor` looks at in an open namespace: agents and who serves them, jobs, schedules, webhooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from shlex import quote

from batonpass.contracts.errors import BatonpassError, Unavailable
from batonpass.contracts.job import JobState
from batonpass.contracts.pause import Pause
from batonpass.contracts.worker import WorkerInfo
from batonpass.coordinator.book import Declaration, readable
from batonpass.coordinator.calls import drive
from batonpass.coordinator.calls.pauses import pauses
from batonpass.coordinator.calls.schedules import overdue
from batonpass.coordinator.calls.waits import LIMITED, remedy
from batonpass.coordinator.checkup import Examines, Finding, Load, Queued
from batonpass.coordinator.coded.codec import check_open
from batonpass.coordinator.commands import Declared, ListJobs, Threads, Timeline
from batonpass.coordinator.live_workers import Taker, live_workers, queues_of, serving, takers, waited_for
from batonpass.coordinator.operations.jobs import POISON
from batonpass.coordinator.rows import JobRow
from batonpass.coordinator.store import Store
from batonpass.coordinator.sync_client import SyncCoordinator

from .jobs import died
from .printing import cell

# Where this many of the newest jobs wait is looked at. Declared agents are looked at in any case.
_NEWEST = 500
# How many threads are looked at.
_THREADS = 20
# How much newer than now a job may be, in ms: the nodes of a cluster have clocks of their own.
_AHEAD = 5000
# Why jobs wait that may start sooner than a time is over: for others of their limit, or of their thread.
_HELD = (*LIMITED, "thread_busy")
_BUSY = ": if that goes on, its workers are busy, or held up by code that blocks them (see their logs)"


def look_around(store: Examines, coordinator: SyncCoordinator) -> Iterator[Finding]:
    """All findings of a namespace. What this user or these keys may not read is a finding, too."""
    for about, look in (
        ("agents", lambda: _agents_and_jobs(store, coordinator)),
        ("schedules", lambda: _schedules(coordinator, store.count(()).now)),
        ("webhooks", lambda: _webhooks(coordinator)),
    ):
        yield from _said(about, look)


def _said(about: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from look()
    except BatonpassError as error:
        # What is unavailable to us is also unavailable to workers. But they may read what we may not.
        yield Finding("fail" if isinstance(error, Unavailable) else "warn", about, f"can't be looked at: {error}")


def _agents_and_jobs(store: Examines, coordinator: SyncCoordinator) -> Iterator[Finding]:
    recorded = coordinator.store.call(Declared())
    declared = readable(recorded)
    for name in sorted(recorded.keys() - declared):
        what = "its record can't be read: it is damaged, or from a newer release: start a worker that has the agent"
        yield Finding("warn", f"agent {name}", what)
    rows: list[JobRow] = coordinator.store.call(ListJobs(_NEWEST, ""))
    queues = queues_of(dict.fromkeys([*takers(declared), *waited_for(rows)]))
    load = store.count([queue for names in queues.values() for queue in names])
    paused = drive(coordinator.store, pauses())
    yield from _paused(paused, queues, load)
    for taker, names in queues.items():
        workers = frozenset(worker.id for worker in serving(load, names))
        silent = next((row for row in rows if row.agent == taker[0] and row.lease_until > load.now), None)
        about = _agent(taker, declared.get(taker[0]), _queued(load, names), workers, silent)
        yield from (each for each in about if taker[0] not in paused or not each.text.endswith(_BUSY))
    if not declared:
        yield Finding("ok", "agents", "none are declared: starting a worker declares them (threads alone need none)")
    yield from _versions(live_workers(load, queues))
    yield from _crashes(rows)
    yield from _keys(rows)
    yield from _keys_of_threads(coordinator.store)
    yield from _jobs(load)
    yield from _held_back(rows)
    yield from _time(rows, load.now)


def _paused(paused: Mapping[str, Pause], queues: Mapping[Taker, Sequence[str]], load: Load) -> Iterator[Finding]:
    """Agents whose jobs wait because somebody wanted that, and may have forgotten it."""
    for name, pause in paused.items():
        own = [queue for (agent, _), names in queues.items() if agent == name for queue in names]
        text = f"paused since {cell(pause.since)}{pause.reason and f' ({pause.reason})'}"
        waits = f"{_queued(load, own).waiting} job(s) are ready and wait" if own else "its jobs wait"
        yield Finding("warn", f"agent {name}", f"{text}; {waits}. `batonpass resume {name}` lets it go on")


def _versions(workers: Sequence[WorkerInfo]) -> Iterator[Finding]:
    """Findings about the versions of live workers. Two versions of one thing are a deploy that is not over."""
    running: dict[str, dict[str, list[str]]] = {}
    for worker in workers:
        running.setdefault("Batonpass", {}).setdefault(worker.batonpass, []).append(worker.id)
        running.setdefault(f"app {worker.app}", {}).setdefault(worker.version, []).append(worker.id)
    for what, versions in running.items():
        if len(versions) > 1:
            told = "; ".join(f"{name or 'no version'}: {', '.join(ids)}" for name, ids in sorted(versions.items()))
            text = f"live workers run several versions of {what} ({told})"
            yield Finding("warn", "workers", f"{text}: unless a deploy is in progress, stop the older ones")
    if workers:
        told = ", ".join(f"{what} {name}" for what, versions in running.items() for name in sorted(versions) if name)
        yield Finding("ok", "workers", f"{len(workers)} live: {told}")


def _queued(load: Load, names: Sequence[str]) -> Queued:
    """Some queues as one."""
    queues = [load.queues.get(name, Queued()) for name in names]
    return Queued(sum(each.waiting for each in queues), max(each.oldest for each in queues))


def _agent(
    taker: Taker, declaration: Declaration | None, queued: Queued, workers: frozenset[str], held: JobRow | None
) -> Iterator[Finding]:
    """Findings about an agent and one contract. `held` is a job of the agent whose lease is valid."""
    name, contract = taker
    waiting = queued.waiting
    about, today = f"agent {name}", declaration.accepts if declaration else None
    ready = f"{waiting} job(s) are ready, the first for {queued.oldest // 1000} s" if waiting else "no job is ready"
    if waiting and not workers and held:
        text = f"{waiting} job(s) wait, and no worker reports that it serves the agent, but {held.worker} holds"
        yield Finding("warn", about, f"{text} job {held.id}: it is held up (see its log), or has ended; then start one")
    elif waiting and not workers and contract == today:
        yield Finding("warn", about, f"{waiting} job(s) wait, and no live worker serves it: start one")
    elif waiting and not workers:
        text = f"{waiting} job(s) wait with {contract}, and no live worker accepts them"
        yield Finding("warn", about, f"{text}; {remedy(contract, today)}")
    elif contract == today and declaration:
        serving = (
            f"{len(workers)} worker(s): {', '.join(sorted(workers))}" if workers else "no live worker, no job waits"
        )
        yield Finding("ok", about, f"{contract}, app {declaration.app}, {declaration.kind}; {serving}")
        if waiting:
            yield Finding("ok", about, f"{ready}{_BUSY}")
    elif workers:
        yield Finding("ok", about, f"{contract}: {len(workers)} worker(s) take it, too; {ready}")


def _crashes(rows: Sequence[JobRow]) -> Iterator[Finding]:
    """Jobs that more than one worker died of. (One alone may have been killed for another reason.)"""
    dying = [row for row in rows if row.crashes > 1 and row.state in (JobState.SUBMITTED, JobState.WORKING)]
    if dying:
        worst = max(dying, key=lambda row: row.crashes)
        text = f"{len(dying)} job(s) lose their workers, e.g. {worst.id} at {worst.agent}, {died(worst.crashes)}"
        what = f"({POISON} park it): look into the workers' logs, or `batonpass cancel` it"
        yield Finding("warn", "crashes", f"{text} {what}")


def _keys(rows: Sequence[JobRow]) -> Iterator[Finding]:
    """Jobs that a worker with these keys could not run."""
    why: list[str] = []
    for row in rows:
        try:
            check_open(row.envelope, f"the envelope of job {row.id}")
        except BatonpassError as error:
            why.append(str(error))
    if why:
        yield Finding("warn", "keys", f"{len(why)} of the {len(rows)} newest job(s) can't be read here: {why[0]}")


def _keys_of_threads(store: Store) -> Iterator[Finding]:
    """Some threads whose newest checkpoint can't be read with these keys. (`batonpass keys` looks at all.)"""
    why: list[str] = []
    names = store.call(Threads(_THREADS))
    for name in names:
        try:
            for row in store.call(Timeline(name, 1)):
                check_open(row.header, f"the newest checkpoint of thread {name!r}")
        except BatonpassError as error:
            why.append(str(error))
    if why:
        yield Finding("warn", "keys", f"{len(why)} of {len(names)} thread(s) can't be read here: {why[0]}")


def _jobs(load: Load) -> Iterator[Finding]:
    alive = any(queued.workers for queued in load.queues.values())
    if load.running and not alive:
        text = f"{load.running} belong to workers, and none reports itself: they are held up (see their logs), or ended"
        yield Finding("warn", "jobs", f"{text}. Then start one: it continues the jobs from their last checkpoints")
    text = f"{load.jobs} in all; {load.running} running, {load.timed} due later (a delay, a retry, a question's time)"
    yield Finding("ok", "jobs", text)
    if load.asking:
        yield Finding("ok", "questions", f"{load.asking} job(s) wait for an answer: see `batonpass inbox`")
    if load.dead:
        yield Finding("warn", "dead letters", f"{load.dead} job(s) failed: see `batonpass dead-letters`")


def _held_back(rows: Sequence[JobRow]) -> Iterator[Finding]:
    """Jobs that are neither ready nor due later: no index of a store counts them."""
    why = Counter((row.reason, row.agent) for row in rows if row.state == JobState.SUBMITTED and row.reason in _HELD)
    if why:
        told = "; ".join(f"{number} {reason} at {agent}" for (reason, agent), number in sorted(why.items()))
        yield Finding("ok", "held back", f"of the {len(rows)} newest job(s): {told}")


def _time(rows: Sequence[JobRow], now: int) -> Iterator[Finding]:
    """Whether the store's clock is behind the newest job's time."""
    ahead = rows[0].created - now if rows else 0
    if ahead > _AHEAD:
        text = f"the newest job was made {timedelta(seconds=ahead // 1000)} from now: the store's clock was set back"
        what = "Delays, retries, leases and questions' times that began before take that much longer"
        yield Finding("warn", "time", f"{text}. {what}")


def _schedules(coordinator: SyncCoordinator, now: int) -> Iterator[Finding]:
    found = coordinator.schedules()
    late = overdue(found, now)
    if late:
        worst, seconds = max(late.items(), key=lambda each: each[1])
        text = f"{len(late)} overdue, e.g. {worst!r} for {timedelta(seconds=int(seconds))}: no job is submitted"
        alive = bool(coordinator.workers())
        what = "see the live workers' logs for why" if alive else "no worker is live: start one, any one submits them"
        yield Finding("fail", "schedules", f"{text}; {what}")
    for each in found:
        if each.unreadable:
            yield Finding("warn", f"schedule {each.name}", f"can't be looked at: {each.error}")
        elif each.error:
            text = f"could not submit at {cell(each.last_at)}: {each.error}"
            yield Finding("warn", f"schedule {each.name}", f"{text}. Correct it with `batonpass schedule add`")
        elif each.paused:
            yield Finding("ok", f"schedule {each.name}", "paused")
        elif each.next_at is None:
            yield Finding(
                "warn",
                f"schedule {each.name}",
                f"{each.cron!r} is never due again: `batonpass schedule remove`",
            )
    if found:
        yield Finding("ok", "schedules", f"{len(found)}")


def _webhooks(coordinator: SyncCoordinator) -> Iterator[Finding]:
    found = coordinator.webhooks()
    for each in found:
        if each.state == "unreadable":
            yield Finding("warn", f"webhook {each.name}", f"can't be looked at, {each.lag} event(s) wait: {each.error}")
        elif each.state == "paused":
            text = f"paused, {each.lag} event(s) wait: {each.error}"
            resume = f"`batonpass webhooks resume {quote(each.name)}`"
            told = text if resume in text else f"{text}. Then {resume}"
            yield Finding("warn", f"webhook {each.name}", told)
        elif each.failures:
            yield Finding("warn", f"webhook {each.name}", f"failed {each.failures} time(s): {each.error}")
    if found:
        yield Finding("ok", "webhooks", f"{len(found)}; `batonpass webhooks run` sends their events")

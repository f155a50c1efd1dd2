"""Release: what a new release of an app would do with what is in a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from batonpass.contracts.agent import Agent
from batonpass.contracts.app import App
from batonpass.contracts.contract import Contract, ContractRef, contract_ref
from batonpass.contracts.errors import BatonpassError, Corrupted, NotFound
from batonpass.contracts.job import JobState
from batonpass.contracts.worker import WorkerInfo
from batonpass.coordinator.blobs import open_envelope
from batonpass.coordinator.book import Book, Declaration, parse_ref
from batonpass.coordinator.checkup import Finding, Level
from batonpass.coordinator.commands import ListJobs
from batonpass.coordinator.rows import JobRow
from batonpass.coordinator.sync_client import SyncCoordinator

from .asked import UNNAMED, question_problem
from .continuing import only_warns, stuck

_PAGE = 200
# How many jobs' states to read at most, because they may be large.
_STATES = 500
# Its app may not have started yet.
_UNDECLARED = "are at this agent, which no app has declared"
_UNENDED = (JobState.SUBMITTED, JobState.WORKING, JobState.INPUT_REQUIRED)
Declared = Mapping[str, Declaration]


def against_agents(app: App, declared: Declared, workers: Sequence[WorkerInfo]) -> Iterator[Finding]:
    """Compares the app's agents, those that they hand off to, and those that hand off to them, with what the store has
    recorded."""
    live = {name for worker in workers for name in worker.agents}
    for agent in app:
        if (before := declared.get(agent.name)) and (differs := before.contradicted(agent)):
            yield Finding("fail" if agent.name in live else "warn", f"agent {agent.name}", differs)
        for to, given in _onward(agent):
            problem = _unread(app, given, to) if to in app else _unreceived(given, to, declared.get(to))
            if problem:
                yield Finding(problem[0], f"agent {agent.name}", problem[1])
    for name, other in declared.items():
        if name in app or other.app == app.name:
            continue  # as it is now, it is looked at above, or it is gone
        for to, given in other.hands_to.items():
            if to in app and (problem := _unread(app, given, to)):
                # It may never come back: records of agents stay.
                yield Finding(problem[0] if name in live else "warn", f"agent {name}", problem[1])
    yield Finding("ok", "agents", f"{len(list(app))} in app {app.name}, {len(declared)} declared in the store")


def _onward(agent: Agent[Any]) -> Iterator[tuple[str, ContractRef]]:
    """To whom an agent passes jobs on, and what they get."""
    for to, contract in agent.hands_to.items():
        yield to, contract_ref(contract)
    if agent.fallback is not None:
        yield agent.fallback, contract_ref(agent.accepts)


def _unread(app: App, given: ContractRef, to: str) -> tuple[Level, str] | None:
    accepts = app[to].accepts
    if given in app.versions(accepts):
        return None
    now = contract_ref(accepts)
    says = f"hands {given} to {to}, which accepts {now} in app {app.name}"
    if given.name == now.name and given.version > now.version:
        return "warn", f"{says}: its jobs wait for a newer release of that"
    return "fail", f"{says}{_upcast(accepts, given)}"


def _upcast(accepts: type[Contract], ref: ContractRef) -> str:
    """How to read an older version of a contract."""
    now = contract_ref(accepts)
    older = ref.name == now.name and ref.version < now.version
    return f" (@app.upcast({accepts.__name__}, from_version={ref.version}))" if older else ""


def _unreceived(given: ContractRef, to: str, receiver: Declaration | None) -> tuple[Level, str] | None:
    if receiver is None:
        return "warn", f"hands off to {to}, which no app has declared: deploy that first, or its jobs fail"
    if given.name != receiver.accepts.name:
        return "fail", f"hands {given} to {to}, which accepts {receiver.accepts}"
    if given.version > receiver.accepts.version:
        return "warn", f"hands {given} to {to}, which accepts {receiver.accepts}: deploy app {receiver.app} first"
    other = receiver.others.get(given)
    if given != receiver.accepts and not (other and other.read):
        return "fail", f"hands {given} to {to}, which accepts {receiver.accepts} and does not upcast the older version"
    return None


@dataclass
class _Tally:
    """How many jobs have each problem, and the first of them. `fits` is how many have none."""

    fits: int = 0
    problems: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])

    def add(self, row: JobRow, problem: str, example: str = "") -> None:
        self.problems.setdefault((row.agent, problem), []).append(f"{row.id}{example}")

    def take_back(self, row: JobRow, problem: str, example: str) -> None:
        """One that fitted has a problem."""
        self.fits -= 1
        self.add(row, problem, example)

    def findings(self, what: str, level: Level) -> Iterator[Finding]:
        for (agent, problem), jobs in self.problems.items():
            yield Finding(
                "warn" if problem in (_UNDECLARED, UNNAMED) or only_warns(problem) else level,
                f"agent {agent}",
                f"{len(jobs)} {what} {problem}, e.g. {jobs[0]}",
            )
        yield Finding("ok", what, f"{self.fits} fit")


def against_jobs(app: App, declared: Declared, coordinator: SyncCoordinator) -> Iterator[Finding]:
    """Whether the app could go on with the jobs, and with the failed ones if they were redriven."""
    looked, store = 0, coordinator.store
    groups: list[tuple[str, Level, Sequence[JobState]]] = [
        ("job(s)", "fail", _UNENDED),
        ("dead letter(s)", "warn", (JobState.FAILED,)),
    ]
    for what, level, states in groups:
        tally, begun = _Tally(), dict[str, list[JobRow]]()
        for row in _rows(coordinator, states):
            if row.agent not in app:
                if (before := declared.get(row.agent)) is None:
                    tally.add(row, _UNDECLARED)
                elif before.app == app.name:
                    tally.add(row, "are at this agent, which no app has any more")
                continue
            problem = _payload_problem(app, row)
            look = problem is None and bool(row.tip) and looked < _STATES
            if look:
                looked += 1
                problem = _state_problem(app, row, coordinator)
            problem = problem or question_problem(app, row)
            if problem is None:
                tally.fits += 1
                if look:
                    begun.setdefault(row.agent, []).append(row)
            else:
                tally.add(row, *problem)
        for problem_of in chain.from_iterable(stuck(app, store, rows) for rows in begun.values()):
            tally.take_back(*problem_of)
        yield from tally.findings(what, level)


def _rows(coordinator: SyncCoordinator, states: Sequence[JobState]) -> Iterator[JobRow]:
    """All jobs in some states. A job whose state changes meanwhile comes once, too."""
    seen: set[str] = set()
    for state in states:
        before, at = "", 0
        while page := coordinator.store.call(ListJobs(_PAGE, before, state=state, at=at)):
            before, at = page[-1].id, page[-1].created
            for row in page:
                if row.state == state and row.id not in seen:
                    seen.add(row.id)
                    yield row


def _payload_problem(app: App, row: JobRow) -> tuple[str, str] | None:
    agent, ref = app[row.agent], parse_ref(row.contract)
    now = contract_ref(agent.accepts)
    if ref != now and ref not in app.versions(agent.accepts):
        return f"have {ref}, which this app can't read{_upcast(agent.accepts, ref)}", ""
    try:
        app.load(agent.accepts, ref, open_envelope(row.envelope, of=f"the envelope of job {row.id}").payload)
    except BatonpassError as error:
        return f"have {ref} with values that this app can't read", f": {error}"
    return None


def _state_problem(app: App, row: JobRow, coordinator: SyncCoordinator) -> tuple[str, str] | None:
    try:
        checkpoint = coordinator.restore(row.tip)
    except (NotFound, Corrupted):  # expired, ended meanwhile, or damaged, which `doctor` and `timeline` show
        return None
    if checkpoint.agent != row.agent or (checkpoint.job, checkpoint.hop) != (row.id, row.hop):
        return None  # a hop that has saved nothing starts anew
    try:
        app.migrated(checkpoint)
    except BatonpassError as error:
        return "have a state that this app can't read", f": {error}"
    return None


def against_schedules(app: App, declared: Declared, coordinator: SyncCoordinator) -> Iterator[Finding]:
    """Whether the app could take the jobs of the schedules."""
    book, fits = Book(app), 0
    for schedule in coordinator.schedules():
        about = f"schedule {schedule.name}"
        if schedule.unreadable:
            yield Finding("warn", about, f"can't be looked at: {schedule.error}")
            continue
        if schedule.agent not in app:
            if (before := declared.get(schedule.agent)) is None:
                yield Finding("warn", about, f"submits to {schedule.agent}, which no app has declared")
            elif before.app == app.name:
                yield Finding("fail", about, f"submits to {schedule.agent}, which no app has any more")
            continue
        try:
            book.said(app[schedule.agent].accepts, schedule.payload)
            fits += 1
        except BatonpassError as error:
            yield Finding("fail", about, f"its payload does not fit {schedule.agent}: {error}")
    if fits:
        yield Finding("ok", "schedules", f"{fits} fit")

"""Endpoints: what programs can ask the service. Its answers are the same as those of the command line with `--json`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from batonpass.cli.jobs import described, with_values, without_payload
from batonpass.contracts.checkpoint import CheckpointSummary
from batonpass.contracts.errors import (
    BatonpassError,
    Corrupted,
    JobError,
    NotFound,
    Rewound,
    Trimmed,
    Unavailable,
    Unreachable,
)
from batonpass.contracts.inbox import InboxItem
from batonpass.contracts.job import JobInfo, JobState
from batonpass.contracts.names import is_id
from batonpass.contracts.worker import WorkerInfo
from batonpass.coordinator.calls import adrive
from batonpass.coordinator.calls.dead import state_of
from batonpass.coordinator.calls.doubt import RESULT
from batonpass.coordinator.calls.events import NOW, last
from batonpass.coordinator.calls.inputs import cursor
from batonpass.coordinator.calls.jobs import streamed
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.commands import Declared
from batonpass.coordinator.paths import check_names
from batonpass.coordinator.refusals import Elsewhere
from batonpass.coordinator.store import Topic

from .agents import agent_operations
from .answers import Alive, Answered, Canceled, DeletedJob, EventPage, Redriven, RunNow, ShownJob, Submitted
from .bodies import (
    All,
    Answer,
    DeadLetters,
    Events,
    Jobs,
    Nothing,
    Questions,
    Redrive,
    Show,
    Stream,
    Submission,
    Threads,
    Timeline,
)
from .happened import following, passed_over, reader
from .held import held
from .metrics import MEDIA_TYPE, exposition
from .operation import Operation
from .refusing import Problem, answer, told
from .schedules import schedule_operations
from .standing import Gauge
from .streaming import SERVER_SENT, events_of, parts_of, streaming
from .tally import Tally
from .tracing import trace_of
from .travel import travel_operations

HEALTH = "/health"
_MOVED = "the namespace was moved, or is being moved: requests with the token tell where"


def operations(coordinator: Coordinator, gauge: Gauge) -> list[Operation]:
    """All that programs with the token can ask."""
    ends = _Endpoints(coordinator, gauge)
    return [
        Operation("GET", "/metrics", ends.metrics, None, str, media="text/plain"),
        *agent_operations(coordinator),
        Operation("GET", "/workers", ends.workers, All, list[WorkerInfo]),
        Operation("GET", "/inbox", ends.inbox, Questions, list[InboxItem]),
        Operation("GET", "/jobs", ends.jobs, Jobs, list[JobInfo]),
        Operation("POST", "/jobs", ends.submit, Submission, Submitted),
        Operation("GET", "/jobs/{id}", ends.show, Show, ShownJob),
        Operation("GET", "/jobs/{id}/stream", ends.stream, Stream, str, media=SERVER_SENT),
        Operation("POST", "/jobs/{id}/answer", ends.answer, Answer, Answered),
        Operation("POST", "/jobs/{id}/cancel", ends.cancel, Nothing, Canceled),
        Operation("POST", "/jobs/{id}/run-now", ends.run_now, Nothing, RunNow),
        Operation("POST", "/jobs/{id}/redrive", ends.redrive, Redrive, Redriven),
        Operation("GET", "/threads", ends.threads, Threads, list[str]),
        Operation("GET", "/timeline", ends.timeline, Timeline, list[CheckpointSummary]),
        *travel_operations(coordinator),
        *schedule_operations(coordinator),
        Operation("GET", "/dead-letters", ends.dead_letters, DeadLetters, list[JobInfo]),
        Operation("DELETE", "/jobs/{id}", ends.delete_job, All, DeletedJob),
        Operation("GET", "/events", ends.events, Events, EventPage),
        Operation("GET", "/events/stream", ends.event_stream, Events, str, media=SERVER_SENT),
    ]


def health_check(coordinator: Coordinator) -> Operation:
    """What load balancers ask, without a token. So it says nothing else."""

    async def health(_: Request, __: None) -> Response:
        """Whether the service can work: 200, or 503 if the store can't be reached, or its namespace was moved."""
        try:
            await coordinator.store.acall(Declared())
            await _look_for_moved(coordinator)
        except Elsewhere:
            return told(Problem(503, _MOVED, Unavailable.__name__))
        except BatonpassError:
            return told(Problem(503, "the store can't be reached", Unreachable.__name__))
        return answer(vars(Alive()))

    return Operation("GET", HEALTH, health, None, Alive, open=True)


async def _look_for_moved(coordinator: Coordinator) -> None:
    """`Elsewhere` if the namespace was moved. In a file everything can still be read, and only who writes or waits is
    told."""
    watch = coordinator.store.watch(Topic("health"))  # of one channel: not all users may listen to a pattern
    try:
        await watch.aopen()
        await watch.await_(0)
    finally:
        await watch.aclose()


class _Endpoints:
    def __init__(self, coordinator: Coordinator, gauge: Gauge) -> None:
        self._coordinator = coordinator
        self._gauge = gauge
        self._tally = Tally(coordinator)

    async def metrics(self, _: Request, __: None) -> Response:
        """Metrics for Prometheus."""
        await self._tally.look()
        standing = await self._gauge.look()
        text = exposition(standing, self._tally, await held(self._coordinator, self._gauge, standing.load.now))
        return Response(text, headers={"cache-control": "no-store"}, media_type=MEDIA_TYPE)

    async def workers(self, _: Request, __: All) -> Response:
        """List the live workers."""
        return answer([worker.as_dict() for worker in (await self._gauge.look()).workers])

    async def inbox(self, _: Request, wanted: Questions) -> Response:
        """List the questions that wait for an answer, oldest first."""
        found = await self._coordinator.inbox(**wanted.model_dump())
        return answer([item.as_dict() for item in found])

    async def jobs(self, _: Request, wanted: Jobs) -> Response:
        """List jobs, newest first."""
        found = await self._coordinator.jobs(**wanted.model_dump())
        return answer([described(info) for info in found])

    async def dead_letters(self, _: Request, wanted: DeadLetters) -> Response:
        """List failed jobs, the last to fail first."""
        found = await self._coordinator.dead_letters(**wanted.model_dump())
        return answer([described(info) for info in found])

    async def delete_job(self, request: Request, __: All) -> Response:
        """Delete a job that has ended, with its result, its idempotency key and its own thread."""
        job = self._coordinator.job(request.path_params["id"])
        await self._coordinator.delete_job(job.id)
        return answer(vars(DeletedJob(job.id)))

    async def threads(self, _: Request, wanted: Threads) -> Response:
        """List the names of all threads that have checkpoints or jobs, in order."""
        return answer(await self._coordinator.threads(**wanted.model_dump()))

    async def timeline(self, _: Request, wanted: Timeline) -> Response:
        """List the checkpoints of a thread, or of a job's thread, newest first."""
        asked = wanted.model_dump(exclude={"thread"})
        is_job = is_id(wanted.thread, "j")
        thread = (await self._coordinator.job(wanted.thread).info()).thread if is_job else wanted.thread
        found = await self._coordinator.timeline(thread, **asked)
        if not found and not is_job and not await self._is_there(thread):
            raise NotFound(f"there is no thread {thread!r} with checkpoints")
        return answer([asdict(checkpoint) for checkpoint in found])

    async def _is_there(self, thread: str) -> bool:
        """Whether a thread has checkpoints, or jobs, which may save some."""
        of = self._coordinator
        return bool(await of.timeline(thread, limit=1) or await of.jobs(thread=thread, limit=1))

    async def events(self, _: Request, wanted: Events) -> Response:
        """List what happened after a cursor, oldest first."""
        way = reader(self._coordinator, **wanted.model_dump())
        try:
            found = await following(self._coordinator, way, 1)
        except (Rewound, Trimmed, Corrupted) as gap:
            raise passed_over(gap) from None
        return answer(asdict(EventPage(list(found), way.after)))

    async def submit(self, request: Request, given: Submission) -> Response:
        """Submit a job. With a key that is known, the first job that has it is the answer."""
        options = given.options
        options.setdefault("trace", trace_of(request))
        job = await self._coordinator.submit(given.agent, given.payload, **options)
        return answer(vars(Submitted(job.id)))

    async def show(self, request: Request, wanted: Show) -> Response:
        """Show a job with its payload and result, after waiting for its end if you like."""
        job = self._coordinator.job(request.path_params["id"])
        if wanted.wait:
            with suppress(JobError):  # the job's state is in the answer
                await job.result(timeout=wanted.wait)
        info = await job.info()
        payload = None
        if "envelope" not in info.unreadable:
            try:
                payload = await job.payload()
            except Corrupted:
                info = without_payload(info)
        result = await job.result(timeout=0) if info.state == JobState.COMPLETED else None
        return answer(with_values(info, payload, result, None if info.state.ended else await job.waits_for()))

    async def stream(self, request: Request, wanted: Stream) -> Response:
        """Follow what a job's agents stream, until it ends, as server-sent events."""
        job = self._coordinator.job(request.path_params["id"])
        after = cursor(_heard(request, wanted.after), "a part")
        await job.info()
        if after:  # one of another store is refused before the stream begins
            await adrive(self._coordinator.store, streamed(job.id, after))
        return streaming(parts_of(job, after))

    async def event_stream(self, request: Request, wanted: Events) -> Response:
        """Follow what happens, from a cursor on, as server-sent events."""
        way = wanted.model_copy(update={"after": _heard(request, wanted.after)})
        reader(self._coordinator, **way.model_dump())  # refuses what can't be followed
        if way.after == NOW:
            way.after = await adrive(self._coordinator.store, last())
        return streaming(events_of(self._coordinator, way))

    async def answer(self, request: Request, given: Answer) -> Response:
        """Answer a job's question."""
        of = request.path_params["id"]
        await self._coordinator.answer(of, given.answer, question=given.question, by=given.by)
        return answer(vars(Answered(of.partition(".")[0], given.answer)))

    async def cancel(self, request: Request, __: Nothing) -> Response:
        """Cancel a job that has not ended."""
        job = self._coordinator.job(request.path_params["id"])
        return answer(vars(Canceled(job.id, await job.cancel())))

    async def run_now(self, request: Request, __: Nothing) -> Response:
        """Run a job now that waits for its next attempt, or for its scheduled time."""
        job = self._coordinator.job(request.path_params["id"])
        return answer(vars(RunNow(job.id, await job.run_now())))

    async def redrive(self, request: Request, given: Redrive) -> Response:
        """Let a failed job continue, with changes if you like."""
        job = self._coordinator.job(request.path_params["id"])
        guard = given.guard.guard if given.guard else None
        named = [[name for name in names or () if not name.startswith(RESULT)] for names in (given.changes, given.add)]
        if any(named):
            check_names(await adrive(self._coordinator.store, state_of(self._coordinator.book, job.id)), *named)
        await self._coordinator.redrive(
            job.id,
            payload=given.payload,
            changes=given.changes,
            guard=guard,
            not_done=given.not_done,
            add=given.add,
            lost_children=given.lost_children,
        )
        return answer(vars(Redriven(job.id)))


def _heard(request: Request, after: str) -> str:
    """After what a stream goes on: a client that connects again says what it has received."""
    return request.headers.get("last-event-id") or after

"""Routes: what programs can ask the service. Its answers are the same as those of the command line with `--json`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from batonpass.cli.jobs import described, without_payload
from batonpass.contracts.errors import BatonpassError, Corrupted, JobError, NotFound, Rewound, Trimmed
from batonpass.contracts.job import JobState
from batonpass.contracts.names import is_id
from batonpass.coordinator.calls.inputs import fitting
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.commands import Declared

from .bodies import All, Answer, Events, Jobs, Nothing, Questions, Redrive, Show, Submission, Timeline, body, parameters
from .gate import Gate
from .happened import following, reader
from .metrics import MEDIA_TYPE, exposition
from .page.routes import page
from .refusing import BadRequest, Problem, answer, refusing, told, unrouted
from .standing import Gauge
from .tally import Tally

_HEALTH = "/health"
_TRACE = ("traceparent", "tracestate", "baggage")  # the W3C's headers, which clients that trace send on their own


def application(coordinator: Coordinator, gauge: Gauge, token: str) -> ASGIApp:
    """The service over a coordinator, for everybody who has the token: the page, and the routes for programs."""
    shown, asked, alive = page(coordinator, gauge, token), _asked(coordinator, gauge, token), _alive(coordinator)

    async def which(scope: Scope, receive: Receive, send: Send) -> None:
        of_page = scope["path"] in ("/", "/ui") or scope["path"].startswith("/ui/")
        await (shown if of_page else alive if scope["path"] == _HEALTH else asked)(scope, receive, send)

    return which


def _alive(coordinator: Coordinator) -> ASGIApp:
    """Whether the service can work. Says nothing else, because load balancers ask without a token."""

    async def health(_: Request) -> Response:
        try:
            await coordinator.store.acall(Declared())
        except BatonpassError:
            return told(Problem(503, "the store can't be reached"))
        return answer({"ok": True})

    return Starlette(
        routes=[Route(_HEALTH, refusing(health), methods=["GET"])],
        exception_handlers={HTTPException: lambda _, error: told(unrouted(error))},
    )


def _asked(coordinator: Coordinator, gauge: Gauge, token: str) -> Gate:
    service = _Service(coordinator, gauge)
    app = Starlette(
        routes=[
            Route("/metrics", refusing(service.metrics), methods=["GET"]),
            Route("/agents", refusing(service.agents), methods=["GET"]),
            Route("/workers", refusing(service.workers), methods=["GET"]),
            Route("/inbox", refusing(service.inbox), methods=["GET"]),
            Route("/jobs", refusing(service.jobs), methods=["GET"]),
            Route("/jobs", refusing(service.submit), methods=["POST"]),
            Route("/jobs/{id}", refusing(service.show), methods=["GET"]),
            Route("/jobs/{id}/answer", refusing(service.answer), methods=["POST"]),
            Route("/jobs/{id}/cancel", refusing(service.cancel), methods=["POST"]),
            Route("/jobs/{id}/redrive", refusing(service.redrive), methods=["POST"]),
            Route("/timeline", refusing(service.timeline), methods=["GET"]),
            Route("/events", refusing(service.events), methods=["GET"]),
        ],
        exception_handlers={HTTPException: lambda _, error: told(unrouted(error))},
    )
    app.router.redirect_slashes = False  # a redirect would lead to whatever host the request names
    return Gate(app, token)


class _Service:
    def __init__(self, coordinator: Coordinator, gauge: Gauge) -> None:
        self._coordinator = coordinator
        self._gauge = gauge
        self._tally = Tally(coordinator)

    async def metrics(self, _: Request) -> Response:
        await self._tally.look()
        told = exposition(await self._gauge.look(), self._tally)
        return Response(told, headers={"cache-control": "no-store"}, media_type=MEDIA_TYPE)

    async def agents(self, request: Request) -> Response:
        parameters(request, All)
        return answer([agent.as_dict() for agent in await self._coordinator.agents()])

    async def workers(self, request: Request) -> Response:
        parameters(request, All)
        return answer([worker.as_dict() for worker in (await self._gauge.look()).workers])

    async def inbox(self, request: Request) -> Response:
        wanted = parameters(request, Questions)
        found = await self._coordinator.inbox(
            assignee=wanted.assignee, agent=wanted.agent, limit=wanted.limit, after=wanted.after
        )
        return answer([item.as_dict() for item in found])

    async def jobs(self, request: Request) -> Response:
        wanted = parameters(request, Jobs)
        found = await self._coordinator.jobs(
            state=wanted.state, agent=wanted.agent, parent=wanted.parent, limit=wanted.limit, before=wanted.before
        )
        return answer([described(info) for info in found])

    async def timeline(self, request: Request) -> Response:
        wanted = parameters(request, Timeline)
        asked = wanted.model_dump(exclude={"thread"})
        is_job = is_id(wanted.thread, "j")
        thread = (await self._coordinator.job(wanted.thread).info()).thread if is_job else wanted.thread
        found = await self._coordinator.timeline(thread, **asked)
        if not found and not is_job and not await self._coordinator.timeline(thread, limit=1):
            raise NotFound(f"there is no thread {thread!r} with checkpoints")
        return answer([asdict(checkpoint) for checkpoint in found])

    async def events(self, request: Request) -> Response:
        wanted = parameters(request, Events)
        if wanted.job:
            self._coordinator.job(wanted.job)  # refuses anything that is not an id
        way = reader(self._coordinator, **wanted.model_dump())
        try:
            found = await following(self._coordinator, way, 1)
        except Rewound as gone:
            text = f"the store lost its last writes, and this cursor's event: go on with after={gone.first_available}"
            raise BadRequest(text, status=410, after=gone.first_available) from None
        except Trimmed as gone:
            text = f"events after this cursor are not kept any more: go on with after={gone.first_available}"
            raise BadRequest(text, status=410, after=gone.first_available) from None
        except Corrupted as damaged:
            text = f"{damaged}: go on with after={damaged.after}"
            raise BadRequest(text, status=410, after=damaged.after) from None
        return answer({"events": [asdict(event) for event in found], "after": way.after})

    async def submit(self, request: Request) -> Response:
        given = await body(request, Submission)
        options = given.options
        options.setdefault("trace", _trace_of(request))
        job = await self._coordinator.submit(given.agent, given.payload, **options)
        return answer({"id": job.id})

    async def show(self, request: Request) -> Response:
        wanted = parameters(request, Show)
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
        return answer(described(info, payload, result))

    async def answer(self, request: Request) -> Response:
        given = await body(request, Answer)
        of = request.path_params["id"]
        await self._coordinator.answer(of, given.answer, question=given.question)
        return answer({"id": of.partition(".")[0], "answered": given.answer})

    async def cancel(self, request: Request) -> Response:
        await body(request, Nothing)
        job = self._coordinator.job(request.path_params["id"])
        return answer({"id": job.id, "canceled": await job.cancel()})

    async def redrive(self, request: Request) -> Response:
        given = await body(request, Redrive)
        job = self._coordinator.job(request.path_params["id"])
        guard = given.guard.guard if given.guard else None
        await self._coordinator.redrive(job.id, payload=given.payload, changes=given.changes, guard=guard)
        return answer({"id": job.id, "redriven": True})


def _trace_of(request: Request) -> dict[str, str]:
    """The trace context in a request's headers. (A header may come in several lines.)"""
    return fitting((name, ",".join(request.headers.getlist(name))) for name in _TRACE)

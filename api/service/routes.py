"""Routes: what may be asked of the service. Answers are those of the command line's `--json`."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from batonpass.cli.jobs import described
from batonpass.contracts.job import JobState
from batonpass.coordinator.client import Coordinator

from .bodies import Answer, Nothing, Submission, body, parameters
from .gate import Gate
from .metrics import MEDIA_TYPE, exposition
from .page.routes import page
from .refusing import answer, refusing, told, unrouted
from .standing import Gauge


def application(coordinator: Coordinator, gauge: Gauge, token: str) -> ASGIApp:
    """The service over a coordinator, for those who have the token: the page, and what programs ask for."""
    shown, asked = page(coordinator, gauge, token), _asked(coordinator, gauge, token)

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        of_page = scope["path"] == "/ui" or scope["path"].startswith("/ui/")
        await (shown if of_page else asked)(scope, receive, send)

    return either


def _asked(coordinator: Coordinator, gauge: Gauge, token: str) -> Gate:
    service = _Service(coordinator, gauge)
    app = Starlette(
        routes=[
            Route("/metrics", refusing(service.metrics), methods=["GET"]),
            Route("/inbox", refusing(service.inbox), methods=["GET"]),
            Route("/jobs", refusing(service.submit), methods=["POST"]),
            Route("/jobs/{id}", refusing(service.show), methods=["GET"]),
            Route("/jobs/{id}/answer", refusing(service.answer), methods=["POST"]),
            Route("/jobs/{id}/cancel", refusing(service.cancel), methods=["POST"]),
        ],
        exception_handlers={HTTPException: lambda _, error: told(unrouted(error))},
    )
    app.router.redirect_slashes = False  # it would send callers to whatever host they named
    return Gate(app, token)


class _Service:
    def __init__(self, coordinator: Coordinator, gauge: Gauge) -> None:
        self._coordinator = coordinator
        self._gauge = gauge

    async def metrics(self, _: Request) -> Response:
        told = exposition(await self._gauge.look())
        return Response(told, headers={"cache-control": "no-store"}, media_type=MEDIA_TYPE)

    async def inbox(self, request: Request) -> Response:
        wanted = parameters(request)
        found = await self._coordinator.inbox(
            assignee=wanted.assignee, agent=wanted.agent, limit=wanted.limit, after=wanted.after
        )
        return answer([item.as_dict() for item in found])

    async def submit(self, request: Request) -> Response:
        given = await body(request, Submission)
        job = await self._coordinator.submit(given.agent, given.payload, **given.options)
        return answer({"id": job.id})

    async def show(self, request: Request) -> Response:
        job = self._coordinator.job(request.path_params["id"])
        info = await job.info()
        return answer(described(info, await job.result(timeout=0) if info.state == JobState.COMPLETED else None))

    async def answer(self, request: Request) -> Response:
        given = await body(request, Answer)
        of = request.path_params["id"]
        await self._coordinator.answer(of, given.answer, question=given.question)
        return answer({"id": of.partition(".")[0], "answered": given.answer})

    async def cancel(self, request: Request) -> Response:
        await body(request, Nothing)
        job = self._coordinator.job(request.path_params["id"])
        return answer({"id": job.id, "canceled": await job.cancel()})

"""Routes: the service as an application, with what people and programs can ask it."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from batonpass.coordinator.client import Coordinator

from .access_log import AccessLog
from .endpoints import HEALTH, health_check, operations
from .gate import Gate
from .openapi import document
from .operation import Operation
from .page.routes import page
from .refusing import answer, told, unrouted
from .rooted import Rooted
from .settings import Settings
from .standing import Gauge
from .tokens import Tokens


def application(coordinator: Coordinator, gauge: Gauge, settings: Settings) -> ASGIApp:
    """The service over a coordinator, for everybody who has a token: the page, and the routes for programs."""
    tokens, root = Tokens(settings), settings.root_path
    shown, asked = page(coordinator, gauge, tokens, root), _asked(coordinator, gauge, tokens, root)
    alive = _over([health_check(coordinator)])

    async def which(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(root)
        of_page = path in ("/", "/ui") or path.startswith("/ui/")
        await (shown if of_page else alive if path == HEALTH else asked)(scope, receive, send)

    return Rooted(AccessLog(which, everything=settings.log_all), root)


def _asked(coordinator: Coordinator, gauge: Gauge, tokens: Tokens, root: str) -> Gate:
    offered = operations(coordinator, gauge)
    about = document([*offered, health_check(coordinator)], root or "/")

    async def openapi(_: Request, __: None) -> Response:
        return answer(about)

    async def largest() -> int:
        return max([agent.max_payload for agent in await coordinator.agents()], default=0)

    app = _over([*offered, Operation("GET", "/openapi.json", openapi, None, None)])
    app.state.largest = largest
    return Gate(app, tokens)


def _route(offered: Sequence[Operation]) -> Route:
    """One path, with all its methods: Starlette tells a client that uses another one only those of one route."""
    by_method: dict[str, Operation] = {each.method: each for each in offered}

    async def ask(request: Request) -> Response:
        return await by_method["GET" if request.method == "HEAD" else request.method].ask(request)

    return Route(offered[0].path, ask, methods=list(by_method))


def _over(offered: Sequence[Operation]) -> Starlette:
    app = Starlette(
        routes=[_route([each for each in offered if each.path == path]) for path in {each.path: 0 for each in offered}],
        exception_handlers={HTTPException: lambda _, error: told(unrouted(error))},
    )
    app.router.redirect_slashes = False  # a redirect would lead to whatever host the request names
    return app

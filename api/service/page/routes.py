"""Routes of the page: people who have signed in see jobs and questions, and may answer, cancel, redrive and fork."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from batonpass.contracts.bounds import MAX_PAYLOAD
from batonpass.contracts.errors import Conflict, Refused
from batonpass.contracts.guard import Guard
from batonpass.contracts.job import JobState
from batonpass.coordinator.client import Coordinator

from ..bodies import fitting, received
from ..gate import media_type
from ..refusing import BadRequest, Endpoint, problem_of, refusing, unrouted
from ..standing import Gauge
from ..tokens import READS_ONLY, Tokens
from . import checkpoints, events, fields, jobs, questions
from .overview import overview
from .questions import Typed
from .rendering import Sealed, rendered, style, told
from .session import Sessions

_MOST_FIELDS = 200
_SIGN_IN = 16 * 1024  # bytes: anybody may send that form
_DONE = {
    "answered": "Your answer was accepted. The job continues as soon as a worker claims it.",
    "canceled": "The job was canceled.",
    "ended": "The job had already ended.",
    "hastened": "The job runs as soon as a worker claims it.",
    "redriven": "The job is retried from its last checkpoint.",
    "paused": "The agent is paused: no worker starts its jobs until it is resumed.",
    "resumed": "The agent goes on.",
    "forked": "This new job continues from that checkpoint.",
}


class _Which(BaseModel):
    """The parameters of a list. Fields of a form that were left empty are empty."""

    model_config = ConfigDict(extra="ignore")

    state: JobState | None = None
    agent: str = ""
    assignee: str = ""
    parent: str = ""
    children: bool = True
    thread: str = ""
    before: str = ""
    after: str = ""
    done: str = ""


def page(coordinator: Coordinator, gauge: Gauge, tokens: Tokens, root: str) -> ASGIApp:
    """The page over a coordinator, below a path of a proxy's."""
    sessions = tuple(Sessions(token, access, root) for access, token in tokens.by_access.items())
    shows = _Page(coordinator, gauge, sessions, root)
    inside = shows.inside
    app = Starlette(
        routes=[
            Route("/", shows.home, methods=["GET"]),
            Route("/ui", shows.home, methods=["GET"]),
            Route("/ui/style.css", shows.style, methods=["GET"]),
            Route("/ui/sign-in", refusing(shows.sign_in, told), methods=["POST"]),
            Route("/ui/sign-out", inside(shows.sign_out, changes=False), methods=["POST"]),
            Route("/ui/", inside(shows.overview), methods=["GET"]),
            Route("/ui/pause", inside(shows.pause), methods=["POST"]),
            Route("/ui/resume", inside(shows.resume), methods=["POST"]),
            Route("/ui/inbox", inside(shows.inbox), methods=["GET"]),
            Route("/ui/jobs", inside(shows.jobs), methods=["GET"]),
            Route("/ui/dead-letters", inside(shows.dead_letters), methods=["GET"]),
            Route("/ui/jobs/{id}", inside(shows.job), methods=["GET"]),
            Route("/ui/jobs/{id}/events", inside(shows.events), methods=["GET"]),
            Route("/ui/jobs/{id}/answer", inside(shows.answer), methods=["POST"]),
            Route("/ui/jobs/{id}/cancel", inside(shows.cancel), methods=["POST"]),
            Route("/ui/jobs/{id}/run-now", inside(shows.run_now), methods=["POST"]),
            Route("/ui/jobs/{id}/redrive", inside(shows.redrive), methods=["POST"]),
            Route("/ui/checkpoints/{id}", inside(shows.checkpoint), methods=["GET"]),
            Route("/ui/checkpoints/{id}/fork", inside(shows.fork), methods=["POST"]),
        ],
        exception_handlers={HTTPException: lambda request, error: told(request, unrouted(error))},
    )
    app.router.redirect_slashes = False
    return Sealed(app)


def _to_sign_in(request: Request) -> Response:
    """The page to sign in, which leads back: from a form to the page that it is on."""
    if request.method == "GET":
        to, wrong = f"{request.url.path}?{request.url.query}".removesuffix("?"), ""
    else:
        to, wrong = request.url.path.rpartition("/")[0], "Nothing was sent, because you are not signed in any more."
    return rendered(request, "sign_in.html", 401, to=to, wrong=wrong)


class _Page:
    def __init__(self, coordinator: Coordinator, gauge: Gauge, sessions: Sequence[Sessions], root: str) -> None:
        self._coordinator = coordinator
        self._gauge = gauge
        self._sessions = sessions
        self._root = root

    def inside(self, endpoint: Endpoint, *, changes: bool = True) -> Endpoint:
        """An endpoint for people who have signed in. Its forms must prove that they come from the page, and if it
        `changes` something, those who send them must have the full token."""

        async def entering(request: Request) -> Response:
            found = ((each, each.known(request)) for each in self._sessions)
            sessions, session = next((one for one in found if one[1]), (None, None))
            if sessions is None or session is None:
                return _to_sign_in(request)
            request.state.access, request.state.proof = sessions.access, sessions.proof(session)
            if request.method == "POST":
                request.state.typed = typed = await _typed(request)
                if not sessions.proven(session, typed.pop("proof", "")):
                    raise BadRequest(
                        "this form is not from a page that you have open: go back, and open it again", status=403
                    )
                if changes and sessions.access == "read":
                    raise BadRequest(f"{READS_ONLY}, after signing out", status=403)
            return await endpoint(request)

        return refusing(entering, told)

    async def home(self, _: Request) -> Response:
        return self._to("/ui/")

    async def style(self, _: Request) -> Response:
        return Response(style()[1], headers={"cache-control": "max-age=31536000, immutable"}, media_type="text/css")

    async def sign_in(self, request: Request) -> Response:
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise BadRequest("this form is from another site", status=403)
        typed = await _typed(request, _SIGN_IN)
        home = f"{self._root}/ui/"
        to = typed.get("to", "") if typed.get("to", "").startswith(home) else home
        response = RedirectResponse(to, 303)
        entered = [each for each in self._sessions if each.begin(request, response, typed.get("token", ""))]
        if entered:
            request.state.access = entered[0].access
            for other in self._sessions:
                if other is not entered[0]:
                    other.end(response)
            return response
        return rendered(request, "sign_in.html", 401, to=to, wrong="That is not the service's token.")

    async def sign_out(self, _: Request) -> Response:
        response = self._to("/ui/")
        for each in self._sessions:
            each.end(response)
        return response

    def _to(self, path: str) -> Response:
        return RedirectResponse(self._root + path, 303)

    async def overview(self, request: Request) -> Response:
        found = await overview(self._coordinator, self._gauge)
        return rendered(request, "overview.html", page=found, done=_DONE.get(_which(request).done, ""))

    async def pause(self, request: Request) -> Response:
        typed = request.state.typed
        await self._coordinator.pause_agent(typed.get("agent", ""), reason=typed.get("reason", ""))
        return self._to("/ui/?done=paused")

    async def resume(self, request: Request) -> Response:
        await self._coordinator.resume_agent(request.state.typed.get("agent", ""))
        return self._to("/ui/?done=resumed")

    async def inbox(self, request: Request) -> Response:
        which = _which(request)
        found = await questions.inbox(self._coordinator, which.assignee, which.after)
        return rendered(request, "inbox.html", page=found)

    async def jobs(self, request: Request) -> Response:
        which = _which(request)
        filters = which.state, which.agent, which.parent, which.thread
        found = await jobs.listed(self._coordinator, *filters, which.before, children=which.children)
        return rendered(request, "jobs.html", page=found, which=which, states=list(JobState))

    async def dead_letters(self, request: Request) -> Response:
        which = _which(request)
        found = await jobs.dead(self._coordinator, which.agent, which.before)
        return rendered(request, "dead_letters.html", page=found, which=which)

    async def job(self, request: Request, typed: Typed | None = None) -> Response:
        which = _which(request)
        found = await jobs.one(self._coordinator, request.path_params["id"], which.before, typed)
        status = typed.problem.status if typed else 200
        return rendered(request, "job.html", status, page=found, done=_DONE.get(which.done, ""))

    async def events(self, request: Request) -> Response:
        found = await events.of_job(self._coordinator, request.path_params["id"], _which(request).after)
        return rendered(request, "events.html", page=found)

    async def checkpoint(self, request: Request, typed: Typed | None = None) -> Response:
        found = await checkpoints.one(self._coordinator, request.path_params["id"], typed)
        return rendered(request, "checkpoint.html", typed.problem.status if typed else 200, page=found)

    async def fork(self, request: Request) -> Response:
        try:
            job = await checkpoints.fork(self._coordinator, request.path_params["id"], request.state.typed)
        except (Refused, Conflict) as error:
            return await self.checkpoint(request, Typed("fork", request.state.typed, problem_of(error, "POST")))
        return self._to(f"/ui/jobs/{job}?done=forked")

    async def answer(self, request: Request) -> Response:
        values = dict(request.state.typed)
        question = values.pop("question", "")

        async def answering(job: str) -> str:
            await self._coordinator.answer(job, fields.read(values), question=question)
            return "answered"

        return await self._act(request, "answer", answering)

    async def cancel(self, request: Request) -> Response:
        async def canceling(job: str) -> str:
            return "canceled" if await self._coordinator.job(job).cancel() else "ended"

        return await self._act(request, "cancel", canceling)

    async def run_now(self, request: Request) -> Response:
        async def hastening(job: str) -> str:
            await self._coordinator.job(job).run_now()
            return "hastened"

        return await self._act(request, "run-now", hastening)

    async def redrive(self, request: Request) -> Response:
        async def redriving(job: str) -> str:
            typed = request.state.typed
            guard = Guard(**changed) if (changed := fields.limits(typed)) else None
            payload, lost = fields.payload(typed.get("payload", "")), bool(typed.get("lost_children"))
            await self._coordinator.redrive(job, payload=payload, guard=guard, lost_children=lost)
            return "redriven"

        return await self._act(request, "redrive", redriving)

    async def _act(self, request: Request, form: str, act: Callable[[str], Awaitable[str]]) -> Response:
        """Do what a form asks for, and show the job, with what became of it, or with the form and what is wrong."""
        job = request.path_params["id"]
        try:
            done = await act(job)
        except (Refused, Conflict) as error:
            return await self.job(request, Typed(form, request.state.typed, problem_of(error, "POST")))
        return self._to(f"/ui/jobs/{job}?done={done}")


async def _typed(request: Request, most: int = MAX_PAYLOAD) -> dict[str, str]:
    """What a form sends, with the usual ends of lines in place of a browser's."""
    if media_type(request.headers) != "application/x-www-form-urlencoded":
        raise BadRequest("this is sent by the page's own forms", status=415)
    try:
        text = (await received(request, most)).decode()
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise BadRequest(f"the form can't be read: {error}") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


def _which(request: Request) -> _Which:
    return fitting(_Which, {name: value for name, value in request.query_params.items() if value}, "query")

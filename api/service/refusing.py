"""Refusing: turns every error into a problem with a status, and a problem into JSON: `{"error": one line, "type":
its class, "fields": [what is wrong where]}`, and what a program needs to continue."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from batonpass.cli.failure import kind_of, needed, wrong_fields
from batonpass.cli.printing import line
from batonpass.contracts.errors import (
    BadSetup,
    BatonpassError,
    Conflict,
    ContractViolation,
    MissingExtra,
    NotFound,
    Refused,
    Unavailable,
    UnknownAgent,
    Unreachable,
    Unserializable,
)
from batonpass.contracts.jsonable import as_json
from batonpass.coordinator.coded.codec import MissingKey
from batonpass.coordinator.lifetime import Closed
from batonpass.coordinator.refusals import Denied, Elsewhere

_log = logging.getLogger("batonpass.service")
_STATUS: Mapping[type[BatonpassError], int] = {
    MissingKey: 500,
    MissingExtra: 500,
    Denied: 500,
    Elsewhere: 503,
    Closed: 503,
    NotFound: 404,
    Conflict: 409,
    ContractViolation: 422,
    BadSetup: 422,
    UnknownAgent: 422,
    Unserializable: 422,
    Unavailable: 503,
    Refused: 413,  # what none of the above is: a payload over its agent's max_payload
}
# Methods that change nothing.
SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_STOPPING = "the service is stopping before this was answered. It may be done or not: look, or send it again"
_FAILED = "this failed, and the service's log says why"
# Starlette's own errors in our words.
_WORDS = {404: "there is nothing at this path", 405: "this path does not take this method"}

Endpoint = Callable[[Request], Awaitable[Response]]


class BadRequest(Refused):
    """The request itself is wrong: `status` says how. `after`: the cursor to go on with instead. `kind`: the class."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        fields: Sequence[str] = (),
        after: str = "",
        kind: str = Refused.__name__,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.fields = tuple(fields)
        self.after = after
        self.kind = kind


@dataclass(frozen=True)
class Problem:
    """Why a request has no answer: the status, one line, the error's public class, what is wrong where, and what else
    programs need, by name."""

    status: int
    text: str
    kind: str = Refused.__name__
    fields: tuple[str, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain values as JSON, which no proxy or browser may keep."""
    content = as_json(value, no_number="strings")
    return Response(content, status, {"cache-control": "no-store", **(headers or {})}, "application/json")


def told(problem: Problem) -> Response:
    """A problem as JSON."""
    about = {"error": problem.text, "type": problem.kind, "fields": list(problem.fields), **problem.more}
    return answer(about, problem.status, problem.headers)


def refusing(
    endpoint: Endpoint, tell: Callable[[Request, Problem], Response] = lambda _, problem: told(problem)
) -> Endpoint:
    """An endpoint whose errors become responses, in the form that `tell` gives them."""

    async def answering(request: Request) -> Response:
        try:
            return await endpoint(request)
        except BatonpassError as error:
            return tell(request, problem_of(error, request.method))
        except CancelledError:  # the service is stopping, and has waited for this request as long as it does
            return tell(request, Problem(503, _STOPPING, Unavailable.__name__, headers={"connection": "close"}))
        except Exception:
            _log.exception("a request failed: %s %s", request.method, request.url.path)
            return tell(request, Problem(500, _FAILED, BatonpassError.__name__))

    return answering


def problem_of(error: BatonpassError, method: str = "GET") -> Problem:
    """One of our errors as a problem. What no caller can fix (a missing key or permission, damaged records, a store's
    file that was deleted) is the service's own fault: 500. But a service whose user may only read the store refuses
    what changes something, as it was set up to."""
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    kind = kind_of(error)
    if isinstance(error, Denied) and method not in SAFE:
        return Problem(403, line(f"this service may not change anything here: {error}"), kind)
    fields, more = wrong_fields(error), dict(needed(error))
    if isinstance(error, BadRequest):
        status, kind, fields = error.status, error.kind, tuple(map(line, error.fields))
        more |= {"after": error.after} if error.after else {}
    if isinstance(error, Unreachable) and error.lasting:
        status = 500
    if isinstance(error, Closed):
        return Problem(status, _STOPPING, Unavailable.__name__)
    return Problem(status, line(str(error)), kind, fields, more)


def unrouted(error: Exception) -> Problem:
    """An unknown path or method as a problem."""
    assert isinstance(error, HTTPException)
    return Problem(error.status_code, _WORDS.get(error.status_code, str(error.detail)), headers=error.headers or {})

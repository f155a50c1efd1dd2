"""Bodies: what requests bring, checked before anything is done with it."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request

from batonpass.contracts.bounds import MAX_PAYLOAD

from .refusing import BadRequest

_MOST = 1000  # questions in one page

B = TypeVar("B", bound=BaseModel)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(_Body):
    """An answer, and the id of the question that is meant."""

    answer: Any
    question: str | None = None


class Submission(_Body):
    """A job: what the agent is given, and the idempotency key."""

    agent: str
    payload: dict[str, Any]
    key: str | None = None


class Nothing(_Body):
    """No body, or an empty object."""


class Page(BaseModel):
    """Which questions are wanted: the parameters of a request."""

    model_config = ConfigDict(extra="forbid")

    assignee: str | None = None
    agent: str | None = None
    limit: int = 50
    after: str | None = None


async def body(request: Request, form: type[B]) -> B:
    """The request's body."""
    data = await _received(request)
    try:
        values = from_json(data or b"{}", allow_inf_nan=False)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    return _fitting(form, values, "body")


def page(request: Request) -> Page:
    """The request's parameters."""
    wanted = _fitting(Page, dict(request.query_params), "query")
    if not 1 <= wanted.limit <= _MOST:
        raise BadRequest(f"limit={wanted.limit}, but it is from 1 to {_MOST}; after= goes on behind the last one")
    return wanted


async def _received(request: Request) -> bytes:
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > MAX_PAYLOAD:
                raise BadRequest(f"the body has more than {MAX_PAYLOAD:,} bytes", status=413)
    except ClientDisconnect:
        raise BadRequest("the request ended before its body") from None
    return bytes(data)


def _fitting(form: type[B], values: Any, what: str) -> B:
    try:
        return form.model_validate(values)
    except ValidationError as error:
        fields = [f"{'.'.join(map(str, e['loc'])) or '(whole)'}: {e['msg']}" for e in error.errors(include_url=False)]
        raise BadRequest(f"the {what} is not what this path takes: {'; '.join(fields)}", fields=fields) from None

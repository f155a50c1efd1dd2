"""Bodies: the contents of requests, checked before anything is done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Annotated, Any, TypeVar, cast

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, ValidationError
from pydantic_core import PydanticCustomError, from_json
from starlette.requests import ClientDisconnect, Request

from batonpass.contracts.bounds import MAX_PAYLOAD
from batonpass.contracts.guard import Guard
from batonpass.contracts.job import OnBusy, Priority
from batonpass.contracts.options import SubmitOptions

from .refusing import BadRequest

_MOST = 1000  # questions, jobs or checkpoints in one page
_LONGEST = 60  # seconds that a request may wait: proxies give up about then

B = TypeVar("B", bound=BaseModel)
W = TypeVar("W", bound="_Query")


def _time(given: object) -> object:
    try:
        return datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise PydanticCustomError("time", "it is not a time, such as 2030-01-31T12:00:00Z") from None


_Time = Annotated[AwareDatetime, BeforeValidator(_time)]
# So that an error is about the form that was meant, not about both.
_Deadline = Annotated[
    Annotated[float, Tag("seconds")] | Annotated[_Time, Tag("time")],
    Discriminator(lambda given: "time" if isinstance(given, str) else "seconds"),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(_Body):
    """An answer, and the id of the question that is meant."""

    answer: Any
    question: str | None = None


class Limits(_Body):
    """A guard. Limits that are not given are `Guard`'s defaults."""

    hops: int | None = None
    repeats: int | None = None
    tokens: int | None = None
    cost: float | None = None

    @property
    def guard(self) -> Guard:
        """These limits as a guard."""
        return Guard(**self.model_dump(exclude_none=True))


class Redrive(_Body):
    """What to change before a failed job continues: its payload, values of its state by key, its limits."""

    payload: dict[str, Any] | None = None
    changes: dict[str, Any] | None = None
    guard: Limits | None = None


class Submission(_Body):
    """A job: what the agent is given, and the options that `submit` takes. Durations are seconds, times are text."""

    agent: str
    payload: dict[str, Any]
    key: str | None = None
    key_ttl: float | None = None
    thread: str | None = None
    delay: float | None = None
    at: _Time | None = None
    priority: Priority | None = None
    expires: float | None = None
    deadline: _Deadline | None = None
    guard: Limits | None = None
    trace: dict[str, str] | None = None
    on_busy: OnBusy | None = None

    @property
    def options(self) -> SubmitOptions:
        """The options that are given. null is the same as leaving one out."""
        given = self.model_dump(exclude_none=True, exclude={"agent", "payload"})
        if self.guard is not None:
            given["guard"] = self.guard.guard
        return cast("SubmitOptions", given)


class Nothing(_Body):
    """No body, or an empty object."""


class _Query(BaseModel):
    """The parameters of a request."""

    model_config = ConfigDict(extra="forbid")


class All(_Query):
    """No parameters, because everything is listed."""


class Show(_Query):
    """For how many seconds to wait for the job's end."""

    wait: float = Field(default=0, ge=0, le=_LONGEST)


class _Wanted(_Query):
    """What is wanted."""

    agent: str | None = None


class _Page(_Wanted):
    limit: int = 50


class Questions(_Page):
    """Which questions are wanted."""

    assignee: str | None = None
    after: str | None = None


class Jobs(_Page):
    """Which jobs are wanted."""

    state: str | None = None
    parent: str | None = None
    before: str | None = None


class Timeline(_Page):
    """Which checkpoints are wanted, of a thread or of the one that a job runs on."""

    thread: str
    step: str | None = None
    framework: str | None = None
    named: bool = False
    before: str | None = None


class Events(_Wanted):
    """Which events are wanted. `types` has commas between."""

    job: str | None = None
    thread: str = ""
    types: str = ""
    after: str = ""


async def body(request: Request, form: type[B]) -> B:
    """The request's body."""
    data = await received(request)
    try:
        values = from_json(data or b"{}", allow_inf_nan=False)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not _finite(values):
        raise BadRequest("the body holds a number that is too large: one beyond 1.8e308 would be infinite")
    return fitting(form, values, "body")


def parameters(request: Request, form: type[W]) -> W:
    """The request's parameters."""
    wanted = fitting(form, dict(request.query_params), "query")
    if isinstance(wanted, _Page) and not 1 <= wanted.limit <= _MOST:
        after = "after" if isinstance(wanted, Questions) else "before"
        raise BadRequest(
            f"limit={wanted.limit}, but it must be from 1 to {_MOST}; for the next page, pass the last one as {after}="
        )
    return wanted


async def received(request: Request, most: int = MAX_PAYLOAD) -> bytes:
    """The bytes of a request's body, of which there may be `most`."""
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > most:
                raise BadRequest(f"the body has more than {most:,} bytes", status=413)
    except ClientDisconnect:
        raise BadRequest("the request ended before its body") from None
    return bytes(data)


def fitting(form: type[B], values: Any, what: str) -> B:
    """Values as an instance of a form. `BadRequest` names what does not fit."""
    try:
        return form.model_validate(values)
    except ValidationError as error:
        fields = [f"{'.'.join(map(str, e['loc'])) or '(whole)'}: {e['msg']}" for e in error.errors(include_url=False)]
        raise BadRequest(f"the {what} is not what this path takes: {'; '.join(fields)}", fields=fields) from None


def _finite(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_finite, cast("Mapping[str, object]", value).values()))
    if isinstance(value, list):
        return all(map(_finite, cast("Sequence[object]", value)))
    return not isinstance(value, float) or isfinite(value)

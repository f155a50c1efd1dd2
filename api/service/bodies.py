"""Bodies: the contents of requests, checked before anything is done with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Annotated, Any, TypeVar, cast

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, from_json
from starlette.requests import ClientDisconnect, Request

from batonpass.contracts.bounds import MAX_PAYLOAD
from batonpass.contracts.guard import Guard
from batonpass.contracts.job import JobState, OnBusy, Priority
from batonpass.contracts.options import SubmitOptions
from batonpass.contracts.unfit import unfit

from .refusing import BadRequest

_MOST = 1000  # questions, jobs or checkpoints in one page
# How long a body may be for a payload: a client may write a letter of two bytes as \u00e9, and there is a form around.
_ESCAPED, _FORM = 3, 1024 * 1024
_LONGEST = 60  # seconds that a request may wait: proxies give up about then

B = TypeVar("B", bound=BaseModel)
W = TypeVar("W", bound="Query")


def _time(given: object) -> object:
    try:
        return datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise PydanticCustomError("time", "it is not a time, such as 2030-01-31T12:00:00Z") from None


Time = Annotated[AwareDatetime, BeforeValidator(_time)]
# So that an error is about the form that was meant, not about both.
_Deadline = Annotated[
    Annotated[float, Tag("seconds")] | Annotated[Time, Tag("time")],
    Discriminator(lambda given: "time" if isinstance(given, str | datetime) else "seconds"),
]


class Body(BaseModel):
    """What a request sends."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


class Answer(Body):
    """An answer to a job's question."""

    answer: Any
    """What the question's schema accepts."""
    question: str | None = None
    """The question that is meant. The answer is refused if the job asks another one by now."""
    by: str = ""
    """Who answers: kept in the event `batonpass.job.answered`."""


class Limits(Body):
    """A guard. Limits that are not given are `Guard`'s defaults, and in a redrive they stay as they are. A budget that
    is null is lifted."""

    hops: int | None = None
    repeats: int | None = None
    tokens: int | None = Field(default=None, json_schema_extra={"type": ["integer", "null"]})
    cost: float | None = Field(default=None, json_schema_extra={"type": ["number", "null"]})

    @property
    def guard(self) -> Guard:
        """These limits as a guard."""
        given = self.model_dump(exclude_unset=True)
        return Guard(**{name: given[name] for name in given if given[name] is not None or name in ("tokens", "cost")})


class Redrive(Body):
    """What to change before a failed job continues."""

    payload: dict[str, Any] | None = None
    """Instead of its payload."""
    changes: dict[str, Any] | None = None
    """Values of its state, by key, or by their place in one: `messages[0].content`. What is not there is refused.
    `effect:KEY` is the result of an effect whose outcome was unknown."""
    add: dict[str, Any] | None = None
    """Values under new keys of its state, or results of effects, as in `changes`."""
    guard: Limits | None = None
    """Limits to change. The others stay as they are."""
    not_done: list[str] = []
    """The keys of effects whose outcome was unknown, and which have not happened: they are called again."""
    lost_children: bool = False
    """Children that failed or were canceled go on, even if the job has done something since because of that."""


class JobForm(Body):
    """The options of a new job."""

    key: str | None = None
    """Idempotency key: a key that this agent knows returns the first job."""
    key_ttl: float | None = None
    """For how many seconds the key is known."""
    thread: str | None = None
    """Run on this thread instead of a new one."""
    delay: float | None = None
    """Start after so many seconds."""
    at: Time | None = None
    """Start at this time."""
    priority: Priority | None = None
    """Run before or after other jobs, at every agent."""
    expires: float | None = None
    """Fail if no worker starts it within so many seconds."""
    deadline: _Deadline | None = None
    """Fail if it has not ended within so many seconds, or by a time."""
    guard: Limits | None = None
    """Its limits."""
    trace: dict[str, str] | None = None
    """The caller's trace context, instead of the request's headers `traceparent`, `tracestate` and `baggage`."""

    def given(self, *but: str) -> dict[str, Any]:
        """The options that are given, but these. null is the same as leaving one out."""
        given = self.model_dump(exclude_none=True, exclude={*but})
        if self.guard is not None:
            given["guard"] = self.guard.guard
        return given


class Submission(JobForm):
    """A job: what the agent is given, and the options that `submit` takes."""

    agent: str
    payload: dict[str, Any]
    """What the agent's contract accepts: see its `schema` among the agents."""
    on_busy: OnBusy | None = None
    """If another job runs on the thread: be refused, wait for it, or cancel it and continue from its last checkpoint
    ("interrupt") or from where it began ("rollback")."""

    @property
    def options(self) -> SubmitOptions:
        """The options that are given."""
        return cast("SubmitOptions", self.given("agent", "payload"))


class Nothing(Body):
    """No body, or an empty object."""


class Query(BaseModel):
    """The parameters of a request."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class All(Query):
    """No parameters, because everything is listed."""


class Show(Query):
    """How a job is shown."""

    wait: float = Field(default=0, ge=0, le=_LONGEST)
    """Seconds to wait for the job's end."""


class Stream(Query):
    """From where a job's live output is wanted."""

    after: str = ""
    """The last id that was received, if the request has no header `Last-Event-ID`."""


_Limit = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": _MOST})]


class Threads(Query):
    """Which threads are wanted."""

    limit: _Limit = 50
    """The most in one page."""
    after: str = ""
    """The last page's last thread."""


class _Wanted(Query):
    """What is wanted."""

    agent: str | None = None
    """Only at, or of, this agent."""


class _Page(_Wanted):
    limit: _Limit = 50
    """The most in one page."""


class Questions(_Page):
    """Which questions are wanted."""

    assignee: str | None = None
    """Only what this person is asked."""
    job: str | None = None
    """Only what this job asks."""
    after: str | None = None
    """The last page's last question."""


class Jobs(_Page):
    """Which jobs are wanted."""

    state: Annotated[str, WithJsonSchema({"type": "string", "enum": list(JobState)})] | None = None
    """Only jobs in this state."""
    parent: str | None = None
    """Only this job's children."""
    children: bool = True
    """Whether jobs of fan-outs are wanted, too: with 0, only those that are nobody's children."""
    thread: str | None = None
    """Only the jobs on this thread."""
    key: str | None = None
    """Only the job that was submitted to this agent with this idempotency key. It is known until it expires."""
    since: AwareDatetime | None = None
    """Only the ones that were made at this time, or later."""
    until: AwareDatetime | None = None
    """Only the ones that were made before this time."""
    before: str | None = None
    """The last page's last job."""


class DeadLetters(_Page):
    """Which failed jobs are wanted."""

    reason: str | None = None
    """Only those that failed for this reason."""
    since: AwareDatetime | None = None
    """Only the ones that failed at this time, or later."""
    until: AwareDatetime | None = None
    """Only the ones that failed before this time."""
    before: str | None = None
    """The last page's last job."""


class Timeline(_Page):
    """Which checkpoints are wanted."""

    thread: str
    """A thread, or a job, whose thread is meant."""
    step: str | None = None
    """Only of this step."""
    framework: str | None = None
    """Only of this framework."""
    named: bool = False
    """Only the ones that have a name."""
    before: str | None = None
    """The last page's last checkpoint."""


class Events(_Wanted):
    """Which events are wanted."""

    job: str | None = None
    """Only this job's."""
    thread: str = ""
    """Only this thread's."""
    types: str = ""
    """Only these types, with commas between, such as `job.*,schedule.failed`."""
    after: str = ""
    """The last page's cursor. Without it, from the first event that is kept."""


async def body(request: Request, form: type[B]) -> B:
    """The request's body."""
    data = await received(request, _room(MAX_PAYLOAD), request.app.state.largest)
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
    if isinstance(wanted, _Page | Threads) and not 1 <= wanted.limit <= _MOST:
        after = "after" if isinstance(wanted, Questions | Threads) else "before"
        raise BadRequest(
            f"limit={wanted.limit}, but it must be from 1 to {_MOST}; for the next page, pass the last one as {after}="
        )
    return wanted


def _room(payload: int) -> int:
    return payload * _ESCAPED + _FORM


async def received(request: Request, most: int, largest: Callable[[], Awaitable[int]] | None = None) -> bytes:
    """The bytes of a request's body, of which there may be `most`, or as many as the largest payload needs: that is
    only asked for if it matters."""
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > most and largest is not None:
                most, largest = max(most, _room(await largest())), None
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
        fields = unfit(error)
        raise BadRequest(f"the {what} is not what this path takes: {'; '.join(fields)}", fields=fields) from None


def _finite(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_finite, cast("Mapping[str, object]", value).values()))
    if isinstance(value, list):
        return all(map(_finite, cast("Sequence[object]", value)))
    return not isinstance(value, float) or isfinite(value)

"""Spans: what an app's OpenTelemetry tracer learns about the code that runs here."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from hashlib import blake2b
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

from .session import Drained, LeaseSession
from .single import single

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer
    from opentelemetry.util.types import AttributeValue

_log = logging.getLogger("batonpass.worker")
_NONE = nullcontext()
# Seconds. An exporter would try for longer if its collector is gone.
_LAST_WORDS = 2.0


def attempt_span(tracer: Tracer | None, session: LeaseSession) -> AbstractContextManager[None]:
    """A block that is an attempt, as part of the trace that the job was submitted in, or of one that is its own."""
    if tracer is None:
        return _NONE
    # The first two are the names of OpenTelemetry's conventions for generative AI.
    about: dict[str, AttributeValue] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": session.agent,
        "batonpass.job": session.job_id,
        "batonpass.thread": session.thread,
        "batonpass.hop": session.hop,
        "batonpass.attempt": session.attempt,
    }
    return _span(partial(_attempt, tracer, session, about))


def call_span(session: LeaseSession, kind: str, name: str) -> AbstractContextManager[None]:
    """A block that is a step or an effect of an attempt."""
    return _NONE if session.tracer is None else _span(partial(_call, session.tracer, session, f"{kind} {name}"))


@contextmanager
def _attempt(tracer: Tracer, session: LeaseSession, about: dict[str, AttributeValue]) -> Generator[Span]:
    from opentelemetry.context import get_current
    from opentelemetry.propagate import extract, inject
    from opentelemetry.trace import SpanKind, get_current_span

    submitted = extract(session.trace)
    alone = not get_current_span(submitted).get_span_context().is_valid
    if alone:
        tracer = _of_job(tracer, session.job_id)
    name = f"invoke_agent {session.agent}"
    with _current(tracer, name, submitted, kind=SpanKind.CONSUMER, attributes=about) as span:
        session.traced = get_current()
        if alone:  # the next hop and the children belong to this span, and its sampler has decided for them, too
            here = dict(session.trace)
            inject(here)
            session.own_trace = here
        yield span


def _of_job(tracer: Tracer, job_id: str) -> Tracer:
    """A tracer whose next span without a parent belongs to the job's own trace: whichever worker makes an attempt
    gives its trace the same id. OpenTelemetry's API can't choose one, and a parent that was made up would be missing
    for ever and keep the user's sampler from deciding. Its SDK asks a generator that its tracers know."""
    from opentelemetry.trace import ProxyTracer

    own: Any = tracer
    if isinstance(tracer, ProxyTracer):  # made before the SDK was set up, it stands for the SDK's
        own = getattr(tracer, "_tracer", tracer)
    if hasattr(own, "id_generator"):
        own = copy.copy(own)
        own.id_generator = _Ids(own.id_generator, job_id)
    return cast("Tracer", own)


class _Ids:
    """A generator of ids, but for the trace's."""

    def __init__(self, others: Any, job_id: str) -> None:
        self._others = others
        self._trace_id = int.from_bytes(blake2b(job_id.encode(), digest_size=16).digest())

    def generate_trace_id(self) -> int:
        return self._trace_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._others, name)


def _call(tracer: Tracer, session: LeaseSession, name: str) -> AbstractContextManager[Span]:
    from opentelemetry.trace import INVALID_SPAN, get_current_span

    # A thread that the agent's code has started knows of no span.
    return _current(tracer, name, session.traced if get_current_span() is INVALID_SPAN else None)


@contextmanager
def _current(tracer: Tracer, name: str, context: Context | None, **options: Any) -> Generator[Span]:
    from opentelemetry.context import attach, detach

    # A tracer given a context only takes the span's parent from it. The baggage has to be current, too.
    token = None if context is None else attach(context)
    try:
        with tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False, **options
        ) as span:
            yield span
    finally:
        if token is not None:
            detach(token)


@contextmanager
def _span(made: Callable[[], AbstractContextManager[Span]]) -> Generator[None]:
    """A block in a span. What goes wrong with the span is only logged: the block's work is still to be recorded."""
    with ExitStack() as ending:
        span: Span | None = None
        with _logged():
            entered = made()
            span = entered.__enter__()
            ending.callback(_end, entered)
        try:
            yield
        except BaseException as error:
            with _logged():
                _note(span, single(error))
            raise


def _end(entered: AbstractContextManager[Span]) -> None:
    with _logged():
        entered.__exit__(None, None, None)


def _note(span: Span | None, error: BaseException) -> None:
    from opentelemetry.trace import Status, StatusCode

    # Anything else is control flow, such as a question, or a worker that stops.
    if span is not None and isinstance(error, Exception | SystemExit) and not isinstance(error, Drained):
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, type(error).__name__))


@contextmanager
def _logged() -> Generator[None]:
    try:
        yield
    except Exception as error:
        _log.warning("the app's tracer failed: %s: %s", type(error).__name__, error)


def send_spans(tracer: Tracer | None) -> None:
    """Send the spans that wait in this process, before it ends without Python's own ending."""
    if tracer is None:
        return
    from opentelemetry.trace import get_tracer_provider

    # The tracer may come from another provider than the global one. The SDK's tracers know their processor.
    for held in (get_tracer_provider(), getattr(tracer, "span_processor", None)):
        if flush := getattr(held, "force_flush", None):
            sending = Thread(target=flush, daemon=True)
            sending.start()
            sending.join(_LAST_WORDS)

"""Spans: what an app's OpenTelemetry tracer learns about the code that runs here."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Thread
from typing import TYPE_CHECKING

from .session import LeaseSession
from .single import single

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer
    from opentelemetry.util.types import AttributeValue

_NONE = nullcontext()
# Seconds. An exporter would try for longer if its collector is gone.
_LAST_WORDS = 2.0


def attempt_span(tracer: Tracer | None, session: LeaseSession) -> AbstractContextManager[None]:
    """A block that is an attempt, as part of the trace that the job was submitted in."""
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
    return _span(tracer, f"invoke_agent {session.agent}", about, session)


def call_span(tracer: Tracer | None, kind: str, name: str) -> AbstractContextManager[None]:
    """A block that is a step or an effect of an attempt."""
    return _NONE if tracer is None else _span(tracer, f"{kind} {name}", {})


@contextmanager
def _span(
    tracer: Tracer, name: str, about: dict[str, AttributeValue], session: LeaseSession | None = None
) -> Generator[None]:
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind, Status, StatusCode

    with tracer.start_as_current_span(
        name,
        context=extract(session.trace) if session else None,
        kind=SpanKind.CONSUMER if session else SpanKind.INTERNAL,
        attributes=about,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except BaseException as error:
            cause = single(error)
            if isinstance(cause, Exception | SystemExit):  # anything else is control flow, such as a question
                span.record_exception(cause)
                span.set_status(Status(StatusCode.ERROR, type(cause).__name__))
            raise


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

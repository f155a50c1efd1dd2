"""Tracing: the trace context that a request comes with."""

from __future__ import annotations

from starlette.requests import Request

from batonpass.coordinator.calls.inputs import fitting

_TRACE = ("traceparent", "tracestate", "baggage")  # the W3C's headers, which clients that trace send on their own


def trace_of(request: Request) -> dict[str, str]:
    """The trace context in a request's headers. (A header may come in several lines.)"""
    return fitting((name, ",".join(request.headers.getlist(name))) for name in _TRACE)

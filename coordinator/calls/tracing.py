"""Tracing: the trace context that a job gets from whoever submits it."""

from __future__ import annotations

from .inputs import fitting


def callers_trace() -> dict[str, str]:
    """OpenTelemetry's current context, as headers."""
    from opentelemetry.propagate import inject

    found = dict[str, str]()
    inject(found)
    return fitting(found.items())

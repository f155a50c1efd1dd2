"""An app whose tracer writes each finished span to a file, as a line of JSON, in whichever process it ended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

import batonpass as bp

from .agents import Done, Task


def _to_file() -> TracerProvider:
    provider = TracerProvider()
    out = (Path(os.environ["BATONPASS_TEST_GATES"]) / "spans.jsonl").open("a")
    lines = ConsoleSpanExporter(out=out, formatter=lambda span: f"{span.to_json(indent=None)}\n")
    # It waits for ten minutes, so what is in the file was sent at a process's end.
    provider.add_span_processor(BatchSpanProcessor(lines, schedule_delay_millis=600_000))
    return provider


trace.set_tracer_provider(_to_file())
app = bp.App("traced", tracer=trace.get_tracer("traced"))


@app.agent("here", accepts=Task, hands_to={"apart": Task})
async def here(task: Task, ctx: bp.Context) -> bp.Handoff:
    await ctx.step("look", len, task.text)
    return ctx.hand_off("apart", task)


@app.agent("apart", accepts=Task, returns=Done, isolation="process")
def apart(task: Task, ctx: bp.SyncContext) -> Any:
    return Done(words=[ctx.step("say", str.upper, task.text)])

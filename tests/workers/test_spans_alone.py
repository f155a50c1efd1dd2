"""Spans of a job that was submitted outside of a trace: its attempts, handoffs and children have one of their own."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, ParentBased, Sampler, SamplingResult
from opentelemetry.trace import Tracer

import batonpass as bp
from batonpass.testing import serving

from .agents import Done, Task
from .test_spans import context, parent


def provider(sampler: Sampler | None = None) -> tuple[TracerProvider, InMemorySpanExporter]:
    made, seen = TracerProvider(sampler=sampler), InMemorySpanExporter()
    made.add_span_processor(SimpleSpanProcessor(seen))
    return made, seen


def traced(tracer: Tracer | None) -> bp.App:
    app = bp.App("desk", tracer=tracer)

    @app.agent("first", accepts=Task, hands_to={"second": Task}, retries=bp.Retry(attempts=2, first=0.01))
    async def first(task: Task, ctx: bp.Context) -> bp.Handoff:
        await ctx.step("look", len, dict(ctx.trace))  # is the same in each attempt
        if ctx.attempt == 1:
            raise LookupError("once more")
        return ctx.hand_off("second", task)

    @app.agent("second", accepts=Task, returns=Done, hands_to={"child": Task})
    async def second(task: Task, ctx: bp.Context) -> Done:
        await ctx.fan_out([bp.Handoff("child", task), bp.Handoff("child", task)])
        return Done(words=[ctx.trace.get("baggage", "")])

    @app.agent("child", accepts=Task, returns=Done)
    async def child(task: Task) -> Done:
        return Done(words=[])

    return app


async def runs(app: bp.App, store_url: str = "memory://", **options: Any) -> list[str]:
    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("first", Task(text="x"), returns=Done, **options)
        return (await job.result(timeout=30)).words


def traces(spans: tuple[ReadableSpan, ...]) -> set[int]:
    return {context(span).trace_id for span in spans}


async def test_it_is_one_trace(store_url: str) -> None:
    tracers, seen = provider()
    await runs(traced(tracers.get_tracer("test")), store_url)
    spans = seen.get_finished_spans()
    assert len(traces(spans)) == 1
    by_name: dict[str, list[ReadableSpan]] = {}
    for span in spans:
        by_name.setdefault(span.name, []).append(span)
    failed, ended = by_name["invoke_agent first"]
    assert failed.parent is ended.parent is None  # no parent that nobody has ever seen
    for name, count in (("invoke_agent second", 2), ("invoke_agent child", 2)):
        assert [parent(span) for span in by_name[name]] == [context(ended).span_id] * count
    assert [parent(span) for span in by_name["step look"]] == [context(failed).span_id]


async def test_a_fallback_agent_belongs_to_the_attempt_that_failed() -> None:
    tracers, seen = provider()
    app = bp.App("desk", tracer=tracers.get_tracer("test"))

    @app.agent("first", accepts=Task, returns=Done, fallback="second", retries=1)
    async def first(task: Task) -> Done:
        raise LookupError

    app.agent("second", accepts=Task, returns=Done)(lambda task: Done(words=[]))
    await runs(app)
    failed, second = seen.get_finished_spans()
    assert (failed.parent, parent(second)) == (None, context(failed).span_id)


async def test_each_job_has_another() -> None:
    tracers, seen = provider()
    app = traced(tracers.get_tracer("test"))
    await runs(app)
    await runs(app)
    assert len(traces(seen.get_finished_spans())) == 2


async def test_what_the_caller_gave_besides_is_kept() -> None:
    tracers, seen = provider()
    assert await runs(traced(tracers.get_tracer("test")), trace={"baggage": "user=ann"}) == ["user=ann"]
    assert len(traces(seen.get_finished_spans())) == 1


class Deciding(Sampler):
    """Decides for each trace without a parent, and notes which those were."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision
        self.asked: list[int] = []

    def should_sample(self, parent_context: Any, trace_id: int, *_: Any, **__: Any) -> SamplingResult:
        self.asked.append(trace_id)
        return SamplingResult(self._decision)

    def get_description(self) -> str:
        return "Deciding"


@pytest.mark.parametrize(("decision", "spans"), [(Decision.RECORD_AND_SAMPLE, 7), (Decision.DROP, 0)])
async def test_the_users_sampler_decides_for_all_of_it(decision: Decision, spans: int) -> None:
    sampler = Deciding(decision)
    tracers, seen = provider(ParentBased(sampler))
    await runs(traced(tracers.get_tracer("test")))
    assert len(seen.get_finished_spans()) == spans
    assert len(sampler.asked) == 2  # for the attempts of the first hop, which have no parent
    assert len(set(sampler.asked)) == 1


async def test_nothing_of_a_trace_that_the_caller_does_not_sample_is_seen() -> None:
    tracers, seen = provider()
    with TracerProvider(sampler=ALWAYS_OFF).get_tracer("caller").start_as_current_span("request"):
        await runs(traced(tracers.get_tracer("test")))
    assert seen.get_finished_spans() == ()


async def test_a_tracer_from_before_the_sdk_was_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    early = trace.get_tracer("test")
    tracers, seen = provider()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", tracers)
    await runs(traced(early))
    assert len(traces(seen.get_finished_spans())) == 1


class Wrapped(Tracer):
    """Another maker's tracer: all that is known of it is OpenTelemetry's API."""

    def __init__(self, real: Tracer) -> None:
        self._real = real

    def start_span(self, *args: Any, **options: Any) -> Any:
        return self._real.start_span(*args, **options)

    def start_as_current_span(self, *args: Any, **options: Any) -> Any:
        return self._real.start_as_current_span(*args, **options)


async def test_with_a_tracer_of_another_kind_each_attempt_of_the_first_hop_has_its_own() -> None:
    tracers, seen = provider()
    await runs(traced(Wrapped(tracers.get_tracer("test"))))
    assert len(traces(seen.get_finished_spans())) == 2


async def test_without_a_tracer_there_is_no_trace() -> None:
    app = bp.App("desk")
    app.agent("it", accepts=Task, returns=Done)(lambda task: Done(words=list(bp.current().trace)))
    async with serving(app) as coordinator:
        assert (await (await coordinator.submit("it", Task(text="x"), returns=Done)).result(timeout=30)).words == []

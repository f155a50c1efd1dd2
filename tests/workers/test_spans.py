"""Spans: an app's tracer sees attempts, steps and effects, as parts of the trace of whoever submitted the job."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
from opentelemetry import baggage, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode, Tracer

import batonpass as bp
from batonpass.testing import serving
from batonpass.workers.spans import send_spans

from .agents import Done, Task
from .families import serving_apart
from .processes import Desk
from .serving import reached

LATE = bp.Retry(attempts=2, first=0.01)


class Spans:
    """What a tracer saw."""

    def __init__(self) -> None:
        self._seen = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._seen))
        self.tracer: Tracer = provider.get_tracer("test")

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._seen.get_finished_spans() if span.name == name]


@pytest.fixture
def spans() -> Spans:
    return Spans()


def parent(span: ReadableSpan) -> int:
    assert span.parent is not None
    return span.parent.span_id


def context(span: ReadableSpan) -> SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


def inside() -> str:
    """The trace that a library called by the agent's code would add its spans to."""
    return f"{trace.get_current_span().get_span_context().trace_id:x}"


async def test_attempts_steps_and_effects(spans: Spans, store_url: str) -> None:
    app = bp.App("desk", tracer=spans.tracer)

    @app.agent("first", accepts=Task, hands_to={"second": Task}, retries=LATE)
    async def first(task: Task, ctx: bp.Context) -> bp.Handoff:
        seen = await ctx.step("look", inside)
        if ctx.attempt == 1:
            raise LookupError("a secret")
        return ctx.hand_off("second", Task(text=seen))

    @app.agent("second", accepts=Task, returns=Done)
    def second(task: Task, ctx: bp.SyncContext) -> Done:
        return Done(words=[task.text, ctx.effect("tell", inside)])

    async with serving(app, store_url) as coordinator:
        with spans.tracer.start_as_current_span("request") as request:
            job = await coordinator.submit("first", Task(text="x"), returns=Done)
        told = await job.result(timeout=30)
    failed, ended = spans.named("invoke_agent first")
    [next_hop], [look], [tell] = (spans.named(name) for name in ("invoke_agent second", "step look", "effect tell"))
    for span in (failed, ended, next_hop):
        assert (parent(span), span.kind) == (request.get_span_context().span_id, SpanKind.CONSUMER)
    assert dict(next_hop.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "second",
        "batonpass.job": job.id,
        "batonpass.thread": job.id,
        "batonpass.hop": 1,
        "batonpass.attempt": 1,
    }
    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, "LookupError")
    assert [event.name for event in failed.events] == ["exception"]
    assert ended.status.status_code == next_hop.status.status_code == StatusCode.UNSET
    # The recorded step did not run again.
    assert (parent(look), parent(tell)) == (context(failed).span_id, context(next_hop).span_id)
    trace_id = f"{request.get_span_context().trace_id:x}"
    assert told.words == [trace_id, trace_id]


async def test_a_question_and_a_timeout(spans: Spans) -> None:
    app = bp.App("desk", tracer=spans.tracer)

    @app.agent("asks", accepts=Task, returns=Done)
    async def asks(task: Task, ctx: bp.Context) -> Done:
        return Done(words=[await ctx.ask("which?")])

    @app.agent("late", accepts=Task, returns=Done, timeout=0.05, retries=bp.Retry(attempts=1))
    async def late(task: Task, ctx: bp.Context) -> Done:
        await ctx.step("wait", anyio.sleep_forever)
        return Done(words=[])

    async with serving(app) as coordinator:
        job = await coordinator.submit("asks", Task(text="x"), returns=Done)
        late_job = await coordinator.submit("late", Task(text="x"))
        await reached(job, bp.JobState.INPUT_REQUIRED)
        await job.answer("this")
        await job.result(timeout=30)
        with pytest.raises(bp.JobFailed):
            await late_job.result(timeout=30)
    assert [span.status.status_code for span in spans.named("invoke_agent asks")] == [StatusCode.UNSET] * 2
    [attempt] = spans.named("invoke_agent late")
    assert attempt.status.description == "TimeoutError"


@pytest.mark.parametrize("how", ["hand_off", "fork"])
async def test_a_job_from_a_checkpoint_without_a_trace(how: str, spans: Spans) -> None:
    app = bp.App("desk", tracer=spans.tracer)
    app.agent("it", accepts=Task, returns=Done)(lambda task: Done(words=[inside()]))
    async with serving(app) as coordinator:
        saved = await coordinator.save(thread="t", agent="it", state={"text": "x"})
        with spans.tracer.start_as_current_span("request") as request:
            if how == "fork":
                job = await coordinator.fork(saved.id, agent="it")
            else:
                job = await coordinator.hand_off(saved.id, to="it")
        assert (await job.result(timeout=30)).words == [f"{request.get_span_context().trace_id:x}"]


async def test_steps_in_threads_of_the_agents_own(spans: Spans) -> None:
    app = bp.App("desk", tracer=spans.tracer)

    @app.agent("many", accepts=Task, returns=Done)
    def many(task: Task, ctx: bp.SyncContext) -> Done:
        with ThreadPoolExecutor() as pool:
            return Done(words=list(pool.map(lambda key: ctx.step("look", str.upper, key, key=key), "ab")))

    assert (await app.run("many", Task(text="x"), returns=Done)).words == ["A", "B"]
    [attempt] = spans.named("invoke_agent many")
    assert [parent(span) for span in spans.named("step look")] == [context(attempt).span_id] * 2


async def test_baggage_reaches_the_agents_code(spans: Spans) -> None:
    """... and its steps, also those in threads of its own. The next job has none of it."""
    app = bp.App("desk", tracer=spans.tracer)

    def user(*_: object) -> str:
        return str(baggage.get_baggage("user"))

    @app.agent("many", accepts=Task, returns=Done)
    def many(task: Task, ctx: bp.SyncContext) -> Done:
        with ThreadPoolExecutor() as pool:
            apart = pool.submit(ctx.step, "apart", user).result()
        return Done(words=[user(), ctx.step("look", user), apart])

    @app.agent("one", accepts=Task, returns=Done)
    async def one(task: Task, ctx: bp.Context) -> Done:
        return Done(words=[user(), await ctx.step("look", user)])

    async with serving(app) as coordinator:
        for agent, steps in (("many", 3), ("one", 2)):
            for given, expected in (({"baggage": "user=ann"}, "ann"), ({}, "None")):
                job = await coordinator.submit(agent, Task(text="x"), returns=Done, trace=given)
                assert (await job.result(timeout=30)).words == [expected] * steps


async def test_a_worker_that_stops_is_no_error(spans: Spans) -> None:
    app, begun, go_on = bp.App("desk", tracer=spans.tracer), anyio.Event(), anyio.Event()

    @app.agent("long", accepts=Task, returns=Done)
    async def long(task: Task, ctx: bp.Context) -> Done:
        begun.set()
        await go_on.wait()
        await ctx.step("look", str.upper, "x")
        return Done(words=[])

    async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator) as worker:
        job = await coordinator.submit("long", Task(text="x"))
        await begun.wait()
        worker.stop()
        go_on.set()
        await reached(job, bp.JobState.SUBMITTED)
    [attempt] = spans.named("invoke_agent long")
    assert attempt.status.status_code == StatusCode.UNSET


class Failing(SpanProcessor):
    """Raises where it is told to."""

    def __init__(self, where: str) -> None:
        self._where = where

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if self._where == "start":
            raise LookupError("no")

    def on_end(self, span: ReadableSpan) -> None:
        if self._where == "end":
            raise LookupError("no")


@pytest.mark.parametrize("where", ["start", "end"])
async def test_a_tracer_that_fails_costs_no_work(where: str, caplog: pytest.LogCaptureFixture) -> None:
    provider = TracerProvider()
    provider.add_span_processor(Failing(where))
    app, ran = bp.App("desk", tracer=provider.get_tracer("test")), list[str]()

    @app.agent("pays", accepts=Task, returns=Done)
    async def pays(task: Task, ctx: bp.Context) -> Done:
        await ctx.step("look", ran.append, "look")
        await ctx.effect("pay", ran.append, "pay")
        return Done(words=ran)

    assert (await app.run("pays", Task(text="x"), returns=Done)).words == ["look", "pay"]
    assert caplog.messages.count("the app's tracer failed: LookupError: no") == 3


def graph() -> Any:
    from langgraph.graph import END, START, StateGraph

    def node(state: Task) -> dict[str, Any]:
        return {"text": inside()}

    made = StateGraph(Task)
    made.add_node("node", node)
    made.add_edge(START, "node")
    made.add_edge("node", END)
    return made


def flow() -> Any:
    from crewai.flow.flow import Flow, start

    class Inside(Flow[Any]):
        @start()
        def begin(self) -> str:
            return inside()

    return Inside()


def team() -> Any:
    from autogen_agentchat.agents import BaseChatAgent
    from autogen_agentchat.base import Response
    from autogen_agentchat.messages import TextMessage

    class Inside(BaseChatAgent):
        @property
        def produced_message_types(self) -> Any:
            return (TextMessage,)

        async def on_messages(self, messages: Any, cancellation_token: Any) -> Response:
            return Response(chat_message=TextMessage(content=inside(), source=self.name))

        async def on_reset(self, cancellation_token: Any) -> None: ...

    return Inside("inside", "an agent")


@pytest.mark.parametrize(
    ("kind", "factory", "text"),
    [
        ("langgraph", graph, lambda state: state["text"]),
        ("crewai", flow, str),
        ("autogen", team, lambda result: result.messages[-1].content),
    ],
)
async def test_a_frameworks_code_runs_inside(kind: str, factory: Any, text: Any, spans: Spans) -> None:
    app = bp.App("desk", tracer=spans.tracer)
    app.agent("it", kind=kind, accepts=Task, returns=Done, leave=lambda result, ctx: Done(words=[text(result)]))(
        factory
    )
    async with serving(app) as coordinator:
        told = await (await coordinator.submit("it", Task(text="x"), returns=Done)).result(timeout=60)
    [attempt] = spans.named("invoke_agent it")
    assert told.words == [f"{context(attempt).trace_id:x}"]
    assert attempt.parent is None


def test_in_processes_that_end(desk: Desk) -> None:
    worker = serving_apart(desk, "here,apart", app="tests.workers.traced:app")
    with bp.connect(desk.url) as coordinator:
        trace_id = "0af7651916cd43dd8448eb211c80319c"
        traceparent = f"00-{trace_id}-b7ad6b7169203331-01"
        job = coordinator.submit("here", {"text": "x"}, trace={"traceparent": traceparent})
        assert job.result(timeout=60).words == ["X"]
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0, worker.said()
    found = [json.loads(line) for line in (desk.folder / "spans.jsonl").read_text().splitlines()]
    names = {span["name"]: span["context"]["trace_id"] for span in found}
    assert names == dict.fromkeys(["invoke_agent here", "step look", "invoke_agent apart", "step say"], f"0x{trace_id}")


def test_what_waits_in_a_provider_of_its_own_is_sent() -> None:
    seen, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(seen, schedule_delay_millis=600_000))
    tracer = provider.get_tracer("test")
    tracer.start_span("waits").end()
    assert seen.get_finished_spans() == ()
    send_spans(tracer)
    assert [span.name for span in seen.get_finished_spans()] == ["waits"]
    provider.shutdown()


def test_what_is_no_tracer() -> None:
    with pytest.raises(bp.BadSetup, match=r"tracer='desk', but it must be OpenTelemetry's: trace.get_tracer\('desk'\)"):
        bp.App("desk", tracer="desk")  # type: ignore[arg-type]

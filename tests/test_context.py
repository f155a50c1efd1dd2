"""What an agent's code gets as `ctx`: steps that are recorded once, questions, and itself by `bp.current()`."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio import to_thread

import batonpass as bp
from batonpass.coordinator.blobs import open_envelope
from batonpass.coordinator.commands import ReadJob

from .workers.serving import DEADLINE, Ask, Reply, kinds, only, reached, serving


class Broken(Exception):
    """Agents raise it at their first attempt, so that they run again with what they have recorded."""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without the wait."""
    monkeypatch.setattr("batonpass.contracts.retry.Retry.pause", lambda *_: 0.01)


async def run(agent: Callable[..., Any], url: str = "memory://", ask: Ask | None = None, **options: Any) -> str:
    """The text that the agent replies with."""
    async with serving(only(agent, **options), url) as coordinator:
        job = await coordinator.submit("a", ask or Ask(), returns=Reply, key="ticket")
        return (await job.result(timeout=DEADLINE)).text


async def failure(agent: Callable[..., Any], **options: Any) -> bp.JobFailed:
    """How the agent's job fails."""
    with pytest.raises(bp.JobFailed) as failed:
        await run(agent, **options)
    return failed.value


async def test_it_tells_about_the_job() -> None:
    told: list[dict[str, Any]] = []

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        for each in (ctx, ctx.sync):
            names = ("agent", "hop", "attempt", "key", "job_id", "thread", "token", "payload")
            told.append({name: getattr(each, name) for name in names})
        assert ctx.lease.token == ctx.token
        assert ctx.resources is None
        ctx.check()
        return Reply(text=ctx.job_id)

    job_id = await run(agent, ask=Ask(text="x"))
    assert told[0] == told[1]
    token = told[0].pop("token")
    assert token > 0
    assert told[0] == {
        "agent": "a",
        "hop": 0,
        "attempt": 1,
        "key": "ticket",
        "job_id": job_id,
        "thread": job_id,
        "payload": Ask(text="x"),
    }


@pytest.mark.parametrize("how", ["async", "sync"])
async def test_a_step_is_recorded_once_by_name_and_ordinal(how: str, store_url: str) -> None:
    ran: Counter[str] = Counter()

    def work(value: str) -> str:
        ran[value] += 1
        return value.upper()

    async def awork(value: str) -> str:
        return work(value)

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        words = [await ctx.step("load", work, "a"), await ctx.step("load", awork, "b")]
        words += [await ctx.step("load", work, value=value) for value in ("c", "d")]
        if ctx.attempt == 1:
            raise Broken
        return Reply(text="".join([*words, await ctx.step("last", work, "e")]))

    def sync_agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        words = [ctx.step("load", work, value) for value in ("a", "b")]
        words += [ctx.step("load", work, value=value) for value in ("c", "d")]
        if ctx.attempt == 1:
            raise Broken
        return Reply(text="".join([*words, ctx.step("last", work, "e")]))

    async with serving(only(agent if how == "async" else sync_agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "ABCDE"
        timeline = await coordinator.timeline(thread=job.id)
        assert [cp.step for cp in reversed(timeline)] == ["load", "load#1", "load#2", "load#3", "last"]
        assert (await coordinator.restore(timeline[0].id)).state == {
            "load": "A",
            "load#1": "B",
            "load#2": "C",
            "load#3": "D",
            "last": "E",
        }
    assert ran == Counter("abcde")


async def test_names_of_steps_do_not_run_into_each_other() -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        names: list[tuple[str, str | None]] = [("a", None), ("a", None), ("a#1", None), ("a:b", None), ("a", "b")]
        names += [("a:b", "c"), ("a", "b:c"), ("a\\", "b"), ("a\\:b", None), ("effect", "b"), ("ask", None)]
        got = [await ctx.step(name, lambda at=at: at, key=key) for at, (name, key) in enumerate(names)]
        assert got == [*range(len(names))]
        return Reply(text=await ctx.effect("b", lambda: "done"))

    assert await run(agent) == "done"


async def test_a_new_hop_has_steps_of_its_own() -> None:
    app = bp.App("again")

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"a": Ask})
    async def again(ask: Ask, ctx: bp.Context) -> bp.Contract | bp.Handoff:
        made = await ctx.step("make", str, f"hop {ctx.hop}")
        return ctx.hand_off("a", Ask(text=ask.text + made)) if ctx.hop < 2 else Reply(text=ask.text + made)

    assert await app.run("a", Ask(), returns=Reply, timeout=DEADLINE) == Reply(text="hop 0hop 1hop 2")


async def test_a_handoff_names_the_checkpoint_that_it_was_made_at() -> None:
    app = bp.App("desk")

    @app.agent("a", accepts=Ask, hands_to={"b": Ask})
    async def first(ask: Ask, ctx: bp.Context) -> bp.Handoff:
        await ctx.step("make", str, 1)
        return ctx.hand_off("b", ask)

    @app.agent("b", accepts=Ask, returns=Reply)
    async def second(ask: Ask) -> Reply:
        return Reply(text=ask.text)

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await job.result(timeout=DEADLINE)
        row = await coordinator.store.acall(ReadJob(job.id))
        [newest, *_] = [each.id for each in await coordinator.timeline(thread=job.id) if each.agent == "a"]
    assert open_envelope(row.envelope, of="the envelope").checkpoint == newest


@pytest.mark.parametrize("of", [str, lambda attempt: Ask(text=str(attempt))], ids=["a text", "a contract"])
@pytest.mark.parametrize("how", ["async", "sync"])
async def test_changed_arguments_of_a_recorded_step_are_an_error(how: str, of: Callable[[int], object]) -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("load", str, of(ctx.attempt))
        raise Broken

    def sync_agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.step("load", str, of(ctx.attempt))
        raise Broken

    error = await failure(agent if how == "async" else sync_agent)
    assert error.reason == "refused"
    assert "step 'load' of job" in error.error
    assert "recorded with other arguments" in error.error


@pytest.mark.parametrize("how", ["step", "effect"])
async def test_async_code_in_a_plain_def_is_refused_before_it_begins(how: str) -> None:
    async def load() -> str:
        raise AssertionError

    def agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        getattr(ctx, how)("load", load)
        raise AssertionError

    error = await failure(agent)
    assert error.reason == "refused"
    assert f"{how} 'load' is async: write the agent as `async def`" in error.error


async def test_arguments_are_compared_by_value() -> None:
    class Client:
        """Not plain: compared by its type."""

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        arguments = (Client(), {"tags": {"b", "a"}, "n": [1, 2.5]}, ask, b"x", None)
        got = await ctx.step("load", lambda *given: len(given), *arguments)
        if ctx.attempt == 1:
            raise Broken
        return Reply(text=str(got))

    assert await run(agent) == "5"


@pytest.mark.parametrize("levels", [1200, 5000])
async def test_arguments_that_are_too_deep_are_refused(levels: int) -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        deep: list[Any] = []
        for _ in range(levels):
            deep = [deep]
        await ctx.step("load", len, deep)
        raise AssertionError

    error = await failure(agent)
    assert error.reason == "refused"
    assert "the arguments of step 'load' can't be recorded: they are nested too deep" in error.error


@pytest.mark.parametrize("waits", [True, False])
async def test_the_same_name_at_once_needs_keys(waits: bool) -> None:
    """In memory as elsewhere, where the end of a step is waited for, too."""
    gate = anyio.Event()

    async def wait(value: int) -> int:
        if waits:
            await gate.wait()
        return value

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        async with asyncio.TaskGroup() as tasks:
            for value in (1, 2):
                tasks.create_task(ctx.step("load", wait, value))
        raise AssertionError

    error = await failure(agent)
    assert (error.reason, "step 'load' runs twice at once: give each call its own key=" in error.error) == (
        "refused",
        True,
    )


async def test_keyed_steps_run_at_once_and_are_told_apart(store_url: str) -> None:
    ran: Counter[int] = Counter()
    inside = 0

    async def together(value: int) -> int:
        nonlocal inside
        ran[value] += 1
        inside += 1
        with anyio.fail_after(DEADLINE):
            while inside < 3:
                await anyio.sleep(0.001)
        return value * 10

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        order = (1, 2, 3) if ctx.attempt == 1 else (3, 1, 2)
        got = await asyncio.gather(*(ctx.step("load", together, value, key=str(value)) for value in order))
        if ctx.attempt == 1:
            raise Broken
        return Reply(text=str(got))

    assert await run(agent, store_url) == "[30, 10, 20]"
    assert ran == {1: 1, 2: 1, 3: 1}


async def test_a_step_that_raises_is_not_recorded() -> None:
    tries: list[int] = []

    def work() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise Broken
        return "done"

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            return Reply(text=await ctx.step("load", work))
        except Broken:
            return Reply(text=await ctx.step("load", work))

    # The second call of the first attempt is load#1, and raises too; the second attempt's first call succeeds.
    assert await run(agent) == "done"
    assert len(tries) == 3


@pytest.mark.parametrize("how", ["async", "sync"])
async def test_a_question_suspends_the_job_and_its_answer_resumes_it(how: str, store_url: str) -> None:
    ran: Counter[str] = Counter()

    def work(label: str) -> str:
        ran[label] += 1
        return label

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("first", work, "first")
        colour = await ctx.ask({"question": "which colour?", "choices": ["red", "blue"]})
        sure = await ctx.ask("sure?")
        if ctx.attempt == 1:
            raise Broken
        return Reply(text=f"{colour} {sure}")

    def sync_agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.step("first", work, "first")
        colour = ctx.ask({"question": "which colour?", "choices": ["red", "blue"]})
        sure = ctx.ask("sure?")
        if ctx.attempt == 1:
            raise Broken
        return Reply(text=f"{colour} {sure}")

    async with serving(only(agent if how == "async" else sync_agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.INPUT_REQUIRED)
        assert info.question == {"question": "which colour?", "choices": ["red", "blue"]}
        assert info.lease is None
        with pytest.raises(bp.ResultTimeout, match=r"it asks .*which colour"):
            await job.result(timeout=0)
        await job.answer(("red", 7))
        with anyio.fail_after(DEADLINE):
            while (info := await job.info()).question != "sure?":
                await anyio.sleep(0.005)
        await job.answer(True)
        assert (await job.result(timeout=DEADLINE)).text == "('red', 7) True"
        with pytest.raises(bp.WrongState, match="is completed: it has no open question"):
            await job.answer("too late")
        assert (await kinds(coordinator, job)).count("job.suspended") == 2
    assert ran == {"first": 1}


async def test_agents_code_can_not_swallow_a_question() -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            answer = await ctx.ask("really?")
        except Exception:
            answer = "swallowed"
        return Reply(text=answer)

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        await job.answer("yes")
        assert (await job.result(timeout=DEADLINE)).text == "yes"


async def test_current_is_the_context_wherever_the_job_runs() -> None:
    seen: dict[str, object] = {}

    def look(where: str) -> None:
        seen[where] = bp.current().job_id

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        assert bp.current() is ctx
        await ctx.step("step", look, "sync step")
        await to_thread.run_sync(look, "anyio thread")
        await asyncio.to_thread(look, "asyncio thread")
        await asyncio.create_task(asyncio.to_thread(look, "task"))
        return Reply(text=ctx.job_id)

    def sync_agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        assert bp.current().sync is ctx
        look("sync")
        bp.current().sync.step("step", look, "sync step of sync")
        return Reply(text=ctx.job_id)

    places = {"sync step", "anyio thread", "asyncio thread", "task"}
    assert await run(agent) in {str(job_id) for job_id in seen.values()}
    assert (set(seen), len(set(seen.values()))) == (places, 1)
    seen.clear()
    assert await run(sync_agent) in {str(job_id) for job_id in seen.values()}
    assert (set(seen), len(set(seen.values()))) == ({"sync", "sync step of sync"}, 1)


async def test_jobs_that_run_at_once_have_their_own_contexts() -> None:
    barrier = threading.Barrier(4)

    def agent(ask: Ask) -> Reply:
        barrier.wait(DEADLINE)
        return Reply(text=bp.current().payload.text)  # type: ignore[attr-defined]

    async with serving(only(agent), concurrency=4) as coordinator:
        jobs = [await coordinator.submit("a", Ask(text=text), returns=Reply) for text in "abcd"]
        assert [(await job.result(timeout=DEADLINE)).text for job in jobs] == list("abcd")


def test_outside_of_a_job_there_is_no_context() -> None:
    with pytest.raises(bp.NoJob, match=r"outside of a job.* pass the context on"):
        bp.current()


async def test_ctx_may_be_left_out() -> None:
    assert await run(lambda ask: Reply(text=ask.text), ask=Ask(text="x")) == "x"

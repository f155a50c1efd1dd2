"""Agents stream while they run; readers get it live and in order until the job ends."""

from __future__ import annotations

import threading

import anyio
import pytest

import batonpass as bp

from .serving import Ask, Reply, only, serving


async def test_it_is_read_while_the_agent_runs(store_url: str) -> None:
    heard = anyio.Event()

    async def talks(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.emit("one")
        await heard.wait()
        await ctx.emit({"two": 2}, b"three")
        return Reply(text="done")

    async with serving(only(talks), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        got = []
        with anyio.fail_after(30):
            async for part in job.stream():
                got.append(part)
                heard.set()
        assert got == ["one", {"two": 2}, b"three"]
        assert (await job.result(timeout=30)).text == "done"


def test_in_sync_code(store_url: str) -> None:
    def talks(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.emit(*range(700))
        return Reply(text="done")

    app = only(talks)
    done = threading.Event()

    async def work() -> None:
        async with serving(app, store_url):
            await anyio.to_thread.run_sync(done.wait, 30)

    worker = threading.Thread(target=anyio.run, args=(work,))
    worker.start()
    try:
        with bp.connect(store_url, app=app) as coordinator:
            assert list(coordinator.submit("a", Ask()).stream()) == list(range(700))
    finally:
        done.set()
        worker.join()


async def test_a_reader_that_reconnects_continues_after_its_cursor(store_url: str) -> None:
    async def talks(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.emit(*range(1200))  # of which the last 1,000 are kept: a reader can't find its place by counting
        return Reply(text="done")

    app = only(talks)
    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await job.result(timeout=30)
        parts = [part async for part in job.parts()]
        assert [part.data for part in parts] == list(range(200, 1200))
        again = [part.data async for part in coordinator.job(job.id).parts(after=parts[499].cursor)]
        assert again == list(range(700, 1200))
        assert [part async for part in job.parts(after=parts[-1].cursor)] == []
        for made_up in ("x", "9" * 30, "9" * 20 + "-1", "\u00b2", None):  # by a browser: SSE's Last-Event-ID
            with pytest.raises(bp.BadSetup, match=r"is not a part cursor: use the \.cursor of a part"):
                _ = [part async for part in job.parts(after=made_up)]  # type: ignore[arg-type]
    if store_url != "memory://":  # whose contents ended with the connection
        with bp.connect(store_url, app=app) as sync:
            assert [part.data for part in sync.job(job.id).parts(after=parts[499].cursor)] == again


async def test_what_can_not_be_stored_is_refused(store_url: str) -> None:
    async def talks(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.emit(object())
        return Reply(text="")

    async with serving(only(talks, retries=1), store_url) as coordinator:
        with pytest.raises(bp.JobFailed, match="emitted can't be saved"):
            await (await coordinator.submit("a", Ask())).result(timeout=30)

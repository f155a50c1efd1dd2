"""Errors of effects in tasks and threads beside an agent's own: whether its code was given them, and went on."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import pytest

import batonpass as bp

from ..harness.waiting import wait_until
from .serving import Ask, Reply, only, serving

Acts: TypeAlias = Callable[[bp.Context], Awaitable[Any]]
ONCE = bp.Retry(attempts=1)


async def lost() -> None:
    raise ConnectionError("the reply was lost")


def lost_there() -> None:
    raise ConnectionError("the reply was lost")


def pays(ctx: bp.Context) -> asyncio.Task[Any]:
    return asyncio.create_task(ctx.effect("pay", lost))


async def settled(task: asyncio.Task[Any]) -> None:
    with contextlib.suppress(ConnectionError):
        await task


@contextlib.contextmanager
def logged() -> Iterator[None]:
    try:
        yield
    except ConnectionError:
        return


async def in_a_manager(ctx: bp.Context) -> None:
    with logged():
        await asyncio.gather(ctx.effect("pay", lost), asyncio.sleep(0))


async def by_a_helper(ctx: bp.Context) -> None:
    task = pays(ctx)
    await asyncio.wait([task])
    await settled(task)


async def in_a_generator(ctx: bp.Context) -> None:
    async def each() -> AsyncIterator[str]:
        for key in ("pay", "mail"):
            with contextlib.suppress(ConnectionError):
                await asyncio.create_task(ctx.effect(key, lost))
            yield key

    assert [key async for key in each()] == ["pay", "mail"]


async def in_an_awaitable(ctx: bp.Context) -> None:
    class Payment:
        def __await__(self) -> Generator[Any, None, None]:
            return settled(pays(ctx)).__await__()

    await Payment()


async def in_a_task_of_its_own(ctx: bp.Context) -> None:
    await asyncio.gather(settled(pays(ctx)))


async def one_after_the_other(ctx: bp.Context) -> None:
    tasks = [pays(ctx), asyncio.create_task(ctx.effect("mail", lost))]
    await asyncio.wait(tasks)
    for task in tasks:
        await settled(task)


async def from_a_thread(ctx: bp.Context) -> None:
    with contextlib.suppress(ConnectionError):
        await asyncio.to_thread(ctx.sync.effect, "pay", lost_there)


async def from_a_loop_in_a_thread(ctx: bp.Context) -> None:
    async def main() -> None:
        ctx.sync.effect("pay", lost_there)

    with contextlib.suppress(ConnectionError):
        await asyncio.to_thread(asyncio.run, main())


async def in_the_workers_of_a_queue(ctx: bp.Context) -> None:
    """As in asyncio's documentation. They are cancelled while they wait for more to do."""
    queue: asyncio.Queue[str] = asyncio.Queue()

    async def work() -> None:
        while True:
            key = await queue.get()
            try:
                await ctx.effect(key, lost)
            except ConnectionError:
                await asyncio.sleep(0)
            finally:
                queue.task_done()

    for number in range(4):
        queue.put_nowait(f"pay {number}")
    workers = [asyncio.create_task(work()) for _ in range(2)]
    await queue.join()
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)


async def in_a_task_that_is_left(ctx: bp.Context) -> None:
    async def work() -> None:
        await settled(pays(ctx))
        with contextlib.suppress(ConnectionError):
            await ctx.effect("mail", lost)
        given.set()
        await asyncio.sleep(60)

    given = asyncio.Event()
    task = asyncio.create_task(work())
    await given.wait()
    await asyncio.sleep(0)
    TASKS.add(task)


async def in_one_that_is_cut_off_later(ctx: bp.Context) -> None:
    """And who waits for it takes the error that tells."""

    async def work() -> None:
        with contextlib.suppress(ConnectionError):
            await ctx.effect("pay", lost)
        await asyncio.sleep(60)

    task = asyncio.create_task(work())
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.1):
            await task


TASKS: set[asyncio.Task[Any]] = set()
KNOWN = [
    in_the_workers_of_a_queue,
    in_a_task_that_is_left,
    in_one_that_is_cut_off_later,
    in_a_manager,
    by_a_helper,
    in_a_generator,
    in_an_awaitable,
    in_a_task_of_its_own,
    one_after_the_other,
    from_a_thread,
    from_a_loop_in_a_thread,
]


async def outcome(acts: Acts) -> tuple[str, str]:
    """How a job ends whose agent acts like this: its state, and why."""

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await acts(ctx)
        return Reply(text="done")

    async with serving(only(agent, retries=ONCE), "memory://") as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with contextlib.suppress(bp.JobFailed):
            await job.result(timeout=30)
        info = await job.info()
        return info.state, info.reason


@pytest.mark.parametrize("acts", KNOWN)
async def test_caught(acts: Acts) -> None:
    assert await outcome(acts) == ("completed", "")


async def in_a_task_that_failed_with_it(ctx: bp.Context) -> None:
    async def pay() -> None:
        await pays(ctx)

    await asyncio.wait([asyncio.create_task(pay())])


async def in_a_task_that_failed_because_of_it(ctx: bp.Context) -> None:
    async def pay() -> None:
        try:
            await asyncio.gather(pays(ctx))
        except ConnectionError as error:
            raise LookupError("not paid") from error

    await asyncio.wait([asyncio.create_task(pay())])


async def in_a_task_that_goes_on(ctx: bp.Context) -> None:
    given = asyncio.Event()

    async def pay() -> None:
        try:
            await pays(ctx)
        except ConnectionError:
            given.set()
            await asyncio.sleep(60)
            raise

    TASKS.add(asyncio.create_task(pay()))
    await given.wait()


async def in_one_that_is_cut_off_before(ctx: bp.Context) -> None:
    cleans = asyncio.Event()

    async def pay() -> None:
        try:
            await ctx.effect("pay", lost)
        finally:
            cleans.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(pay())
    await cleans.wait()
    task.cancel()
    await asyncio.wait([task])


async def in_one_that_is_cut_off_before_by_who_waits(ctx: bp.Context) -> None:
    async def clean() -> None:
        await asyncio.sleep(60)

    async def pay() -> None:
        try:
            await ctx.effect("pay", lost)
        finally:
            await clean()

    task = asyncio.create_task(pay())
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.1):
            await task


async def in_a_generator_that_goes_on(ctx: bp.Context) -> None:
    async def each() -> AsyncIterator[str]:
        try:
            await ctx.effect("pay", lost)
            yield "paid"
        finally:
            given.set()
            await asyncio.sleep(60)

    async def pay() -> None:
        async for _ in each():
            pass

    given = asyncio.Event()
    TASKS.add(asyncio.create_task(pay()))
    await given.wait()
    await asyncio.sleep(0)


async def in_one_of_two_that_share_it(ctx: bp.Context) -> None:
    """As of a client all of whose calls fail at once."""
    error = ConnectionError("the connection was lost")

    async def shared() -> None:
        raise error

    await asyncio.wait([asyncio.create_task(ctx.effect("pay", shared))])
    with contextlib.suppress(ConnectionError):
        await ctx.effect("mail", shared)


async def in_a_thread_that_failed_with_it(ctx: bp.Context) -> None:
    await asyncio.wait([asyncio.create_task(asyncio.to_thread(ctx.sync.effect, "pay", lost_there))])


async def in_a_pool_that_nobody_asked(ctx: bp.Context) -> None:
    def agent() -> None:
        with ThreadPoolExecutor() as pool:
            pool.submit(ctx.sync.effect, "pay", lost_there)

    await asyncio.to_thread(agent)


UNKNOWN = [
    in_a_task_that_failed_with_it,
    in_a_task_that_failed_because_of_it,
    in_a_task_that_goes_on,
    in_one_that_is_cut_off_before,
    in_one_that_is_cut_off_before_by_who_waits,
    in_a_generator_that_goes_on,
    in_one_of_two_that_share_it,
    in_a_thread_that_failed_with_it,
    in_a_pool_that_nobody_asked,
]


@pytest.mark.parametrize("acts", UNKNOWN)
async def test_left(acts: Acts) -> None:
    assert await outcome(acts) == ("failed", "ambiguous")


async def test_what_was_caught_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither errors nor the frames in their tracebacks, with all that is in them."""
    alive: weakref.WeakSet[threading.Event] = weakref.WeakSet()

    async def pay(ctx: bp.Context, key: str) -> None:
        document = threading.Event()
        alive.add(document)
        with contextlib.suppress(ConnectionError):
            await asyncio.create_task(ctx.effect(key, lost))
        assert not document.is_set()

    async def acts(ctx: bp.Context) -> None:
        for number in range(20):
            await pay(ctx, f"pay {number}")
        gc.collect()
        wait_until(lambda: len(alive) <= 2, timeout=10, what="errors that were caught keep what was beside them")

    assert await outcome(acts) == ("completed", "")

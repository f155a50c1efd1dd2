"""Errors of effects in tasks and threads beside an agent's own: whether its code was given them, and went on."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import anyio
import pytest

import batonpass as bp

from ..harness.waiting import wait_until
from .catching import TASKS, Acts, lost, lost_there, outcome, pays, settled, turns


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
        went_on.set()
        await asyncio.sleep(60)

    async def limit() -> None:
        await went_on.wait()
        await turns()
        waiting.cancel()

    went_on, task = asyncio.Event(), asyncio.create_task(work())
    waiting = asyncio.ensure_future(asyncio.gather(task))
    await asyncio.gather(limit(), asyncio.wait([waiting]))


async def in_a_helper_that_raised_another(ctx: bp.Context) -> None:
    async def pay() -> None:
        try:
            await asyncio.gather(ctx.effect("pay", lost))
        except ConnectionError as error:
            raise LookupError("not paid") from error

    with contextlib.suppress(LookupError):
        await pay()


async def in_workers_that_wait_for_tasks(ctx: bp.Context) -> None:
    queue: asyncio.Queue[str] = asyncio.Queue()

    async def work() -> None:
        while True:
            key = await queue.get()
            with contextlib.suppress(ConnectionError):
                await asyncio.create_task(ctx.effect(key, lost))
            queue.task_done()

    for number in range(4):
        queue.put_nowait(f"pay {number}")
    worker = asyncio.create_task(work())
    await queue.join()
    await turns()
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)


async def beside_the_same_function_that_was_cut_off(ctx: bp.Context) -> None:
    """Before its effect began."""

    async def pay(in_stock: asyncio.Event) -> None:
        await in_stock.wait()
        try:
            await asyncio.gather(ctx.effect("pay", lost))
        except ConnectionError as error:
            raise LookupError("not paid") from error

    in_stock, sold_out = asyncio.Event(), asyncio.Event()
    waits = asyncio.create_task(pay(sold_out))
    in_stock.set()
    with contextlib.suppress(LookupError):
        await asyncio.create_task(pay(in_stock))
    waits.cancel()
    await asyncio.wait([waits])


async def in_workers_beside_many_tasks(ctx: bp.Context) -> None:
    """Looking at all of those each time would take too long, and so it is not done: but the errors were caught. The
    workers are cancelled as soon as all is done."""
    others = [asyncio.create_task(asyncio.sleep(60)) for _ in range(1000)]
    queue: asyncio.Queue[str] = asyncio.Queue()

    async def work() -> None:
        while True:
            key = await queue.get()
            with contextlib.suppress(ConnectionError):
                await asyncio.create_task(ctx.effect(key, lost))
            queue.task_done()

    for number in range(20):
        queue.put_nowait(f"pay {number}")
    workers = [asyncio.create_task(work()) for _ in range(4)]
    await queue.join()
    for task in [*workers, *others]:
        task.cancel()
    await asyncio.gather(*workers, *others, return_exceptions=True)


KNOWN = [
    in_workers_beside_many_tasks,
    beside_the_same_function_that_was_cut_off,
    in_a_helper_that_raised_another,
    in_workers_that_wait_for_tasks,
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


@pytest.mark.parametrize("acts", KNOWN)
async def test_caught(acts: Acts) -> None:
    assert await outcome(acts) == ("completed", "")


async def test_what_was_caught_before_a_rejection_in_a_thread() -> None:
    async def acts(ctx: bp.Context) -> None:
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(ctx.effect("pay", lost))
        await asyncio.to_thread(ctx.sync.reject, "not paid")

    assert await outcome(acts) == ("rejected", "rejected")


async def test_what_was_cut_off_beside_one_that_was_caught_keeps_nothing() -> None:
    alive: weakref.WeakSet[threading.Event] = weakref.WeakSet()

    async def waits() -> None:
        document = threading.Event()
        alive.add(document)
        await asyncio.sleep(60)
        assert not document.is_set()

    async def acts(ctx: bp.Context) -> None:
        for number in range(20):
            task = asyncio.create_task(waits())
            await settled(asyncio.create_task(ctx.effect(f"pay {number}", lost)))
            task.cancel()
            await asyncio.wait([task])
        with anyio.fail_after(30):
            while len(alive) > 1:
                await settled(asyncio.create_task(ctx.effect("pay more", lost)))
                gc.collect()

    assert await outcome(acts) == ("completed", "")


async def test_what_was_not_caught_is_kept_no_longer_than_the_attempt() -> None:
    """It was still looked at for half a minute."""
    alive: weakref.WeakSet[threading.Event] = weakref.WeakSet()

    async def loses() -> None:
        document = threading.Event()
        alive.add(document)
        raise ConnectionError(document.is_set())

    async def acts(ctx: bp.Context) -> None:
        task = asyncio.create_task(ctx.effect("pay", loses))
        await asyncio.wait([task])

    assert await outcome(acts) == ("failed", "ambiguous")
    with anyio.fail_after(10):
        while len(alive):
            await asyncio.sleep(0.01)
            gc.collect()


async def test_what_was_caught_keeps_nothing() -> None:
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
        wait_until(lambda: len(alive) <= 8, timeout=10, what="errors that were caught keep what was beside them")

    assert await outcome(acts) == ("completed", "")

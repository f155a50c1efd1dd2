"""Errors of effects that stayed in tasks and threads beside an agent's own: its code learned nothing of them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import batonpass as bp

from .catching import TASKS, Acts, lost, lost_there, outcome, pays, turns


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
        limit.reschedule(0)  # at once, now that it has begun
        await asyncio.sleep(60)

    async def pay() -> None:
        try:
            await ctx.effect("pay", lost)
        finally:
            await clean()

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(None) as limit:
            await asyncio.create_task(pay())


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


async def in_a_callback(ctx: bp.Context) -> None:
    """The loop only logs it."""
    task = pays(ctx)
    task.add_done_callback(asyncio.Task.result)
    await asyncio.wait([task])
    await asyncio.sleep(0)


async def in_another_thread_that_waited(ctx: bp.Context) -> None:
    loop = asyncio.get_running_loop()

    def waits() -> None:
        asyncio.run_coroutine_threadsafe(ctx.effect("pay", lost), loop).result()

    with ThreadPoolExecutor() as pool:
        await asyncio.gather(asyncio.wrap_future(pool.submit(waits)), return_exceptions=True)


async def in_one_that_failed_with_another(ctx: bp.Context) -> None:
    async def pay() -> None:
        with contextlib.suppress(ConnectionError):
            await pays(ctx)
        raise LookupError("not paid")

    await asyncio.wait([asyncio.create_task(pay())])


async def in_a_next_that_goes_on(ctx: bp.Context) -> None:
    async def each() -> AsyncIterator[str]:
        try:
            await ctx.effect("pay", lost)
            yield "paid"
        finally:
            given.set()
            await asyncio.sleep(60)

    async def pay() -> None:
        await anext(each(), None)

    given = asyncio.Event()
    TASKS.add(asyncio.create_task(pay()))
    await given.wait()
    await asyncio.sleep(0)


async def in_one_that_was_made_later(ctx: bp.Context) -> None:
    async def receipt(paid: asyncio.Task[Any]) -> str:
        return f"paid: {await paid}"

    paying = pays(ctx)
    await asyncio.wait([paying])
    await asyncio.gather(asyncio.create_task(receipt(paying)), return_exceptions=True)


async def in_a_thread_that_cleans_up(ctx: bp.Context) -> None:
    cleans, cleaned = threading.Event(), threading.Event()

    @contextlib.contextmanager
    def connection() -> Iterator[None]:
        try:
            yield
        finally:
            cleans.set()
            cleaned.wait(30)

    def pay() -> None:
        with connection():
            ctx.sync.effect("pay", lost_there)

    loop = asyncio.get_running_loop()
    TASKS.add(loop.run_in_executor(None, pay))
    await asyncio.to_thread(cleans.wait, 30)
    loop.call_later(1, cleaned.set)


async def in_one_that_was_cut_off_while_it_closed(ctx: bp.Context) -> None:
    closes = asyncio.Event()

    async def close() -> None:
        try:
            closes.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            raise

    async def pay() -> None:
        try:
            await ctx.effect("pay", lost)
        finally:
            await close()

    task = asyncio.create_task(pay())
    await closes.wait()
    task.cancel()
    await asyncio.wait([task])


async def in_one_of_a_client_that_lost_its_connection(ctx: bp.Context) -> None:
    """It gives one error to all that wait for it."""
    answers: list[asyncio.Future[str]] = []

    async def ask() -> str:
        answers.append(asyncio.get_running_loop().create_future())
        return await answers[-1]

    paying = asyncio.create_task(ctx.effect("pay", ask))
    asking = asyncio.create_task(ask())
    while len(answers) < 2:
        await asyncio.sleep(0)
    error = ConnectionError("the connection was lost")
    for answer in answers:
        answer.set_exception(error)
    await asyncio.wait([paying])
    with contextlib.suppress(ConnectionError):
        await asking


async def in_one_that_failed_with_a_circle_of_causes(ctx: bp.Context) -> None:
    """The worker's loop stood still for ever."""

    async def pay() -> None:
        try:
            await ctx.effect("pay", lost)
        except ConnectionError as error:
            raise error from error

    await asyncio.gather(pay(), return_exceptions=True)


async def in_one_that_was_cut_off_as_a_group_failed(ctx: bp.Context) -> None:
    """What it was given, it raised another error from, and had yet to clean up."""
    cleans = asyncio.Event()

    async def pay() -> None:
        try:
            try:
                await ctx.effect("pay", lost)
            except ConnectionError as error:
                raise LookupError("not paid") from error
        finally:
            cleans.set()
            await asyncio.sleep(60)

    async def look() -> None:
        await cleans.wait()
        await turns()
        raise ValueError("not in stock")

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(pay())
            tasks.create_task(look())
    except* ValueError:
        pass


async def in_one_that_was_made_much_later(ctx: bp.Context) -> None:
    async def receipt(paid: asyncio.Task[Any]) -> str:
        return f"paid: {await paid}"

    paying = pays(ctx)
    for _ in range(5):
        await turns()
    await asyncio.gather(asyncio.create_task(receipt(paying)), return_exceptions=True)


async def in_one_that_waited_and_was_cut_off_before(ctx: bp.Context) -> None:
    cleans = asyncio.Event()

    async def pay() -> None:
        try:
            try:
                await asyncio.gather(ctx.effect("pay", lost))
            finally:
                cleans.set()
                await asyncio.sleep(60)
        except ValueError:
            pass

    task = asyncio.create_task(pay())
    await cleans.wait()
    await turns()
    task.cancel()
    await asyncio.wait([task])


UNKNOWN = [
    in_one_that_was_made_much_later,
    in_one_that_waited_and_was_cut_off_before,
    in_one_that_failed_with_a_circle_of_causes,
    in_one_that_was_cut_off_as_a_group_failed,
    in_one_that_was_made_later,
    in_a_thread_that_cleans_up,
    in_one_that_was_cut_off_while_it_closed,
    in_one_of_a_client_that_lost_its_connection,
    in_a_callback,
    in_another_thread_that_waited,
    in_one_that_failed_with_another,
    in_a_next_that_goes_on,
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

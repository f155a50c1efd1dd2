"""Errors of effects that tasks have caught, and raised again, or others because of them: and told nobody in the end."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

import batonpass as bp

from .catching import TASKS, Acts, lost, outcome, pays, turns


async def in_a_helper_of_one_that_failed_with_another(ctx: bp.Context) -> None:
    async def settles() -> None:
        with contextlib.suppress(ConnectionError):
            await pays(ctx)
        raise LookupError("not paid")

    async def pay() -> None:
        await settles()

    await asyncio.wait([asyncio.create_task(pay())])


async def in_one_that_failed_with_it_later(ctx: bp.Context) -> None:
    async def pay() -> None:
        errors: list[Exception] = []
        for key in ("pay", "mail"):
            try:
                await ctx.effect(key, lost)
            except ConnectionError as error:
                errors.append(error)
            await turns()
        raise ExceptionGroup("not done", errors)

    await asyncio.wait([asyncio.create_task(pay())])


async def cleans_up_after_a_helper(ctx: bp.Context) -> asyncio.Task[None]:
    cleans = asyncio.Event()

    async def settles() -> None:
        try:
            await pays(ctx)
        except ConnectionError as error:
            raise LookupError("not paid") from error

    async def pay() -> None:
        try:
            await settles()
        finally:
            cleans.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(pay())
    await cleans.wait()
    return task


async def in_one_that_cleans_up_after_a_helper(ctx: bp.Context) -> None:
    TASKS.add(await cleans_up_after_a_helper(ctx))


async def in_one_that_was_cut_off_after_a_helper(ctx: bp.Context) -> None:
    task = await cleans_up_after_a_helper(ctx)
    await turns()
    task.cancel()
    await asyncio.wait([task])


UNKNOWN = [
    in_a_helper_of_one_that_failed_with_another,
    in_one_that_failed_with_it_later,
    in_one_that_cleans_up_after_a_helper,
    in_one_that_was_cut_off_after_a_helper,
]


@pytest.mark.parametrize("acts", UNKNOWN)
async def test_left(acts: Acts) -> None:
    assert await outcome(acts) == ("failed", "ambiguous")

"""Several apps in one process have agents with the same names: they serve different namespaces or stores."""

from __future__ import annotations

import anyio
import pytest

import batonpass as bp
from batonpass.workers import scheduling

from .serving import DEADLINE, Ask, Reply, only


class Order(bp.Contract, name="workers.order"):
    number: int


def desk() -> bp.App:
    """Its agent `start` has a child of `a`, and hands on to it."""
    made = only(lambda ask: Reply(text=f"of {ask.text}"))

    @made.agent("start", accepts=Ask, hands_to={"a": Ask})
    async def start(ask: Ask, ctx: bp.Context) -> bp.Handoff[Ask]:
        [reply] = await ctx.fan_out([bp.Handoff("a", ask)])
        return ctx.hand_off("a", Ask(text=reply.text))

    return made


def shop() -> bp.App:
    """An app that is made later, whose `a` accepts something else."""
    made = bp.App("shop")

    @made.agent("a", accepts=Order, returns=Reply)
    async def a(order: Order, ctx: bp.Context) -> Reply:
        return Reply(text=f"number {order.number}")

    return made


async def test_a_worker_hands_to_the_agents_of_its_own_app(store_url: str) -> None:
    app, other = desk(), shop()
    async with bp.connect(store_url) as coordinator, app.worker(coordinator):
        job = await coordinator.submit("start", Ask(text="x"), returns=Reply)
        assert await job.result(timeout=DEADLINE) == Reply(text="of of x")
    assert "a" in other  # still there


async def test_a_schedule_is_the_own_apps(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "_PAUSE", 0.1)  # the worker has looked before the schedule is there
    app, other = desk(), shop()
    async with bp.connect(store_url) as coordinator, app.worker(coordinator):
        await coordinator.schedule("tick", "a", Ask(text="x"), cron="* * * * * *")
        with anyio.fail_after(DEADLINE):
            while not await coordinator.jobs(state="completed"):
                await anyio.sleep(0.05)
        await coordinator.unschedule("tick")
    assert "a" in other


async def test_each_namespace_has_its_app(store_url: str) -> None:
    app, other = desk(), shop()
    async with (
        bp.connect(store_url, namespace="desk") as one,
        bp.connect(store_url, namespace="shop") as two,
        app.worker(one),
        other.worker(two),
    ):
        first = await one.submit("a", Ask(text="x"), returns=Reply, key="same")
        second = await two.submit("a", Order(number=7), returns=Reply, key="same")
        assert await first.result(timeout=DEADLINE) == Reply(text="of x")
        assert await second.result(timeout=DEADLINE) == Reply(text="number 7")


async def test_an_agent_that_is_given_itself_is_the_one_that_is_meant(store_url: str) -> None:
    """A mapping is read as its contract."""
    apps = desk(), shop()
    given = {"workers.ask@1": (apps[0]["a"], {"text": "x"}), "workers.order@1": (apps[1]["a"], {"number": 7})}
    async with bp.connect(store_url) as coordinator:
        for contract, (agent, values) in given.items():
            checkpoint = await coordinator.save(thread=contract, agent="x", state=values)
            for job in (
                await coordinator.submit(agent, values, key=contract),
                await coordinator.submit(agent, values, key=contract),
                await coordinator.hand_off(checkpoint.id, to=agent),
                await coordinator.fork(checkpoint.id, agent=agent),
            ):
                assert str((await job.info()).contract) == contract
            await coordinator.schedule(contract, agent, values, cron="0 0 1 1 *")

"""Another payload for a plain function that has recorded what it made of the first one."""

from __future__ import annotations

import re
from collections import Counter
from itertools import count
from typing import Any

import anyio
import pytest

import batonpass as bp

from .serving import Ask, Reply, serving

pytestmark = pytest.mark.anyio
OTHER = Ask(text="rain")


class Found:
    """What a step returns. `==` takes each for another thing."""

    def __init__(self, text: str) -> None:
        self.text = text


class Sealed(Found):
    """Like what is encrypted: what is dumped of it is never the same twice."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sealed) and self.text == other.text

    __hash__ = object.__hash__


NUMBERS = count()
bp.state_type("redriven_payload.found", Found, dump=lambda found: found.text, load=Found)
bp.state_type(
    "redriven_payload.sealed", Sealed, dump=lambda each: [next(NUMBERS), each.text], load=lambda of: Sealed(of[1])
)


class Desk:
    """Agents that fail after they have recorded something about their payload."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.broken = True
        self.app = bp.App("desk")
        for agent in (self.steps, self.finds, self.seals, self.pays, self.asks):
            self.app.agent(agent.__name__, accepts=Ask, returns=Reply, retries=1)(agent)
        self.app.agent("child", accepts=Ask, returns=Reply)(self._child)
        self.app.agent("fans", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)(self.fans)

    async def steps(self, ask: Ask, ctx: bp.Context) -> Reply:
        first = await ctx.step("fetch", self._act, ask.text)
        return self._end(f"{first} {await ctx.step('count', self._act, first + ask.text)}")

    async def finds(self, ask: Ask, ctx: bp.Context) -> Reply:
        return self._end((await ctx.step("fetch", self._found, ask.text)).text)

    async def seals(self, ask: Ask, ctx: bp.Context) -> Reply:
        return self._end((await ctx.step("fetch", self._sealed, ask.text)).text)

    async def pays(self, ask: Ask, ctx: bp.Context) -> Reply:
        return self._end(await ctx.effect("pay", self._act, ask.text))

    async def asks(self, ask: Ask, ctx: bp.Context) -> Reply:
        return self._end(await ctx.ask(f"{ask.text}?"))

    async def fans(self, ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("child", ask)])
        return self._end(only.text)

    def _child(self, ask: Ask) -> Reply:
        return Reply(text=self._act(ask.text))

    def _act(self, text: str) -> str:
        self.ran[text] += 1
        return f"<{text}>"

    def _found(self, text: str) -> Found:
        return Found(self._act(text))

    def _sealed(self, text: str) -> Sealed:
        return Sealed(self._act(text))

    def _end(self, text: str) -> Reply:
        if self.broken:
            raise ValueError("not yet")
        return Reply(text=text)


async def failed(coordinator: bp.Coordinator, desk: Desk, agent: str) -> bp.Job[Reply]:
    """A job that has failed after it had recorded something, and is given another payload."""
    job = await coordinator.submit(agent, Ask(text="rian"), returns=Reply)
    if agent == "asks":
        while (await job.info()).state is not bp.JobState.INPUT_REQUIRED:
            await anyio.sleep(0.01)
        await job.answer("yes")
    await refused(job, "not yet")
    desk.broken = False
    return job


async def refused(job: bp.Job[Reply], why: str) -> None:
    with pytest.raises(bp.JobFailed, match=re.escape(why)):
        await job.result(timeout=30)


@pytest.mark.parametrize(
    ("agent", "held", "others", "result"),
    [
        ("steps", {"fetch": "<rian>", "count": "<<rian>rian>"}, "'count'", "<rian> <<rian>rian>"),
        ("finds", {"fetch": Found("<rian>")}, "", "<rian>"),
        ("seals", {"fetch": Sealed("<rian>")}, "", "<rian>"),
        ("pays", {"effect:pay": "<rian>"}, "", "<rian>"),
        ("asks", {"ask": "yes"}, "", "yes"),
    ],
)
async def test_what_was_recorded_counts_if_that_is_said(
    agent: str, held: dict[str, Any], others: str, result: str, store_url: str
) -> None:
    """The error says so, and it does, although the values are the recorded ones."""
    desk = Desk()
    async with serving(desk.app, store_url) as coordinator:
        job = await failed(coordinator, desk, agent)
        await coordinator.redrive(job.id, payload=OTHER)
        more = f", and perhaps those of {others}" if others else ""
        advice = f"the recorded one or another, in changes={{{next(iter(held))!r}: RESULT}} (--set){more}, or submit"
        await refused(job, advice)
        ran = desk.ran.copy()
        await coordinator.redrive(job.id, changes=held)
        assert (await job.result(timeout=30)).text == result
        assert desk.ran == ran


async def test_so_it_does_in_one_go_and_after_more_redrives(store_url: str) -> None:
    desk = Desk()
    async with serving(desk.app, store_url) as coordinator:
        job = await failed(coordinator, desk, "steps")
        desk.broken = True
        await coordinator.redrive(job.id, payload=OTHER, changes={"fetch": "<rian>", "count": "12"})
        await refused(job, "not yet")
        desk.broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=30)).text == "<rian> 12"
    assert desk.ran == {"rian": 1, "<rian>rian": 1}


async def test_children_stay_as_they_were(store_url: str) -> None:
    desk = Desk()
    async with serving(desk.app, store_url) as coordinator:
        job = await failed(coordinator, desk, "fans")
        await coordinator.redrive(job.id, payload=OTHER)
        await refused(job, "If you edited the payload, redrive with the one that it had, or submit a new job")
        await coordinator.redrive(job.id, payload=Ask(text="rian"))
        assert (await job.result(timeout=30)).text == "<rian>"


async def test_what_is_no_guard_is_refused(store_url: str) -> None:
    desk = Desk()
    guard: Any = {"hops": 3}
    async with serving(desk.app, store_url) as coordinator:
        job = await failed(coordinator, desk, "steps")
        with pytest.raises(bp.BadSetup, match=r"guard=\{'hops': 3\}, but it must be a batonpass.Guard"):
            await coordinator.redrive(job.id, guard=guard)


async def test_a_name_that_nothing_is_recorded_under_is_refused(store_url: str) -> None:
    """A typo left the recorded result as it was, in silence. New ones are added."""
    desk = Desk()
    async with serving(desk.app, store_url) as coordinator:
        job = await failed(coordinator, desk, "steps")
        before = await job.info()
        for name in ("ftech", "fan_out"):
            with pytest.raises(
                bp.BadSetup, match=f"there is no '{name}': the state has only .*To add a new name, use add"
            ):
                await coordinator.redrive(job.id, changes={name: "x"})
        with pytest.raises(bp.BadSetup, match="'fetch' is there already: use changes"):
            await coordinator.redrive(job.id, add={"fetch": "x"})
        assert await job.info() == before
        await coordinator.redrive(job.id, add={"later": "x"}, changes={"fetch": "y", "count": "z"})
        assert (await job.result(timeout=30)).text == "y z"

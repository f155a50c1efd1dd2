"""`redrive --all` of families in which a parent was canceled in between: its own parent has it go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import anyio
import pytest
from anyio.to_thread import run_sync

import batonpass as bp

from ..workers.serving import Ask, Reply, serving
from .commandline import CommandLine

pytestmark = pytest.mark.anyio
LONG = 30.0


class House:
    """A job, `top`, of two: `middle` waits for a child that has failed (as `ambiguous` if it is `unsure`) and for one
    that runs, until `other` fails, too."""

    def __init__(self) -> None:
        self.broken, self.unsure = True, False
        self.paid = Counter[str]()
        self.over = anyio.Event()  # the child has failed
        app = self.app = bp.App("house")
        for name, accepted in (("child", self._child), ("other", self._other)):
            app.agent(name, accepts=Ask, returns=Reply, retries=1)(accepted)
        app.agent("middle", accepts=Ask, returns=Reply, hands_to={"child": Ask})(self._middle)
        app.agent("top", accepts=Ask, returns=Reply, hands_to={"middle": Ask, "other": Ask})(self._top)

    async def _child(self, ask: Ask, ctx: bp.Context) -> Reply:
        async def pay() -> None:
            self.paid[ctx.effect_key("pay")] += 1
            if self.broken:
                raise ConnectionError("the reply was lost")

        if self.broken and ask.number:
            await anyio.sleep_forever()
        if self.unsure and not ask.number:
            await ctx.effect("pay", pay)
        if self.broken:
            raise ValueError("broken")
        return Reply(text=str(ask.number))

    async def _other(self, ask: Ask) -> Reply:
        if self.broken:
            await self.over.wait()
            raise ValueError("broken")
        return Reply(text="other")

    async def _middle(self, ask: Ask, ctx: bp.Context) -> Reply:
        both = await ctx.fan_out([bp.Handoff("child", Ask(number=number)) for number in range(2)], failures=1)
        return Reply(text=" ".join(each.text for each in both))

    async def _top(self, ask: Ask, ctx: bp.Context) -> Reply:
        both = await ctx.fan_out([bp.Handoff("middle", Ask()), bp.Handoff("other", Ask())])
        return Reply(text=" ".join(each.text for each in both))


@pytest.fixture
def house() -> House:
    return House()


@pytest.fixture
async def coordinator(house: House, store_url: str) -> AsyncIterator[bp.Coordinator]:
    async with serving(house.app, store_url, concurrency=8) as coordinator:
        yield coordinator


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(store_url, capsys, monkeypatch)


async def failed(coordinator: bp.Coordinator, house: House) -> dict[str, str]:
    """Run it until the child has failed, and then the others have. Returns the jobs by their agents' names."""
    top = await coordinator.submit("top", Ask(), returns=Reply)
    letters: list[bp.JobInfo] = []
    with anyio.fail_after(LONG):
        while not letters:
            letters = await coordinator.dead_letters(agent="child")
            await anyio.sleep(0.005)
        house.over.set()
        while (await coordinator.jobs(agent="middle"))[0].state is not bp.JobState.CANCELED:
            await anyio.sleep(0.005)
    with pytest.raises(bp.JobFailed, match="1 of 2 children"):
        await top.result(timeout=LONG)
    [middle] = await coordinator.jobs(agent="middle")
    [other] = await coordinator.dead_letters(agent="other")
    return {"top": top.id, "middle": middle.id, "other": other.id, "child": letters[0].id}


async def test_a_child_below_a_canceled_parent_is_left_to_it(
    coordinator: bp.Coordinator, house: House, run: CommandLine
) -> None:
    """It was said that nobody asks for it any more, and that it can be deleted."""
    ids = await failed(coordinator, house)
    house.broken = False
    assert (await run_sync(run, "redrive", "--all", "--json")).json == {
        "redriven": [ids["top"]],
        "left": {ids["other"]: ids["top"], ids["child"]: ids["middle"]},
        "not_asked_for": {},
        "waits": {},
    }
    assert (await coordinator.job(ids["top"], returns=Reply).result(timeout=LONG)).text == "0 1 other"
    assert len(await coordinator.jobs()) == 5


async def test_what_is_above_a_canceled_parent_waits_for_its_unsure_child(
    coordinator: bp.Coordinator, house: House, run: CommandLine
) -> None:
    """It would only fail again. Once somebody has settled what the child did, nothing is paid twice."""
    house.unsure = True
    ids = await failed(coordinator, house)
    house.broken = False
    expected = {
        "redriven": [ids["child"]],
        "left": {ids["other"]: ids["top"]},
        "not_asked_for": {},
        "waits": {ids["top"]: ids["child"]},
    }
    assert (await run_sync(run, "redrive", "--all", "--json")).json == expected
    with pytest.raises(bp.JobFailed, match="pay"):
        await coordinator.job(ids["child"]).result(timeout=LONG)
    assert (await run_sync(run, "redrive", ids["child"], "--add", "effect:pay=null")).code == 0
    await coordinator.job(ids["child"]).result(timeout=LONG)
    assert (await run_sync(run, "redrive", "--all", "--json")).json["redriven"] == [ids["top"]]
    assert (await coordinator.job(ids["top"], returns=Reply).result(timeout=LONG)).text == "0 1 other"
    assert list(house.paid.values()) == [1]


async def test_nobody_asks_for_a_child_of_one_that_a_person_canceled(
    coordinator: bp.Coordinator, house: House, run: CommandLine
) -> None:
    """No redrive has that one go on."""
    middle = await coordinator.submit("middle", Ask())
    with anyio.fail_after(LONG):
        while not (letters := await coordinator.dead_letters()):
            await anyio.sleep(0.005)
    await middle.cancel()
    told = (await run_sync(run, "redrive", "--all", "--json")).json
    assert told == {"redriven": [], "left": {}, "not_asked_for": {letters[0].id: middle.id}, "waits": {}}


async def test_a_parent_that_runs_asks_for_children_that_it_waits_for(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that it has gone on without is left to it: it would do its work although nobody gets the result, unless
    the parent fails over it yet."""
    run, app, broken = CommandLine(store_url, capsys, monkeypatch), bp.App("runs"), [True]

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask) -> Reply:
        if ask.number:
            await anyio.sleep_forever()
        if broken:
            raise ValueError("broken")
        return Reply(text="mended")

    @app.agent("top", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def top(ask: Ask, ctx: bp.Context) -> Reply:
        if ask.number:
            await ctx.fan_out([bp.Handoff("child", Ask())], failures="collect")
        await ctx.fan_out([bp.Handoff("child", Ask(number=number)) for number in range(2)], failures="collect")
        return Reply(text="")

    async with serving(app, store_url, concurrency=8) as coordinator:
        went_on = await coordinator.submit("top", Ask(number=1))
        with anyio.fail_after(LONG):
            while len(letters := await coordinator.dead_letters()) < 2:
                await anyio.sleep(0.005)
        broken.clear()
        second, first = (each.id for each in letters)
        assert (await run_sync(run, "redrive", "--all", "--json")).json == {
            "redriven": [second],
            "left": {first: went_on.id},
            "not_asked_for": {},
            "waits": {},
        }
        assert (await coordinator.job(second, returns=Reply).result(timeout=LONG)).text == "mended"
        await went_on.cancel()

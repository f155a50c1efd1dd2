"""What is known of an agent while workers of two releases come and go: what those that are live read."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.contracts.contract import contract_ref
from batonpass.coordinator.book import close_declaration, queue_of
from batonpass.coordinator.calls import declaring
from batonpass.coordinator.commands import Declare, Takers
from batonpass.workers import upkeep

from .serving import DEADLINE


class Old(bp.Contract, name="declared.order"):
    customer: str


class Order(bp.Contract, name="declared.order", version=2):
    holder: str


class Other(bp.Contract, name="declared.other"):
    holder: str


_LOOKS = 0.3  # seconds: time for some looks of workers
older, newer, another, front = (bp.App(name) for name in ("shop", "shop", "shop", "front"))
older.agent("bill", accepts=Old, returns=bp.State, concurrency=1)(lambda order: bp.State())
older.agent("file", accepts=Old, returns=bp.State)(lambda order: bp.State())
newer.agent("bill", accepts=Order, returns=bp.State, concurrency=2)(lambda order: bp.State())
newer.agent("file", accepts=Order, returns=bp.State)(lambda order: bp.State())
another.agent("bill", accepts=Other, returns=bp.State)(lambda order: bp.State())


@newer.upcast(Order, from_version=1)
def _(values: dict[str, Any]) -> dict[str, Any]:
    return {"holder": values["customer"]}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers look after the record every tenth of a second."""
    monkeypatch.setattr(upkeep, "_DECLARED", 0.1)
    monkeypatch.setattr(upkeep, "_DECLARED_JITTER", 0.0)


@pytest.fixture(params=["memory", "sqlite", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    return "memory://" if request.param == "memory" else str(request.getfixturevalue(f"{request.param}_url"))


@asynccontextmanager
async def working(app: bp.App, coordinator: bp.Coordinator, *agents: str) -> AsyncGenerator[None]:
    """A worker of the app, once the store knows that it is live, and other workers have looked."""
    async with app.worker(coordinator, agents=agents or None):
        name = agents[0] if agents else "bill"
        queue = queue_of(name, contract_ref(app[name].accepts))
        with anyio.fail_after(DEADLINE):
            while not await coordinator.store.acall(Takers(queue)):
                await anyio.sleep(0.01)
        await anyio.sleep(_LOOKS)
        yield


async def version(coordinator: bp.Coordinator, agent: str = "bill") -> int:
    [info] = [each for each in await coordinator.agents() if each.name == agent]
    return info.accepts.version


async def becomes(coordinator: bp.Coordinator, wanted: int, agent: str = "bill") -> None:
    with anyio.fail_after(DEADLINE):
        while await version(coordinator, agent) != wanted:
            await anyio.sleep(0.01)


async def test_an_older_worker_that_starts_once_more_changes_nothing(url: str) -> None:
    async with bp.connect(url, app=front) as coordinator, working(older, coordinator), working(newer, coordinator):
        async with working(older, coordinator):
            assert await version(coordinator) == 2
        with pytest.raises(bp.ContractViolation, match=r"declared\.order@2"):
            await coordinator.submit("bill", {"holder": 3})


async def test_a_release_that_is_taken_back(url: str) -> None:
    async with bp.connect(url, app=front) as coordinator, working(older, coordinator):
        async with working(newer, coordinator):
            assert await version(coordinator) == 2
        await becomes(coordinator, 1)
        [bill, _] = await coordinator.agents()
        assert (bill.concurrency, bill.schema["required"]) == (1, ["customer"])


async def test_a_release_that_is_declared_before_its_workers_start(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or whose workers start anew: an older worker waits a little before it takes it to be taken back."""
    monkeypatch.setattr(declaring, "_UNREAD", 10**9)
    async with bp.connect(url, app=front) as coordinator, working(older, coordinator):
        await coordinator.declare(newer)
        await anyio.sleep(_LOOKS)
        assert await version(coordinator) == 2
        assert (await (await coordinator.submit("bill", {"holder": "ann"})).info()).contract.version == 2


async def test_the_version_of_an_older_worker_is_known_beside_the_newer_one(url: str) -> None:
    async with bp.connect(url, app=front) as coordinator, working(newer, coordinator), working(older, coordinator):
        assert await version(coordinator) == 2
        for values, read_as in (({"holder": "ann"}, 2), ({"customer": "ann"}, 1)):
            job = await coordinator.submit("bill", values)
            await job.result(timeout=DEADLINE)
            assert (await job.info()).contract.version == read_as


async def test_an_older_worker_alone_declares_its_own(url: str) -> None:
    async with bp.connect(url, app=front) as coordinator:
        async with working(newer, coordinator):
            pass
        async with working(older, coordinator):
            assert await version(coordinator) == 1


async def test_what_an_older_release_of_the_library_has_recorded_is_put_right(url: str) -> None:
    async with bp.connect(url, app=front) as coordinator, working(newer, coordinator):
        await coordinator.store.acall(Declare({"bill": close_declaration(older["bill"], older)}))
        await becomes(coordinator, 2)
        [bill, _] = await coordinator.agents()
        assert [str(ref) for ref in bill.reads] == ["declared.order@1"]


async def test_workers_look_after_the_agents_that_they_serve(url: str) -> None:
    """Two releases side by side, one for each agent, would otherwise replace each other's for ever."""
    async with (
        bp.connect(url, app=front) as coordinator,
        working(older, coordinator, "file"),
        working(newer, coordinator, "bill"),
    ):
        await becomes(coordinator, 1, "file")
        await anyio.sleep(_LOOKS)
        assert (await version(coordinator, "bill"), await version(coordinator, "file")) == (2, 1)


async def test_another_contract_is_no_newer_version(url: str) -> None:
    async with bp.connect(url, app=front) as coordinator, working(newer, coordinator):
        await coordinator.declare(another)
        await anyio.sleep(_LOOKS)
        [bill, _] = await coordinator.agents()
        assert bill.accepts == ("declared.other", 1)

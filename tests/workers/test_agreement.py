"""Two workers that serve one agent agree on what it accepts."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from pydantic import Field

import batonpass as bp
from batonpass.contracts.contract import ContractRef, same_fields
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.commands import Reap, Takers

from .serving import DEADLINE, serving

QUEUE = queue_of("write", ContractRef("agree.notes", 1))


class Done(bp.Contract, name="agree.done"):
    text: str


def desk(accepts: type[bp.Contract]) -> bp.App:
    app = bp.App("desk")
    app.agent("write", accepts=accepts, returns=Done)(lambda notes, ctx: Done(text=""))
    return app


def notes(*, name: str = "agree.notes", version: int = 1, **annotations: Any) -> type[bp.Contract]:
    namespace = {"__annotations__": annotations, "__module__": __name__}
    return type("Notes", (bp.Contract,), namespace, name=name, version=version)


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (
            notes(facts=list[int]),
            r"has other fields in agree\.notes@1: give one of them a higher version=, or stop that worker",
        ),
        (notes(facts=list[str], more=int), "has other fields in"),
        (
            notes(name="agree.topic", facts=list[str]),
            r"accepts agree\.notes@1, not agree\.topic@1: rename one of them, give its",
        ),
    ],
)
async def test_a_worker_with_another_contract_is_refused_while_one_is_live(
    store_url: str, other: type[bp.Contract], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batonpass.workers.agreement._PATIENCE", 0.0)
    async with serving(desk(notes(facts=list[str])), store_url) as coordinator:
        with anyio.fail_after(DEADLINE):
            while not await coordinator.store.acall(Takers(QUEUE)):
                await anyio.sleep(0.01)
        with pytest.raises(bp.BadSetup, match=f"agent 'write': a live worker of app 'desk' {complaint}"):
            async with serving(desk(other), store_url):
                pass
        job = await coordinator.submit("write", {"facts": ["a"]})  # its record is what it was
        await job.result(timeout=10)


async def test_an_agent_that_it_does_not_serve_stays_as_others_serve_it(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its record was replaced: nobody could submit to the live worker any more, and `workers` did not list that."""
    other = desk(notes(name="agree.topic", facts=list[str]))
    other.agent("more", accepts=notes(name="agree.more"), returns=Done)(lambda notes, ctx: Done(text=""))
    async with serving(desk(notes(facts=list[str])), store_url) as coordinator:
        with anyio.fail_after(DEADLINE):
            while not await coordinator.store.acall(Takers(QUEUE)):
                await anyio.sleep(0.01)
        async with serving(other, store_url, agents=["more"]):
            job = await coordinator.submit("write", {"facts": ["a"]})
            await job.result(timeout=10)
            assert {each.name for each in await coordinator.agents()} == {"write", "more"}
    assert "'write', not served here: a live worker of app 'desk' accepts agree.notes@1, not" in caplog.text


async def test_workers_of_an_old_version_are_listed(store_url: str) -> None:
    """However far the numbers are apart: they may be dates."""
    old, new = (desk(notes(version=version, facts=list[str])) for version in (20301101, 20301130))
    async with serving(old, store_url) as coordinator, serving(new, store_url):
        with anyio.fail_after(DEADLINE):
            while len(await coordinator.workers()) < 2:
                await anyio.sleep(0.01)


async def test_another_version_and_other_words_are_a_rolling_deploy(store_url: str) -> None:
    async with serving(desk(notes(facts=list[str])), store_url):
        for accepts in (notes(facts=list[str], version=2), notes(facts=list[str])):
            async with serving(desk(accepts), store_url):
                pass


async def test_one_that_has_ended_is_waited_out(store_url: str) -> None:
    """A developer who changes a contract and restarts the worker is not refused."""
    first, second = desk(notes(facts=list[str])), desk(notes(facts=list[int]))
    async with bp.connect(store_url, app=first) as coordinator:
        await coordinator.declare(first)
        await coordinator.store.acall(Reap(worker="w1", queues=(QUEUE,), presence=1000))
    async with serving(second, store_url) as coordinator:
        await (await coordinator.submit("write", {"facts": [1]})).result(timeout=10)


@pytest.mark.parametrize(
    ("now", "says"),
    [
        (notes(facts=list[str]), None),
        (notes(version=2, facts=list[int]), "agent write accepted agree.notes@1 before"),
        (
            notes(facts=list[int]),
            "agent write: agree.notes@1 has other fields than app 'desk' declared: raise its version= and add an "
            "upcast (@app.upcast(Notes, from_version=1)). Jobs that wait with the old fields fail now, if they",
        ),
        (
            notes(name="agree.topic", facts=list[str]),
            "agent write accepts agree.topic@1, but app 'desk' declared that it accepts agree.notes@1: rename the "
            "agent. Jobs that wait with that are left to workers that accept it",
        ),
    ],
)
async def test_a_changed_contract_is_told_although_no_worker_is_live(
    store_url: str, now: type[bp.Contract], says: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The old workers were stopped before the new ones start. What waits fails then, or is left, without a word."""
    async with bp.connect(store_url) as coordinator:
        await coordinator.declare(desk(notes(facts=list[str])))
    async with serving(desk(now), store_url):
        told = [text for text in caplog.messages if text.startswith("agent write")]
        assert (len(told), says is None or told[0].startswith(says)) == (int(says is not None), True)
    caplog.clear()
    async with serving(desk(now), store_url):
        assert "other fields" not in caplog.text  # it is what is recorded now


async def test_one_that_stops_is_not_live_any_more(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batonpass.workers.upkeep._PRESENCE", 3600.0)
    async with serving(desk(notes(facts=list[str])), store_url) as coordinator:
        with anyio.fail_after(DEADLINE):
            while not await coordinator.store.acall(Takers(QUEUE)):
                await anyio.sleep(0.01)
    async with bp.connect(store_url) as coordinator:
        with anyio.fail_after(DEADLINE):
            while await coordinator.store.acall(Takers(QUEUE)):
                await anyio.sleep(0.01)


def test_the_same_fields_in_other_words() -> None:
    class One(bp.Contract, name="agree.words"):
        title: str
        number: int = Field(default=1, description="how many")

    class Two(bp.Contract, name="agree.words"):
        """Something."""

        number: int = Field(default=2, ge=0)
        title: str

    class Three(bp.Contract, name="agree.words"):
        title: int
        number: int = 1

    assert same_fields(One.model_json_schema(), Two.model_json_schema())
    assert not same_fields(One.model_json_schema(), Three.model_json_schema())

"""Plain values (over HTTP, on the command line) of another version than that of the agent's last declaration: programs
send the version before, while a release is rolled out and after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.book import open_declaration
from batonpass.coordinator.calls.declaring import declaring
from batonpass.coordinator.commands import Command, Declare, Declared
from batonpass.coordinator.following import follow

from .serving import DEADLINE, serving


class Old(bp.Contract, name="versions.order"):
    text: str
    cents: int = 0


class New(bp.Contract, name="versions.order", version=2):
    words: list[str]


class Unlike(bp.Contract, name="versions.unlike"):
    facts: list[str]


def old() -> bp.App:
    app = bp.App("versions", version="1")

    @app.agent("bill", accepts=Old, returns=Old, retries=bp.Retry(attempts=1))
    def bill(order: Old) -> Old:
        if order.text == "no":
            raise ValueError("no")
        return order

    return app


def new() -> bp.App:
    app = bp.App("versions", version="2")
    app.agent("bill", accepts=New, returns=New)(lambda order: order)

    @app.upcast(New, from_version=1)
    def _split(values: dict[str, Any]) -> dict[str, Any]:
        return {"words": values["text"].split()}

    return app


@asynccontextmanager
async def stranger(url: str) -> AsyncIterator[bp.Coordinator]:
    """A program without the contract's class: it goes by what is recorded in the store."""
    async with bp.connect(url, app=bp.App("stranger")) as coordinator:
        yield coordinator


async def test_the_version_before_is_still_taken(store_url: str) -> None:
    async with serving(old(), store_url), stranger(store_url) as client:
        first = await client.submit("bill", {"text": "tea"}, key="k")
        await first.result(timeout=DEADLINE)
    async with serving(new(), store_url), stranger(store_url) as client:
        assert (await client.submit("bill", {"text": "tea"}, key="k")).id == first.id  # the same intent
        second = await client.submit("bill", {"text": "tea milk"}, key="l")
        assert dict(await second.result(timeout=DEADLINE)) == {"words": ["tea", "milk"]}
        assert (await second.info()).contract == bp.ContractRef("versions.order", 1)  # until a worker reads it
        third = await client.submit("bill", {"words": ["tea"]})
        assert (await third.info()).contract.version == 2
    async with stranger(store_url) as client:  # no worker is there: the job waits, as a new one does
        waiting = await client.submit("bill", {"text": "tea milk"})
    async with serving(new(), store_url) as coordinator:
        result = await coordinator.job(waiting.id, returns=New).result(timeout=DEADLINE)
        assert result == New(words=["tea", "milk"])


@pytest.mark.parametrize(("first", "second"), [(old, new), (new, old)])
def test_releases_that_are_declared_at_once_know_of_each_other(
    store_url: str, first: Callable[[], bp.App], second: Callable[[], bp.App]
) -> None:
    """One has read the record when the other is declared completely."""
    with bp.connect(store_url, app=bp.App("stranger")) as client:
        declared = 0

        def do(command: Command[Any]) -> Any:
            nonlocal declared
            if isinstance(command, Declare) and (declared := declared + 1) == 1:
                client.declare(second())
            return client.store.call(command)

        follow(declaring(first()), do)
        recorded = open_declaration(client.store.call(Declared())["bill"])
        assert {recorded.accepts.version, *(ref.version for ref in recorded.others)} == {1, 2}


async def test_a_worker_of_the_old_release_that_starts_anew_shuts_nobody_out(store_url: str) -> None:
    async with serving(new(), store_url), serving(old(), store_url), stranger(store_url) as client:
        for values, version in ({"words": ["tea"]}, 2), ({"text": "tea"}, 1):
            job = await client.submit("bill", values)
            await job.result(timeout=DEADLINE)
            assert (await job.info()).contract.version == version


async def test_what_no_worker_reads_is_refused(sqlite_url: str) -> None:
    async with serving(new(), sqlite_url):
        pass
    async with serving(old(), sqlite_url), stranger(sqlite_url) as client:  # the new release was taken back
        with pytest.raises(bp.ContractViolation, match=r"not a valid versions\.order@1"):
            await client.submit("bill", {"words": ["tea"]})


async def test_a_fault_in_the_present_version_is_told_as_one(sqlite_url: str) -> None:
    async with bp.connect(sqlite_url) as coordinator:
        await old().declare(coordinator)
        await new().declare(coordinator)
    async with stranger(sqlite_url) as client:
        for values in {"text": "tea", "word": ["tea"]}, {"text": 1}, {}:
            with pytest.raises(bp.ContractViolation, match=r"not a valid versions\.order@2: .*words: "):
                await client.submit("bill", values)


async def test_who_has_the_class_may_give_plain_values_of_the_version_before(sqlite_url: str) -> None:
    app = new()
    async with bp.connect(sqlite_url) as coordinator:
        await old().declare(coordinator)
    async with serving(app, sqlite_url) as coordinator:
        job = await coordinator.submit("bill", {"text": "tea milk"}, returns=New, key="k")
        assert await job.result(timeout=DEADLINE) == New(words=["tea", "milk"])


async def test_a_parked_job_is_redriven_with_a_payload_of_its_own_version(store_url: str) -> None:
    async with serving(old(), store_url), stranger(store_url) as client:
        job = await client.submit("bill", {"text": "no"})
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=DEADLINE)
    async with serving(new(), store_url), stranger(store_url) as client:
        await client.redrive(job.id, payload={"text": "tea milk"})
        assert dict(await client.job(job.id).result(timeout=DEADLINE)) == {"words": ["tea", "milk"]}


async def test_a_result_that_is_another_contract_than_was_asked_for_is_told_as_such(sqlite_url: str) -> None:
    async with serving(new(), sqlite_url) as coordinator:
        job = await coordinator.submit("bill", {"words": ["tea"]}, returns=Unlike)
        with pytest.raises(bp.ContractViolation) as refused:
            await job.result(timeout=DEADLINE)
    said = f"the result of job {job.id}, versions.order@2, is not a valid versions.unlike@1: facts: Field required"
    assert str(refused.value) == said
    assert refused.value.fields == ("facts: Field required",)

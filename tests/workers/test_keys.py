"""A worker that lacks the codec's key harms no job: it gives back what it can't read, and one with the key runs it."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.rows import JobRow
from batonpass.workers import aside, claiming

from .serving import DEADLINE, Ask, Reply, kinds, only

_KEY = bp.Codec(encrypt={"new": b"n" * 32})
_WITHOUT = {
    "no codec": None,
    "an older key": bp.Codec(encrypt={"old": b"o" * 32}),
    "another key by its name": bp.Codec(encrypt={"new": b"x" * 32}),
    "a key that signs": bp.Codec(sign={"new": b"n" * 32}),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks again without the wait."""
    monkeypatch.setattr(aside, "_FIRST", 0.05)
    monkeypatch.setattr(claiming, "_ASIDE_LOOK", 0.02)


def _app(ran: list[str]) -> bp.App:
    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("work", ran.append, ask.text)
        return Reply(text=f"{ask.text} at attempt {ctx.attempt}")

    return only(run)


async def _given_back(coordinator: bp.Coordinator, job: bp.Job[Any], times: int) -> None:
    with anyio.fail_after(DEADLINE):
        while (await kinds(coordinator, job)).count("job.released") < times:
            await anyio.sleep(0.01)


@pytest.mark.parametrize("codec", _WITHOUT.values(), ids=_WITHOUT)
async def test_it_is_given_back_and_run_by_one_that_has_the_key(
    codec: bp.Codec | None, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []
    app = _app(ran)
    async with bp.connect(store_url, app=app, codec=_KEY) as coordinator:
        job = await coordinator.submit("a", Ask(text="x"), returns=Reply)
        with caplog.at_level(logging.ERROR, "batonpass.worker"):
            async with bp.connect(store_url, app=app, codec=codec) as lacking, app.worker(lacking):
                await _given_back(coordinator, job, 2)
                assert ran == []
                async with app.worker(coordinator):
                    assert (await job.result(timeout=DEADLINE)).text == "x at attempt 1"
        assert "this worker leaves it to others for" in caplog.text
        assert "job.failed" not in await kinds(coordinator, job)
    assert ran == ["x"]


async def test_what_came_before_there_was_a_codec_waits_for_one_that_accepts_it(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []
    app = _app(ran)
    async with bp.connect(store_url, app=app) as coordinator:
        job = await coordinator.submit("a", Ask(text="x"), returns=Reply)
        demanding, accepting = (bp.Codec(encrypt={"new": b"n" * 32}, plain=plain) for plain in (False, True))
        with caplog.at_level(logging.ERROR, "batonpass.worker"):
            async with bp.connect(store_url, app=app, codec=demanding) as lacking, app.worker(lacking):
                await _given_back(coordinator, job, 2)
        assert "BATONPASS_ACCEPT_PLAIN=1 would read it" in caplog.text
        async with bp.connect(store_url, app=app, codec=accepting) as other, app.worker(other):
            assert (await other.job(job.id, returns=Reply).result(timeout=DEADLINE)).text == "x at attempt 1"


async def test_who_can_read_others_parks_what_is_damaged(store_url: str) -> None:
    """The worker has the right key, so nothing is missing on its side: no worker can run this job."""
    app = _app([])
    forger = bp.Codec(encrypt={"new": b"x" * 32})
    vars(forger)["_marks"] = vars(_KEY)["_marks"]  # it pretends to have our key, whose mark stands in the store
    async with (
        bp.connect(store_url, app=app, codec=_KEY) as ours,
        bp.connect(store_url, app=app, codec=forger) as other,
        app.worker(ours),
    ):
        first = await ours.submit("a", Ask(text="x"), returns=Reply)
        assert (await first.result(timeout=DEADLINE)).text == "x at attempt 1"
        forged = await other.submit("a", Ask(text="y"), returns=Reply)
        with pytest.raises(bp.JobFailed, match=f"the envelope of job {forged.id} is not what was encrypted"):
            await ours.job(forged.id).result(timeout=DEADLINE)


async def test_two_keys_by_one_name_harm_no_job(store_url: str) -> None:
    """On one of two hosts, a new key was given an old one's name. Each host is sure of its own: it has read much."""
    app = _app([])
    async with (
        bp.connect(store_url, app=app, codec=_KEY) as ours,
        bp.connect(store_url, app=app, codec=_WITHOUT["another key by its name"]) as theirs,
        app.worker(ours),
        app.worker(theirs),
    ):
        for number in range(8):
            for coordinator in (ours, theirs):
                job = await coordinator.submit("a", Ask(text=str(number)), returns=Reply)
                assert (await job.result(timeout=DEADLINE)).text == f"{number} at attempt 1"


async def test_results_of_children_that_it_can_not_read_are_left_to_others(store_url: str) -> None:
    """The children's worker has the new key already, the parent's has not."""
    old = {"old": b"o" * 32}
    parents, children = bp.App("parents"), bp.App("children")

    @parents.agent("parent", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [reply] = await ctx.fan_out([bp.Handoff("child", ask)])
        return Reply(text=f"{reply.text} at attempt {ctx.attempt}")

    @children.agent("child", accepts=Ask, returns=Reply)
    async def child(ask: Ask) -> Reply:
        return Reply(text=ask.text)

    async with (
        bp.connect(store_url, codec=bp.Codec(encrypt=old)) as lacking,
        bp.connect(store_url, codec=bp.Codec(encrypt={"new": b"n" * 32, **old})) as both,
        children.worker(both),
    ):
        async with parents.worker(lacking):
            job = await lacking.submit("parent", Ask(text="x"), returns=Reply)
            await _given_back(lacking, job, 2)
        async with parents.worker(both):
            assert (await both.job(job.id, returns=Reply).result(timeout=DEADLINE)).text == "x at attempt 1"


async def test_it_leaves_the_queue_alone_for_longer_each_time() -> None:
    left, row = aside.Aside(), JobRow("j", queue="a")
    assert left.among("ab") == set()
    assert left.put(row, "queue") == 0.05
    assert left.put(row, "queue") == 0.05  # of the same claim
    assert left.among("ab") == {"a"}
    with anyio.fail_after(DEADLINE):
        while left.among("a"):
            await anyio.sleep(0.01)
    assert left.put(row, "queue") == 0.1
    left.take_back("a")  # another job of the queue: too soon
    assert left.among("a") == {"a"}
    with anyio.fail_after(DEADLINE):
        while left.put(row, "queue") != 0.05:
            await anyio.sleep(0.3)
            left.take_back("a")


async def test_other_queues_are_served_meanwhile(store_url: str) -> None:
    """The worker can read the jobs of one agent, which were submitted without a codec."""
    app = bp.App("two")

    @app.agent("open", accepts=Ask, returns=Reply)
    async def run_open(ask: Ask) -> Reply:
        return Reply(text=ask.text)

    @app.agent("closed", accepts=Ask, returns=Reply)
    async def run_closed(ask: Ask) -> Reply:
        return Reply(text=ask.text)

    async with (
        bp.connect(store_url, app=app, codec=_KEY) as keyed,
        bp.connect(store_url, app=app) as plain,
        app.worker(plain),
    ):
        closed = await keyed.submit("closed", Ask(text="c"))
        await _given_back(plain, closed, 1)
        for number in range(3):
            job = await plain.submit("open", Ask(text=f"o{number}"), returns=Reply)
            assert (await job.result(timeout=DEADLINE)).text == f"o{number}"
        assert (await closed.info()).state in ("submitted", "working")

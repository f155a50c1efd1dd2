"""Effects have one recorded outcome. If one was begun and its outcome not recorded, nobody guesses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.blobs import seal_blob
from batonpass.coordinator.commands import AnswerJob

from .serving import Ask, Reply, only, reached, serving


class Bank:
    """The world outside. It counts, and may fail before or after the money is gone."""

    def __init__(self, *fails: str) -> None:
        self.keys: list[str] = []
        self._fails = list(fails)

    def pay(self, key: str) -> int:
        fails = self._fails.pop(0) if self._fails else ""
        if fails == "before":
            raise bp.NotDone("no connection")
        self.keys.append(key)
        if fails == "after":
            raise ConnectionError("no answer")
        return len(self.keys)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without the wait."""
    monkeypatch.setattr(bp.Retry, "pause", lambda *_: 0.01)


def agents(bank: Bank, then: Callable[[bp.SyncContext], None], **options: Any) -> list[Callable[..., Any]]:
    """The same agent, async and sync."""

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        paid = await ctx.effect("pay", bank.pay, key=ctx.effect_key("pay"), **options)
        then(ctx.sync)
        return Reply(text=str(paid))

    def pays_too(ask: Ask, ctx: bp.SyncContext) -> Reply:
        paid = ctx.effect("pay", bank.pay, key=ctx.effect_key("pay"), **options)
        then(ctx)
        return Reply(text=str(paid))

    return [pays, pays_too]


def nothing(ctx: bp.SyncContext) -> None: ...


@pytest.mark.parametrize("which", [0, 1])
async def test_a_recorded_outcome_is_not_made_again(store_url: str, which: int) -> None:
    bank = Bank()

    def fail_once(ctx: bp.SyncContext) -> None:
        if ctx.attempt == 1:
            raise ValueError("later")

    async with serving(only(agents(bank, fail_once)[which]), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "1"
        assert bank.keys == [f"{job.id}.0.pay"]


@pytest.mark.parametrize("which", [0, 1])
async def test_what_is_not_known_is_not_guessed(store_url: str, which: int) -> None:
    bank = Bank("after")
    async with serving(only(agents(bank, nothing)[which]), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"\(ambiguous\): effect 'pay' started") as caught:
            await job.result(timeout=30)
        assert (caught.value.reason, len(bank.keys)) == ("ambiguous", 1)
        assert f"{job.id}.0.pay" in caught.value.error
        assert "is unknown (the last error was ConnectionError: " in caught.value.error
        assert "changes={'effect:pay': RESULT}" in caught.value.error


@pytest.mark.parametrize("which", [0, 1])
async def test_one_that_knows_that_nothing_happened_is_tried_again(store_url: str, which: int) -> None:
    bank = Bank("before")
    async with serving(only(agents(bank, nothing)[which]), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "1"


async def test_one_that_the_budget_ended_before_it_began_is_not_ambiguous(store_url: str) -> None:
    """While its beginning is recorded, something that runs beside it spends too much."""
    bank = Bank()

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        async def spends() -> None:
            if ctx.spent.tokens == 0:
                ctx.spend(tokens=100)

        paid, _ = await asyncio.gather(ctx.effect("pay", bank.pay, ctx.effect_key("pay")), spends())
        return Reply(text=str(paid))

    async with serving(only(pays), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply, guard=bp.Guard(tokens=10))
        with pytest.raises(bp.JobFailed, match="over its budget"):
            await job.result(timeout=30)
        assert bank.keys == []
        await coordinator.redrive(job.id, guard=bp.Guard(tokens=1000))
        assert (await job.result(timeout=30)).text == "1"


def turns_later(count: int, do: Callable[[], None]) -> None:
    """From another loop a write goes through a thread, which takes some turns to begin."""
    if count > 1:
        asyncio.get_running_loop().call_soon(turns_later, count - 1, do)
    else:
        do()


@pytest.mark.parametrize("way", ["task", "scope", "scope of another loop"])
async def test_one_that_was_canceled_before_it_began_is_not_ambiguous(store_url: str, way: str) -> None:
    """It was canceled while its beginning was recorded: by something beside it, or because time was up."""
    bank = Bank()

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        paying = partial(ctx.effect, "pay", bank.pay, ctx.effect_key("pay"))

        async def cut_off() -> None:
            with anyio.CancelScope() as scope:
                asyncio.get_running_loop().call_soon(turns_later, 1 if way == "scope" else 5, scope.cancel)
                await paying()

        if ctx.attempt == 1 and way != "task":
            await (cut_off() if way == "scope" else anyio.to_thread.run_sync(asyncio.run, cut_off()))
            raise ValueError("later")
        if ctx.attempt == 1:
            task = asyncio.create_task(paying())
            await asyncio.sleep(0)  # the call waits for the store
            task.cancel()
            await task
        return Reply(text=str(await paying()))

    async with serving(only(pays, timeout=20), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "1"
        assert bank.keys == [f"{job.id}.0.pay"]


@pytest.mark.parametrize("unsure", ["stop", "repeat"])
async def test_one_that_never_got_a_thread_is_not_ambiguous(store_url: str, unsure: Any) -> None:
    """All threads are taken. If the effect is repeated, nobody knows whether it happened before."""
    bank = Bank(*["after"] if unsure == "repeat" else [])

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        paying = partial(ctx.effect, "pay", bank.pay, ctx.effect_key("pay"))
        if ctx.attempt == 2 - (unsure == "stop"):
            threads = anyio.to_thread.current_default_thread_limiter()
            holders = [object() for _ in range(int(threads.available_tokens))]
            for holder in holders:
                threads.acquire_on_behalf_of_nowait(holder)
            with anyio.move_on_after(0.2) as over:
                await paying(unsure=unsure)
            for holder in holders:
                threads.release_on_behalf_of(holder)
            assert over.cancelled_caught
            raise ValueError("later")
        return Reply(text=str(await paying()))

    async with serving(only(pays, retries=4), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        if unsure == "stop":
            assert (await job.result(timeout=30)).text == "1"
        else:
            with pytest.raises(bp.JobFailed, match="its outcome is unknown"):
                await job.result(timeout=30)
        assert bank.keys == [f"{job.id}.0.pay"]


@pytest.mark.parametrize("which", [0, 1])
async def test_one_that_may_be_repeated(store_url: str, which: int) -> None:
    bank = Bank("after")
    async with serving(only(agents(bank, nothing, unsure="repeat")[which]), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "2"
        assert bank.keys == [f"{job.id}.0.pay"] * 2  # so that the service can tell that it is the same


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    ("answer", "text", "times"), [({"done": True, "result": 9}, "9", 1), ({"done": False}, "2", 2)]
)
async def test_one_that_asks(store_url: str, which: int, answer: Any, text: str, times: int) -> None:
    bank = Bank("after")
    async with serving(only(agents(bank, nothing, unsure="ask")[which]), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        question = (await job.info()).question
        assert (question["effect"], question["idempotency_key"]) == ("pay", f"{job.id}.0.pay")
        await job.answer(answer)
        assert (await job.result(timeout=30)).text == text
    assert len(bank.keys) == times


async def test_an_answer_is_about_the_try_before_it(store_url: str) -> None:
    """ "It was not done" permits one more try. If that one's outcome is unknown, too, there is a new question. (The
    answer used to count for later tries, too, and money was sent unasked.) Other questions are not mixed up with
    these."""
    bank = Bank("after", "after", "before", "after")

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        paid = await ctx.effect("pay", bank.pay, ctx.effect_key("pay"), unsure="ask")
        return Reply(text=f"{paid} {await ctx.ask('well?')}")

    async with serving(only(pays, retries=9), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for paid, answer in ((1, {"done": False}), (2, {"done": False}), (3, {"done": "?"}), (3, {"done": False})):
            await reached(job, bp.JobState.INPUT_REQUIRED)
            assert len(bank.keys) == paid
            # Answers as an older client would, which does not check it.
            await coordinator.store.acall(AnswerJob(job.id, seal_blob(answer, path="answer")))
        await reached(job, bp.JobState.INPUT_REQUIRED)
        assert (await job.info()).question == "well?"
        await job.answer("yes")
        assert (await job.result(timeout=30)).text == "4 yes"
    assert set(bank.keys) == {f"{job.id}.0.pay"}


@pytest.mark.parametrize("answer", ["yes", {"don": True}, {"done": "yes"}, {"done": True, "reslt": 9}])
async def test_an_answer_that_does_not_say_whether_it_was_done_is_refused(store_url: str, answer: Any) -> None:
    bank = Bank("after")
    async with serving(only(agents(bank, nothing, unsure="ask")[0]), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        with pytest.raises(bp.ContractViolation):
            await job.answer(answer)
        await job.answer({"done": True, "result": 9})
        assert (await job.result(timeout=30)).text == "9"


@pytest.mark.parametrize(("key", "unsure", "says"), [("", "stop", "needs a key"), ("k", "maybe", "use 'stop', 'ask'")])
async def test_bad_input(store_url: str, key: str, unsure: Any, says: str) -> None:
    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.effect(key, str, unsure=unsure)
        return Reply(text="")

    async with serving(only(pays, retries=1), store_url) as coordinator:
        with pytest.raises(bp.JobFailed, match=says):
            await (await coordinator.submit("a", Ask())).result(timeout=30)


@pytest.mark.parametrize("options", [{"retries": 1}, {"retries": bp.Retry(never=ConnectionError)}, {"timeout": 0.2}])
async def test_no_fallback_repeats_what_may_have_happened(options: dict[str, Any]) -> None:
    """Its effect would have another key. Not even if there is no attempt left to find that out."""
    bank = Bank("after")

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        async def pay(key: str) -> int:
            if "timeout" in options:
                bank.keys.append(key)
                await anyio.sleep_forever()
            return bank.pay(key)

        return Reply(text=str(await ctx.effect("pay", pay, ctx.effect_key("pay"))))

    app = only(agent, fallback="b", **{"retries": 1, **options})
    declare: Any = app.agent
    declare("b", accepts=Ask, returns=Reply)(agent)
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.FAILED)
        assert (info.reason, info.agent, len(bank.keys)) == ("ambiguous", "a", 1)
        assert "its outcome is unknown: look for" in str(info.error)


@pytest.mark.parametrize("before", [False, True])
async def test_an_effect_that_happened_is_recorded_by_a_redrive(before: bool, store_url: str) -> None:
    """Also if nothing was recorded before it, so that the job has no checkpoint."""
    bank = Bank("after")

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        if before:
            await ctx.step("look", len, ask.text)
        paid = await ctx.effect("pay", bank.pay, ctx.effect_key("pay"))
        return Reply(text=f"paid {paid}")

    async with serving(only(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.FAILED)
        assert "changes={'effect:pay': RESULT} (batonpass redrive JOB --add effect:pay=RESULT)" in str(info.error)
        await coordinator.redrive(job.id, changes={"effect:pay": 12})
        assert (await job.result(timeout=60)).text == "paid 12"
        assert len(bank.keys) == 1


@pytest.mark.parametrize("which", [0, 1])
async def test_a_call_that_can_not_begin_is_refused_before_it_is_recorded(which: int, store_url: str) -> None:
    """`key=` of a step comes to mind, too. It would be an argument of the function."""
    called: list[int] = []

    def pay(amount: int) -> None:
        called.append(amount)

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.effect("pay", pay, 12, key="pay")
        return Reply(text="paid")

    def pays_too(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.effect("pay", pay)
        return Reply(text="paid")

    both: list[Callable[..., Any]] = [pays, pays_too]
    async with serving(only(both[which]), store_url) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match="effect 'pay' was not done") as failed:
            await job.result(timeout=30)
    assert failed.value.reason == "refused"
    said = ("unexpected keyword argument 'key'", "key comes first, without key="), ("missing a required", "follow it")
    assert all(words in failed.value.error for words in said[which])
    assert called == []


@pytest.mark.parametrize("unsure", ["stop", "ask", "repeat"])
async def test_one_that_had_started_is_not_told_as_undone_by_a_call_that_does_not_fit(unsure: Any) -> None:
    """As after a change of its function between two attempts."""
    bank = Bank("after")

    def pay_in(key: str, currency: str) -> None:
        raise AssertionError(key, currency)

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        pay: Callable[..., Any] = bank.pay if ctx.attempt == 1 else pay_in
        return Reply(text=str(await ctx.effect("pay", pay, "k", unsure=unsure)))

    async with serving(only(pays)) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match="effect 'pay' started, and its outcome is unknown") as failed:
            await job.result(timeout=30)
    assert failed.value.reason == "ambiguous"
    assert "was not done" not in failed.value.error
    assert unsure == "stop" or "(now its function does not take what it is given" in failed.value.error


def given(fn: Callable[..., Any]) -> Callable[..., Any]:
    """What a decorator makes that gives a function an argument of its own."""

    @wraps(fn)
    def wrapper(amount: int) -> Any:
        return fn("the bank", amount)

    return wrapper


@given
def pay_there(bank: str, amount: int) -> str:
    return f"{amount} at {bank}"


@pytest.mark.parametrize("fn", [pay_there, partial(pay_there), str])
async def test_functions_are_called_as_they_are(fn: Any) -> None:
    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await ctx.effect("pay", fn, 12))

    assert (await only(pays).run("a", Ask(), returns=Reply)).text.startswith("12")

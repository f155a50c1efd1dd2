"""`ctx.ask`: typed answers, and what happens when nobody answers in time."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.blobs import open_blob, seal_blob
from batonpass.coordinator.commands import AnswerJob, ReadKept
from batonpass.workers.context.asking import terms_of

from .serving import DEADLINE, Ask, Reply, kinds, only, reached, serving

SOON = 0.05


class Verdict(bp.Contract, name="asking.verdict"):
    ok: bool
    why: str = ""


class Other(bp.Contract, name="asking.other"):
    ok: bool


async def asked(coordinator: bp.Coordinator, *known: str, question: str = "") -> bp.InboxItem:
    """Wait for an open question that is none of those."""
    with anyio.fail_after(DEADLINE):
        while True:
            for item in await coordinator.inbox():
                if item.id not in known and question in ("", item.question):
                    return item
            await anyio.sleep(0.005)


async def judge(ask: Ask, ctx: bp.Context) -> Reply:
    verdict = await ctx.ask("is it good?", answer=Verdict, assignee="ann", timeout=timedelta(hours=1))
    if ctx.attempt == 1:
        raise bp.NotDone("again, from what is recorded")
    return Reply(text=f"{type(verdict).__name__} {verdict.ok} {verdict.why}")


def sync_judge(ask: Ask, ctx: bp.SyncContext) -> Reply:
    verdict = ctx.ask("is it good?", answer=Verdict, assignee="ann", timeout=3600)
    if ctx.attempt == 1:
        raise bp.NotDone("again, from what is recorded")
    return Reply(text=f"{type(verdict).__name__} {verdict.ok} {verdict.why}")


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batonpass.contracts.retry.Retry.pause", lambda *_: 0.01)


@pytest.mark.parametrize("agent", [judge, sync_judge])
async def test_an_answer_is_an_instance_of_its_contract(agent: Any, store_url: str) -> None:
    async with serving(only(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        item = await asked(coordinator)
        assert (item.job, item.agent, item.kind, item.question) == (job.id, "a", "function", "is it good?")
        assert (str(item.answer), item.assignee, item.has_default) == ("asking.verdict@1", "ann", False)
        assert item.schema is not None
        assert item.due_at == item.asked_at + timedelta(hours=1)
        with pytest.raises(bp.WrongState, match=r"no longer asks .*is it good"):
            await coordinator.answer(f"{job.id}.7", {"ok": True})
        # The command line, for one, has the schema alone; the class is known from an instance.
        async with bp.connect(store_url, app=bp.App("other")) as other:
            with pytest.raises(bp.ContractViolation, match=r"asking\.verdict@1: ok: 'maybe' is not of type 'boolean'"):
                await other.answer(item.id, {"ok": "maybe"})
            with pytest.raises(bp.ContractViolation, match=r"asks for asking\.verdict@1, not asking\.other@1"):
                await other.answer(item.id, Other(ok=True))
            with pytest.raises(bp.ContractViolation, match="not of type 'object'"):
                await other.job(job.id).answer("yes")
            assert [each.id for each in await other.inbox(assignee="ann", agent="a")] == [item.id]
            assert await other.inbox(assignee="bob") == []
            assert [each.id for each in await other.inbox(job=job.id)] == [item.id]
            with pytest.raises(bp.BadSetup, match="give no other filter"):
                await other.inbox(job=job.id, assignee="ann")
            await other.answer(job.id, Verdict(ok=True, why="it is"), question=item.id)
            await other.answer(item.id, Verdict(ok=True, why="it is"))  # the reply was lost
        assert (await job.result(timeout=DEADLINE)).text == "Verdict True it is"
        await job.answer(Verdict(ok=True, why="it is"))
        with pytest.raises(bp.WrongState, match="it has no open question"):
            await job.answer({"ok": False})


async def test_an_answer_that_does_not_fit_is_asked_for_again(caplog: pytest.LogCaptureFixture) -> None:
    """An older client sent it unchecked. The agent checks it, and tells the person what is wrong."""
    async with serving(only(judge)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        first = await asked(coordinator)
        await coordinator.store.acall(AnswerJob(job.id, seal_blob({"why": "!"}, path="answer")))
        second = await asked(coordinator, first.id)
        assert (first.error, second.question) == (None, "is it good?")
        assert second.error is not None
        assert "ok: Field required" in second.error
        [told] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        about = f"job {job.id} hop 0 a: the answer to its question 'ask' is not used, and it asks again: "
        assert told == about + second.error
        with pytest.raises(bp.WrongState, match=f"no longer asks {first.id}, but"):
            await coordinator.answer(first.id, {"ok": True})
        assert (second.assignee, second.due_at) == ("ann", first.due_at)
        await coordinator.answer(second.id, {"ok": True})
        assert (await job.result(timeout=DEADLINE)).text == "Verdict True "


async def test_the_default_is_taken_when_the_time_is_over(store_url: str) -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        verdict = await ctx.ask("good?", answer=Verdict, timeout=SOON, default=Verdict(ok=False), escalate="lead")
        return Reply(text=repr(verdict))

    async with serving(only(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "Verdict(ok=False, why='')"
        told = [event async for event in coordinator.events(job=job.id)]
        late = [event for event in told if event.type in ("batonpass.job.escalated", "batonpass.job.answered")]
        assert [event.data.get("assignee", event.data.get("by")) for event in late] == ["lead", "default"]


async def test_an_agent_goes_on_without_an_answer_and_does_not_ask_again() -> None:
    ran: Counter[str] = Counter()

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            said = await ctx.ask("anybody?", timeout=SOON)
        except bp.Unanswered:
            ran["unanswered"] += 1
            said = "nobody"
        sure = await ctx.ask("sure?")
        if ctx.attempt == 1:
            raise bp.NotDone("again, from what is recorded")
        return Reply(text=f"{said} {sure}")

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await coordinator.answer((await asked(coordinator, question="sure?")).id, "yes")
        assert (await job.result(timeout=DEADLINE)).text == "nobody yes"
        assert (await kinds(coordinator, job)).count("job.unanswered") == 1
    assert ran["unanswered"] == 3  # asking "sure?", with its answer, and in the second attempt


@pytest.mark.parametrize("wraps", [False, True])
async def test_an_unanswered_job_is_a_dead_letter_and_asks_again_after_a_redrive(wraps: bool) -> None:
    """Also if the agent makes an error of its own of that."""
    patience = SOON

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            return Reply(text=await ctx.ask("anybody?", timeout=patience, escalate=[("lead", SOON)]))
        except bp.Unanswered as error:
            if wraps:
                raise ValueError(f"not approved: {error}") from error
            raise

    async with serving(only(agent, retries=1)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"nobody answered .*'anybody\?'") as failed:
            await job.result(timeout=DEADLINE)
        assert failed.value.reason == "unanswered"
        assert ("not approved" in str(failed.value)) is wraps
        [dead] = await coordinator.dead_letters(reason="unanswered")
        assert (dead.id, dead.attempt) == (job.id, 1)
        journal = (await coordinator.store.acall(ReadKept(job.id))).journal
        for key in journal:  # else an older worker would not ask
            assert not key.startswith("unanswered/") or open_blob(journal[key], of=key) is None
        patience = 3600
        await coordinator.redrive(job.id)
        await coordinator.answer((await asked(coordinator)).id, "here")
        assert (await job.result(timeout=DEADLINE)).text == "here"


async def test_while_the_error_made_of_that_is_retried_it_is_not_asked_again() -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            return Reply(text=await ctx.ask("anybody?", timeout=SOON))
        except bp.Unanswered as error:
            await ctx.ask("and you?", timeout=3600)
            raise ValueError("not approved") from error

    async with serving(only(agent, retries=3)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await coordinator.answer((await asked(coordinator, question="and you?")).id, "me")
        with pytest.raises(bp.JobFailed, match="not approved") as failed:
            await job.result(timeout=DEADLINE)
        assert failed.value.reason == "unanswered"
        told = await kinds(coordinator, job)
        assert (told.count("job.unanswered"), told.count("job.retrying")) == (1, 2)


async def test_a_redriven_question_may_read_otherwise() -> None:
    """It may name a date, or a draft that was written anew. Nobody has answered it, so no answer can be mixed up."""
    patience, draft = SOON, "first"

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await ctx.ask(f"send the {draft} draft?", timeout=patience))

    async with serving(only(agent, retries=1)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="nobody answered"):
            await job.result(timeout=DEADLINE)
        patience, draft = 3600, "second"
        await coordinator.redrive(job.id)
        await coordinator.answer((await asked(coordinator, question="send the second draft?")).id, "yes")
        assert (await job.result(timeout=DEADLINE)).text == "yes"


async def test_an_earlier_question_that_ended_the_job_is_asked_again_after_a_redrive() -> None:
    """And again if nobody answers it then. What was asked after it keeps its answer."""
    patience = SOON

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        first = missing = None
        try:
            first = await ctx.ask("anybody?", timeout=patience)
        except bp.Unanswered as error:
            missing = error
        second = await ctx.ask("and you?", timeout=3600)
        if missing:
            raise ValueError("not approved") from missing
        return Reply(text=f"{first}, {second}")

    async with serving(only(agent, retries=1)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await coordinator.answer((await asked(coordinator, question="and you?")).id, "me")
        for again in (SOON, 3600):
            with pytest.raises(bp.JobFailed, match="not approved") as failed:
                await job.result(timeout=DEADLINE)
            assert failed.value.reason == "unanswered"
            patience = again
            await coordinator.redrive(job.id)
        await coordinator.answer((await asked(coordinator, question="anybody?")).id, "here")
        assert (await job.result(timeout=DEADLINE)).text == "here, me"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"default": 1}, "need a timeout="),
        ({"escalate": "lead"}, "need a timeout="),
        ({"timeout": 0}, "timeout=0 seconds"),
        ({"timeout": 1, "escalate": [("lead", -1)]}, "escalate=-1 seconds"),
        ({"assignee": "ann\nbob"}, "more than one line"),
        ({"answer": Verdict, "timeout": 1, "default": {"ok": "x"}}, "not a valid asking.verdict@1"),
    ],
)
async def test_a_question_that_is_asked_wrongly(options: dict[str, Any], words: str) -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await ctx.ask("?", **options))

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.FAILED)
        assert info.error is not None
        assert words in info.error
        assert await coordinator.inbox() == []


def test_an_unknown_option_is_named() -> None:
    """The error names the option as the user wrote it, and no function of ours."""
    with pytest.raises(bp.BadSetup, match=r"ctx\.ask\(\) has no option options=: it has answer, timeout"):
        terms_of(None, options=["yes", "no"])

"""An error that trying again can't help parks the job at once, visibly and with its reason; nothing else is written."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp

from .serving import Ask, Reply, kinds, serving


class Other(bp.Contract, name="workers.other"):
    text: str


HANDS_TO = {"b": Ask, "nobody": Ask}


def other_contract(ask: Ask, ctx: bp.SyncContext) -> Any:
    return Other(text="x")


def hidden_violation(ask: Ask, ctx: bp.SyncContext) -> Any:
    return Reply.model_construct(text=7)


def nothing(ask: Ask, ctx: bp.SyncContext) -> Any:
    pass


async def nothing_async(ask: Ask, ctx: bp.Context) -> Any:
    await ctx.step("work", lambda: 1)


def a_dict(ask: Ask, ctx: bp.SyncContext) -> Any:
    return {"text": "x"}


def undeclared(ask: Ask, ctx: bp.SyncContext) -> Any:
    return ctx.hand_off("c", Ask())


def undeclared_by_hand(ask: Ask, ctx: bp.SyncContext) -> Any:
    return bp.Handoff("c", Ask())


def unknown(ask: Ask, ctx: bp.SyncContext) -> Any:
    return ctx.hand_off("nobody", Ask())


def wrong_payload(ask: Ask, ctx: bp.SyncContext) -> Any:
    return ctx.hand_off("b", Other(text="x"))


def bad_payload(ask: Ask, ctx: bp.SyncContext) -> Any:
    return ctx.hand_off("b", Ask.model_construct(number="x"))


def unserializable(ask: Ask, ctx: bp.SyncContext) -> Any:
    ctx.step("work", object)
    return Reply(text="x")


CASES = {
    other_contract: ("contract", r"agent 'a' gave workers\.other@1, but it declares workers\.reply@1"),
    hidden_violation: ("contract", r"not a valid workers\.reply@1: text: Input should be a valid string"),
    nothing: ("contract", r"agent 'a' returned nothing: did you forget return\?"),
    nothing_async: ("contract", r"did you forget return\?"),
    a_dict: ("contract", r"agent 'a' returned a dict, not workers\.reply@1"),
    undeclared: ("refused", r"agent 'a' may not hand off to 'c': it declares 'b', 'nobody' \(hands_to=\)"),
    undeclared_by_hand: ("refused", r"agent 'a' handed off to 'c': it declares 'b', 'nobody'"),
    unknown: ("unknown_agent", r"no app here or in the store has an agent 'nobody'; known agents: a, b, c"),
    wrong_payload: ("contract", r"agent 'a' gave workers\.other@1, but it declares workers\.ask@1"),
    bad_payload: ("contract", r"not a valid workers\.ask@1: number: Input should be a valid integer"),
    unserializable: ("refused", r"result of step 'work' can't be saved: builtins\.object is neither a plain type"),
}


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("agent", CASES, ids=lambda agent: agent.__name__)
async def test_the_job_is_failed_at_its_first_attempt(agent: Any) -> None:
    reason, error = CASES[agent]
    app = bp.App("parked")
    app.agent("a", accepts=Ask, returns=Reply, hands_to=HANDS_TO)(agent)

    @app.agent("b", accepts=Ask, returns=Reply)
    @app.agent("c", accepts=Ask, returns=Reply)
    def never(ask: Ask) -> Reply:
        raise AssertionError("nothing was handed to me")

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match=error) as failed:
            await job.result(timeout=30)
        assert failed.value.reason == reason
        assert len(str(failed.value).splitlines()) == 1
        info = await job.info()
        assert (info.state, info.agent, info.hop, info.attempt) == (bp.JobState.FAILED, "a", 0, 1)
        happened = [kind for kind in await kinds(coordinator, job) if kind != "checkpoint.saved"]
        assert happened == ["job.submitted", "job.started", "job.failed"]
        assert len(await coordinator.jobs()) == 1


async def test_a_payload_that_the_receiver_can_not_read_names_its_fields(sqlite_url: str) -> None:
    """Two apps disagree on a contract: the sender's check can't notice, the receiver's does."""

    class Loose(bp.Contract, name="workers.ask"):
        text: int

    sender = bp.App("sender")

    @sender.agent("a", accepts=Loose, returns=Reply)
    @sender.agent("b", accepts=Loose, returns=Reply)
    def unused(loose: Loose) -> Reply:
        raise AssertionError

    app = bp.App("receiver")

    @app.agent("a", accepts=Ask, returns=Reply)
    def receive(ask: Ask) -> Reply:
        raise AssertionError

    async with bp.connect(sqlite_url, app=sender) as client, serving(app, sqlite_url):
        sent = await client.submit("a", Loose(text=7))
        with pytest.raises(bp.JobFailed, match=r"not a valid workers\.ask@1: text: Input should be a valid string"):
            await sent.result(timeout=30)
        assert (await sent.info()).reason == "contract"


async def test_an_agent_rejects_a_job() -> None:
    app = bp.App("rejecting")

    @app.agent("a", accepts=Ask, returns=Reply)
    def choosy(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.reject("not my table")
        raise AssertionError

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobRejected, match="was rejected by agent 'a': not my table"):
            await job.result(timeout=30)
        assert (await job.info()).state == bp.JobState.REJECTED

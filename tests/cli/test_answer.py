"""`batonpass answer` says which question it has answered: a job that got one answer may ask the next."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.testing import serving

from ..harness.waiting import wait_until
from .commandline import CommandLine


class Order(bp.Contract, name="answers.order"):
    text: str


def test_the_question_is_told_with_its_agent(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = CommandLine(store_url, capsys, monkeypatch)
    app = bp.App("answers")

    @app.agent("clerk", accepts=Order, returns=Order)
    def clerk(order: Order, ctx: bp.SyncContext) -> Order:
        return Order(text=f"{ctx.ask('how' + ' long' * 50 + '?')} {ctx.ask({'size': 1})}")

    with serving(app, store_url) as coordinator:
        job = coordinator.submit(clerk, Order(text="x"), returns=Order)
        [first] = wait_until(lambda: coordinator.inbox(job=job.id))
        assert cli("answer", job.id, "1").out == f"answered {job.id}: clerk asked how{' long' * 19} …\n"
        [second] = wait_until(lambda: coordinator.inbox(job=job.id))
        refused = cli("answer", job.id, "9", "--question", first.id)
        assert (refused.code, refused.out) == (2, "")
        told = cli("answer", second.id, "2", "--json").json
        about = {"agent": "clerk", "question_id": second.id, "question": {"size": 1}}
        assert told == {"id": job.id, "answered": 2, **about}
        assert job.result(timeout=30) == Order(text="1 2")

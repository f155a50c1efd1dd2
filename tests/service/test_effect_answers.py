"""Answers about an effect whose outcome is unknown: one that was done has a result."""

from __future__ import annotations

from functools import partial
from html import unescape

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.blobs import seal_blob
from batonpass.coordinator.commands import AnswerJob

from ..cli.commandline import CommandLine
from ..workers.serving import DEADLINE, Ask, Reply, only, reached, serving
from .service import caller, service_of
from .visitor import visiting

TOLD = "result: Field required (what the effect returned, null if that is nothing)"


async def pays(ask: Ask, ctx: bp.Context) -> Reply:
    def pay() -> int:
        raise ConnectionError("no answer")

    return Reply(text=repr(await ctx.effect("pay", pay, unsure="ask")))


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without the wait."""
    monkeypatch.setattr(bp.Retry, "pause", lambda *_: 0.01)


async def test_done_without_a_result_is_refused_wherever_it_is_said(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result was taken to be null: a payment's number was lost, and the job completed."""
    app, cli = only(pays, retries=9), CommandLine(store_url, capsys, monkeypatch)
    with service_of(app, store_url) as address:
        async with serving(app, store_url) as coordinator, caller(address) as http, visiting(address) as visitor:
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await reached(job, bp.JobState.INPUT_REQUIRED)
            with pytest.raises(bp.ContractViolation) as refused:
                await job.answer({"done": True})
            assert str(refused.value).endswith(TOLD)
            reply = await http.post(f"/jobs/{job.id}/answer", json={"answer": {"done": True}})
            assert (reply.status_code, reply.json()["fields"]) == (422, [TOLD])
            await visitor.open(f"/ui/jobs/{job.id}")
            assert '"result": "what the effect returned"' in unescape(visitor.page)
            assert TOLD in await visitor.send(f"/ui/jobs/{job.id}/answer", 422, json='{"done": true}')
            said = await anyio.to_thread.run_sync(partial(cli, "answer", job.id, '{"done": true}'))
            assert said.code != 0
            assert TOLD in said.err
            await job.answer({"done": True, "result": None})
            assert (await job.result(timeout=DEADLINE)).text == "None"


async def test_what_an_older_release_has_accepted_counts(sqlite_url: str) -> None:
    async with serving(only(pays, retries=9), sqlite_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        await coordinator.store.acall(AnswerJob(job.id, seal_blob({"done": True}, path="answer")))
        assert (await job.result(timeout=DEADLINE)).text == "None"

"""An adapter that anybody may have written wrongly: a worker refuses it, or its jobs say what is wrong, at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import batonpass as bp
from batonpass.adapter import Finished
from batonpass.workers.adapters import load_adapter

from .serving import Ask, Reply, serving

RULE = r"run\(\) must be async and return Finished, Suspended or Rejected"


class NoRun:
    pass


class SyncRun:
    def run(self, *given: Any) -> Finished:
        return Finished(Reply(text="x"))


class NoneBack:
    async def run(self, *given: Any) -> None:
        pass


class ContractBack:
    async def run(self, *given: Any) -> Reply:
        return Reply(text="x")


class Wrapped:
    """Right: what counts is what run() gives, not how it is written."""

    def run(self, *given: Any) -> Any:
        return self._run()

    async def _run(self) -> Finished:
        return Finished(Reply(text="x"))


def _install(monkeypatch: pytest.MonkeyPatch, adapter: type[Any]) -> None:
    monkeypatch.setattr("batonpass.workers.adapters.plugged", lambda *_: [SimpleNamespace(load=lambda: adapter)])


def _app() -> bp.App:
    app = bp.App("tiny")
    app.agent("a", accepts=Ask, returns=Reply, kind="tiny")(object)
    return app


def test_one_without_run_is_refused_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, NoRun)
    with pytest.raises(bp.BadSetup, match=rf"adapter .*NoRun of kind 'tiny' has no method run: {RULE}"):
        load_adapter("tiny")


@pytest.mark.parametrize(
    ("adapter", "what"),
    [
        (SyncRun, "is not async, and gave a Finished"),
        (NoneBack, "returned None"),
        (ContractBack, "returned a Reply"),
    ],
)
async def test_the_job_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch, adapter: type[Any], what: str) -> None:
    _install(monkeypatch, adapter)
    async with serving(_app()) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match=rf"adapter .*{adapter.__name__} of kind 'tiny' {what}: {RULE}"):
            await job.result(timeout=30)
        info = await job.info()
    assert (info.reason, info.attempt) == ("refused", 1)  # another attempt would end the same


async def test_a_run_that_gives_a_coroutine_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, Wrapped)
    async with serving(_app()) as coordinator:
        job = await coordinator.submit("a", Ask())
        assert await job.result(timeout=30) == Reply(text="x")

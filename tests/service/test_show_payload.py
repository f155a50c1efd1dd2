"""A job whose payload can't be shown is shown without it: on the command line, over HTTP and on the page."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

import batonpass as bp

from ..cli.commandline import CommandLine
from ..harness.bench import new_job
from .service import caller, service_of
from .visitor import visiting

app = bp.App("show")


@app.agent("greet", accepts=bp.State, returns=bp.State)
def greet(state: bp.State) -> bp.State:
    return state


async def test_it_is_shown_without_it(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = CommandLine(sqlite_url, capsys, monkeypatch)
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:
            job = await coordinator.store.acall(new_job("greet", payload='"ann"'))
            told = (await http.get(f"/jobs/{job.id}")).raise_for_status().json()
            assert (told["state"], told["unreadable"], told["payload"]) == ("submitted", ["payload"], None)
            async with visiting(address) as visitor:
                assert "Its payload can't be read: a payload of desk.notes@1" in await visitor.open(
                    f"/ui/jobs/{job.id}"
                )
    monkeypatch.setattr("batonpass.contracts.app._APPS", [])  # as in a process of its own
    printed = await anyio.to_thread.run_sync(partial(cli, "show", job.id, "--json"))
    assert printed.json == told

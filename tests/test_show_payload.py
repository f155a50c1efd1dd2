"""A job whose payload can't be shown is shown without it: on the command line, over HTTP and on the page."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import pytest
from pydantic import model_serializer, model_validator

import batonpass as bp

from .commandline import CommandLine
from .test_page import visiting
from .test_serve import caller, service_of


class Name(bp.Contract, name="show.name"):
    """Its class writes it as a text, which nobody can read who does not have the class."""

    text: str

    @model_serializer
    def written(self) -> str:
        return self.text

    @model_validator(mode="before")
    @classmethod
    def read(cls, given: Any) -> Any:
        return {"text": given} if isinstance(given, str) else given


app = bp.App("show")


@app.agent("greet", accepts=Name, returns=bp.State)
def greet(name: Name) -> bp.State:
    return bp.State(greeted=name.text)


async def test_it_is_shown_without_it(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = CommandLine(sqlite_url, capsys, monkeypatch)
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:
            job = await coordinator.submit("greet", Name(text="ann"))
            told = (await http.get(f"/jobs/{job.id}")).raise_for_status().json()
            assert (told["state"], told["unreadable"], "payload" in told) == ("submitted", ["payload"], False)
            async with visiting(address) as visitor:
                assert "Its payload can't be read: a payload of show.name@1" in await visitor.open(f"/ui/jobs/{job.id}")
    monkeypatch.setattr("batonpass.contracts.app._APPS", [])  # as in a process of its own
    printed = await anyio.to_thread.run_sync(partial(cli, "show", job.id, "--json"))
    assert printed.json == told

"""The command line about pauses of agents: who is told of them, and where."""

from __future__ import annotations

import anyio
import pytest

import batonpass as bp

from ..workers.serving import Reply, only
from .commandline import CommandLine

APP = only(lambda ask: Reply(text=ask.text))


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    with bp.connect(store_url, app=APP) as coordinator:
        coordinator.declare(APP)
    return CommandLine(store_url, capsys, monkeypatch)


def told(run: CommandLine) -> list[tuple[str, str]]:
    findings = run("doctor", "--json").json["findings"]
    return [(each["level"], each["text"]) for each in findings if each["about"] == "agent a"]


def test_an_agent_is_paused_and_goes_on(run: CommandLine) -> None:
    assert run("pause", "a", "--reason", "no model").out == "paused a\n"
    assert run("pause", "a").out == "a was paused already\n"
    submitted = run("submit", "a", "{}")
    job = submitted.out.strip()
    assert "waits: agent 'a' is paused since" in submitted.err
    assert "no model (`batonpass resume` lets it go on)" in submitted.err
    assert "submitted (ready, agent paused)" in run("jobs").out
    assert run("jobs", "--json").json[0]["paused"]["reason"] == "no model"
    [line] = [each for each in run("show", job).out.splitlines() if each.startswith("paused ")]
    assert line.endswith(": no model")
    assert line.startswith("paused         its agent, since 2")
    assert ": no model" in run("agents").out
    assert run("agents", "--json").json[0]["paused"]["reason"] == "no model"
    level, text = told(run)[0]
    assert (level, "(no model); 1 job(s) are ready and wait. `batonpass resume a`" in text) == ("warn", True)
    assert "agent.paused" in run("events").out
    assert run("resume", "a", "--json").json == {"agent": "a", "paused": False, "changed": True}
    assert run("resume", "a").out == "a was not paused\n"
    assert run("jobs", "--json").json[0]["paused"] is None
    assert "paused" not in str(told(run))
    assert run("pause", "a", "--json").json == {"agent": "a", "paused": True, "changed": True}


def test_a_misspelt_name_is_refused(run: CommandLine) -> None:
    assert "has an agent 'aa'; known agents: a" in run("pause", "aa").complaint
    assert "has an agent 'aa'; known agents: a" in run("resume", "aa").complaint


async def test_workers_say_so(run: CommandLine, store_url: str) -> None:
    async with bp.connect(store_url, app=APP) as coordinator, APP.worker(coordinator):
        await coordinator.pause_agent("a")
        with anyio.fail_after(20):
            while not (workers := await coordinator.workers()):
                await anyio.sleep(0.02)
        assert [(each.agents, each.paused) for each in workers] == [(("a",), ("a",))]
        ran = await anyio.to_thread.run_sync(run, "workers")
        assert "a (paused)" in ran.out

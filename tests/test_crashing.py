"""`batonpass.testing.crash_everywhere`: a user's test that a job survives a crash at any moment."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, TypedDict

import anyio
import pytest

import batonpass as bp
from batonpass.testing import crash_everywhere


class Topic(bp.Contract, name="crashing.topic"):
    text: str = "rain"


class Report(bp.Contract, name="crashing.report"):
    body: str


class Seen:
    """What ran, in a file: the processes are killed."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "seen"

    def __call__(self, what: str) -> str:
        with self._file.open("a") as file:
            file.write(f"{what}\n")
        return what

    def counts(self) -> Counter[str]:
        return Counter(self._file.read_text().splitlines())


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    return Seen(tmp_path)


def desk(seen: Seen) -> bp.App:
    app = bp.App("desk")

    @app.agent("research", accepts=Topic, hands_to={"write": Topic})
    async def research(topic: Topic, ctx: bp.Context) -> bp.Handoff:
        found = await ctx.step("look", seen, f"look at {topic.text}")
        seen("between")
        await ctx.step("read", seen, "read")
        return ctx.hand_off("write", Topic(text=found))

    @app.agent("write", accepts=Topic, returns=Report, hands_to={"check": Topic})
    def write(topic: Topic, ctx: bp.SyncContext) -> Report:
        [checked] = ctx.fan_out([bp.Handoff("check", topic)])
        return Report(body=f"{checked.body}, {ctx.ask('ok?')}")

    @app.agent("check", accepts=Topic, returns=Report)
    def check(topic: Topic) -> Report:
        return Report(body=seen(topic.text))

    return app


def test_before_each_write(seen: Seen) -> None:
    crashes = crash_everywhere(
        desk(seen), "research", Topic(), returns=Report, answer=lambda item: f"yes, {item.agent}"
    )
    assert [crash.at for crash in crashes] == [
        "",
        *("write 1: Save at research", "write 2: Save at research", "write 3: HandOff at research"),
        *("write 4: Spawn at write", "write 5: Complete at check", "write 6: Suspend at write"),
        *("write 7: Save at write", "write 8: Complete at write"),
    ]
    for crash in crashes:
        assert (crash.result, crash.error) == (Report(body="look at rain, yes, write"), None), crash
    # Nine jobs. A step that was killed before it was recorded ran once more.
    assert seen.counts() == {"look at rain": 9 + 1 + 9 + 1, "between": 9 + 2, "read": 9 + 1}


def test_what_does_not_survive_is_told(seen: Seen) -> None:
    app = bp.App("desk")

    @app.agent("pay", accepts=Topic, returns=Report)
    def pay(topic: Topic, ctx: bp.SyncContext) -> Report:
        return Report(body=ctx.effect("pay", seen, "paid"))

    crashes = crash_everywhere(app, pay, {"text": "x"}, returns=Report)
    assert [(crash.at, crash.result and crash.result.body) for crash in crashes] == [
        ("", "paid"),
        ("write 1: Record at pay", "paid"),
        ("write 2: Save at pay", None),  # the effect began, and nobody knows how it ended
        ("write 3: Complete at pay", "paid"),
    ]
    error = crashes[2].error
    assert isinstance(error, bp.JobFailed)
    assert error.reason == "ambiguous"


class State(TypedDict):
    text: str


def test_a_graph(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = "batonpass.adapters.langgraph"
    monkeypatch.delitem(sys.modules, adapter, raising=False)
    app = bp.App("desk")

    def think(name: str, state: State) -> State:
        return {"text": f"{state['text']} {seen(name)}"}

    @app.langgraph("graph", accepts=Topic, returns=Report, leave=lambda state: Report(body=state["text"]))
    def graph() -> Any:
        from langgraph.graph import END, START, StateGraph

        made = StateGraph(State)
        for name, after in (("one", START), ("two", "one")):
            made.add_node(name, partial(think, name))
            made.add_edge(after, name)
        made.add_edge("two", END)
        return made

    crashes = crash_everywhere(app, "graph", Topic(), returns=Report)
    assert {crash.result.body for crash in crashes} == {"rain one two"}
    assert adapter in sys.modules  # imported here, and not in each of the processes
    writes = len(crashes) - 1
    assert writes > 2
    assert seen.counts()["one"] < 2 * len(crashes) > seen.counts()["two"]


def test_a_question_without_an_answer(seen: Seen) -> None:
    with pytest.raises(bp.BadSetup, match=r"agent 'write' asks 'ok\?': pass answer=, a function of the question"):
        crash_everywhere(desk(seen), "research", Topic())


@pytest.mark.parametrize("blocks", [False, True], ids=["waits", "blocks its loop"])
def test_a_job_that_hangs_is_told_with_its_agent_and_write(blocks: bool, capfd: pytest.CaptureFixture[str]) -> None:
    app = bp.App("desk")

    @app.agent("look", accepts=Topic, hands_to={"hang": Topic})
    def look(topic: Topic, ctx: bp.SyncContext) -> bp.Handoff:
        return ctx.hand_off("hang", topic)

    @app.agent("hang", accepts=Topic, returns=Report)
    async def hang(topic: Topic, ctx: bp.Context) -> Report:
        await ctx.step("read", str, topic.text)
        if blocks:
            Event().wait()
        await anyio.sleep_forever()
        return Report(body="")

    with pytest.raises(AssertionError) as caught:
        crash_everywhere(app, look, Topic(), timeout=1.5)
    assert str(caught.value) == (
        "the job did not get on in 1.5 s (timeout=). Agent 'hang' (hop 1) was running, after write 2: Save at hang"
    )
    assert not blocks or "in hang" in capfd.readouterr().err


def test_a_job_that_waits_too_long_is_told_with_its_state() -> None:
    app = bp.App("desk")

    @app.agent("wait", accepts=Topic, returns=Report)
    def wait(topic: Topic, ctx: bp.SyncContext) -> Report:
        ctx.sleep(60)
        return Report(body="")

    told = r"Agent 'wait' \(hop 0\) was not running: its job was submitted, after write 1: Sleep at wait$"
    with pytest.raises(AssertionError, match=told):
        crash_everywhere(app, wait, Topic(), timeout=1.5)


def test_a_process_that_kills_itself(seen: Seen) -> None:
    app = bp.App("desk")

    @app.agent("dies", accepts=Topic, returns=Report)
    def dies(topic: Topic, ctx: bp.SyncContext) -> Report:
        seen(ctx.job_id)
        if seen.counts()[ctx.job_id] == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return Report(body="lives")

    crashes = crash_everywhere(app, dies, Topic(), returns=Report)
    assert [crash.at for crash in crashes] == ["", "write 1: Complete at dies"]

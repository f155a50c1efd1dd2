"""What README.md and docs/ show works as written."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import batonpass as bp
from tests.house.pages import README, run, shown


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new working directory that holds the app that the README saves there, and has `batonpass` on PATH."""
    (tmp_path / "desk.py").write_text(shown('bp.App("desk")'))
    command = tmp_path / "bin" / "batonpass"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m batonpass "$@"\n')
    command.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BATONPASS_URL", raising=False)
    monkeypatch.setenv("PATH", str(command.parent), prepend=":")
    return tmp_path


def test_a_worker_process_does_a_submitted_job(here: Path) -> None:
    [(start, submit)] = re.findall(
        r"^    (batonpass worker desk:app) &\n    (batonpass submit .*)$", README, re.MULTILINE
    )
    with subprocess.Popen(shlex.split(start), stderr=subprocess.PIPE, text=True) as worker:
        try:
            assert worker.stderr is not None
            assert "serves research, write" in worker.stderr.readline()
            done = subprocess.run(shlex.split(submit), capture_output=True, text=True)
        finally:
            worker.terminate()
            worker.communicate()
    assert done.returncode == 0, done.stderr
    assert "rain has 4 letters" in done.stdout
    assert worker.returncode == 0


async def test_python_submits_and_looks(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = await run(shown('bp.App("desk")'), {"bp": bp})
    async with bp.connect("sqlite:///batonpass.db") as coordinator, names["app"].worker(coordinator):
        await run(shown('key="ticket-4821"'), names)
    assert names["report"].body == "rain has 4 letters"
    assert "research" in capsys.readouterr().out


async def test_a_person_is_asked_and_answers(here: Path) -> None:
    names = await run(shown('bp.App("desk")'), {"bp": bp})
    await run(shown("ctx.ask("), names)
    async with bp.connect("sqlite:///batonpass.db") as coordinator, names["app"].worker(coordinator):
        job = await coordinator.submit("approve", {"body": "it rains"})
        with anyio.fail_after(30):
            while not (asked := await coordinator.inbox(assignee="ann")):
                await anyio.sleep(0.02)
        await coordinator.answer(asked[0].id, names["Verdict"](ok=True))
        assert (await job.result(timeout=30)).body == "it rains"


def test_an_app_runs_without_a_worker_process(here: Path) -> None:
    [start] = re.findall(r"^    (python desk\.py)$", README, re.MULTILINE)
    done = subprocess.run([sys.executable, *start.split()[1:]], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "rain has 4 letters\n"), done.stderr
    assert [path.name for path in here.iterdir() if "batonpass" in path.name] == []  # its store is in memory


async def test_factories_are_declared(here: Path) -> None:
    names = await run(shown('bp.App("desk")'), {"bp": bp})

    class Draft(bp.Contract, name="desk.draft"):
        text: str

    app = bp.App("frameworks")
    await run(shown('@app.langgraph("triage"'), names | {"app": app, "Draft": Draft})
    app.check()
    assert {agent.name: agent.kind for agent in app} == {"triage": "langgraph", "write": "crewai", "review": "autogen"}


async def test_when_and_how_much(sqlite_url: str) -> None:
    app = bp.App("limits")

    class Topic(bp.Contract, name="desk.topic"):
        text: str

    names: dict[str, Any] = {"bp": bp, "app": app, "Topic": Topic, "Report": Topic, "topic": Topic(text="rain")}
    app.agent("research", accepts=Topic, returns=Topic)(lambda topic: topic)
    async with bp.connect(sqlite_url, app=app) as coordinator:
        await run(shown("limit_by="), names | {"coordinator": coordinator})
        assert {info.reason for info in await coordinator.jobs()} == {"ready", "scheduled"}
    app.check()


async def test_checkpoints_without_agents(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    app = bp.App("approvals")

    @app.agent("approval", accepts=bp.State, returns=bp.State)
    async def approval(state: bp.State) -> bp.State:
        return state

    async with bp.connect(sqlite_url, app=app) as coordinator:
        await run(shown("coordinator.expire("), {"bp": bp, "coordinator": coordinator})
    assert capsys.readouterr().out == "validate\n"


async def test_time_travel(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with bp.connect(sqlite_url) as coordinator:
        names = await run(shown("coordinator.rollback("), {"bp": bp, "coordinator": coordinator})
        assert capsys.readouterr().out == "state['total'] 12 15\n"
        assert names["fork"].state == {"total": 13}
        tip = await coordinator.latest(thread="run-001")
        assert tip is not None
        assert (tip.state, tip.step) == ({"total": 12}, "rollback")
        assert await coordinator.timeline("run-002") == []


def test_langgraph_without_jobs(here: Path) -> None:
    from langgraph.graph import END, START, MessagesState, StateGraph

    builder: Any = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [("ai", f"{len(state['messages'])} so far")]})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    example = shown("import BatonpassSaver")
    for expected in (2, 4):
        names: dict[str, Any] = {"builder": builder}
        exec(example, names)
        config = {"configurable": {"thread_id": "t"}}
        assert len(names["graph"].invoke({"messages": [("user", "hi")]}, config)["messages"]) == expected


def test_own_objects(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for epochs in (3, 6):  # the second time it goes on
        names: dict[str, Any] = {"bp": bp}
        exec(shown("class Trainer"), names)
        assert "epoch" in capsys.readouterr().out
        with bp.Keeper("sqlite:///runs.db") as runs:
            assert len(runs.history("run-1", 50)) >= epochs // 3


async def test_a_migration_is_declared(here: Path) -> None:
    names = await run(shown('bp.App("desk")'), {"bp": bp})
    app = bp.App("newer")
    await run(shown("@app.migration"), names | {"app": app})
    assert app["research"].state_version == 2
    app.check()


def test_every_command_is_shown_and_exists(here: Path) -> None:
    [table] = re.findall(r"## The command line\n\n(.*?)\n\n", README, re.DOTALL)
    commands = re.findall(r"(?:batonpass|\|) ([a-z-]+)\b", table)
    usage = subprocess.run(["batonpass", "--help"], capture_output=True, text=True, check=True).stdout
    there = set(re.findall(r"^  ([a-z-]+) ", usage.partition("Commands:")[2], re.MULTILINE))
    assert set(commands) == there


async def test_many_at_once() -> None:
    class Topic(bp.Contract, name="many.topic"):
        text: str

    class Report(bp.Contract, name="many.report"):
        body: str

    class Score(bp.Contract, name="many.score"):
        points: int

    app = bp.App("many")

    @app.agent("score", accepts=Topic, returns=Score, retries=1)
    def score(topic: Topic) -> Score:
        return Score(points=int(topic.text))

    names = await run(shown("ctx.fan_out"), {"bp": bp, "app": app, "Topic": Topic, "Report": Report})
    report = await app.run(names["panel"], Topic(text="1 none 3"), returns=Report)
    assert report.body == "4 points of 2"

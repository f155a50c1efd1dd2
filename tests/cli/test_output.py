"""The command line as programs use it: every command has --json, and it says if output can't be written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from pydantic import Field

import batonpass as bp

from ..workers.serving import Ask, serving
from .commandline import CommandLine


class Weighed(bp.Contract, name="cli.weighed"):
    weight: float = Field(alias="kg")
    label: bytes = b"\xff"


app = bp.App("weigh")


@app.agent("weigh", accepts=Ask, returns=Weighed)
def weigh(ask: Ask) -> Weighed:
    return Weighed(kg=1.5)


@pytest.fixture
def cli(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(store_url, capsys, monkeypatch)


def in_one_line(text: str) -> str:
    return f" {' '.join(text.split())} "


def test_every_command_has_json_and_help(cli: CommandLine) -> None:
    helped = cli("--help").out
    assert "BATONPASS_ENCRYPT_KEYS" in helped
    summaries = in_one_line(helped)
    listed = re.findall(r"^  ([a-z]\S+) ", helped, re.MULTILINE)
    groups = {"schedule", "webhooks", "groups"}
    commands = [[name] for name in listed if name not in groups]
    for group in groups & set(listed):
        inner = cli(group, "--help").out.partition("Commands:")[2]
        assert not re.search(r"\.$", inner, re.MULTILINE)  # they don't end unlike those outside groups
        summaries += in_one_line(inner)
        commands += [[group, name] for name in re.findall(r"^  ([a-z]+)  ", inner, re.MULTILINE)]
    assert len(commands) > 30
    for command in commands:
        told = cli(*command, "--help")
        assert told.code == 0
        assert "--json" in told.out
        assert "--store" in told.out or command in (["move"], ["repartition"])  # these two name two stores
        first = in_one_line(told.out.split("\n\n")[1]).strip().partition(". ")[0].removesuffix(".")
        assert f" {command[-1]} {first} " in summaries  # the whole sentence


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (("sub",), {"submit"}),
        (("schedule", ""), {"add", "list", "pause", "remove", "resume", "run"}),
        (("submit", "--prio"), {"--priority"}),
        (("--json", "jobs", "--state", "c"), {"completed", "canceled"}),
    ],
)
def test_shells_complete_words(words: tuple[str, ...], completed: set[str]) -> None:
    asked = {"_BATONPASS_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(("batonpass", *words))}
    told = batonpass(**asked, COMP_CWORD=str(len(words)))
    assert set(told.stdout.split()) == completed, told.stderr


def test_shells_get_their_script() -> None:
    told = batonpass("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_BATONPASS_COMPLETE=complete_bash" in told.stdout, told.stderr


def batonpass(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, because completion is set up and reads its arguments when that starts."""
    command = [sys.executable, "-m", "batonpass", *arguments]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=60)


def test_what_all_commands_take_may_stand_before_the_command(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    with bp.connect(cli.url, namespace="mine") as coordinator:
        coordinator.save(thread="t", agent="x", state={"round": 1})
    mine = ("--store", cli.url, "--namespace", "mine", "--json")
    behind = cli("timeline", "t", *mine)
    assert len(behind.json) == 1
    for elsewhere in ("sqlite:////nowhere/at/all.db", None):
        if elsewhere:
            monkeypatch.setenv("BATONPASS_URL", elsewhere)
        else:
            monkeypatch.delenv("BATONPASS_URL")
        assert cli(*mine, "timeline", "t") == behind
        assert cli(*mine[2:], "timeline", "t", *mine[:2]) == behind
        assert cli("--store", "sqlite:////nowhere/at/all.db", "timeline", "t", *mine) == behind  # the later one
        assert cli(*mine, "schedule", "list").json == []
    assert "--cron" in cli(*mine, "schedule", "add", "--help").out
    assert "No such option: --store" in cli(*mine[:2], "move", "a", "b").err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk that is full needs /dev/full")
@pytest.mark.parametrize("command", ["jobs", "events"])
def test_output_that_can_not_be_written_is_one_line(cli: CommandLine, command: str) -> None:
    with bp.connect(cli.url) as coordinator:
        coordinator.save(thread="t", agent="x", state={"round": 1})
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "batonpass", command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30
        )
    assert (ran.returncode, ran.stderr) == (2, "batonpass: the output can't be written: No space left on device\n")


@pytest.mark.parametrize("as_json", [False, True])
def test_whoever_reads_the_output_may_leave(cli: CommandLine, as_json: bool) -> None:
    """As `head` does. Code 1 would say that a job failed."""
    with bp.connect(cli.url) as coordinator:
        coordinator.save(thread="t", agent="x", state={"round": 1})
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "batonpass", "timeline", "t", *(["--json"] if as_json else [])]
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=30)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, "")


def test_a_result_is_printed_as_show_prints_it(cli: CommandLine) -> None:
    """Fields under their names, as they are sent, whether this process has the class or not."""
    with bp.connect(cli.url, app=app) as coordinator:
        coordinator.declare(app)
    submit = ("submit", "weigh", '{"text": "tea"}', "--wait", "--timeout", "30")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, cli.url)):
        printed = [cli(*submit), cli(*submit, "--app", f"{__name__}:app")]
    shown = [cli("show", job["id"], "--json").json["result"] for job in cli("jobs", "--json").json]
    assert [each.json for each in printed] == shown == [{"weight": 1.5, "label": "_w=="}] * 2


def test_json_has_no_number_that_only_python_reads(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As over HTTP. A loss that is not a number is nothing rare."""
    run = CommandLine(sqlite_url, capsys, monkeypatch)
    with bp.connect(run.url) as coordinator:
        ids = [
            coordinator.save(thread="run", agent="a", state={"loss": loss}, context={"best": float("inf")}).id
            for loss in (1.0, float("nan"))
        ]

    def read(*command: str) -> Any:
        return json.loads(run(*command).out, parse_constant=pytest.fail)

    assert read("restore", ids[1], "--json")["state"] == read("restore", ids[1]) == {"loss": "NaN"}
    assert read("diff", *ids, "--json")["changed"] == [{"path": "state['loss']", "old": 1.0, "new": "NaN"}]
    assert read("timeline", "run", "--json")[0]["context"] == {"best": "Infinity"}

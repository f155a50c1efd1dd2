"""What users and agents have written does not act on the terminal of whoever reads it, and forges no lines."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp
from batonpass.examples.incident_desk.screen import Screen

from ..workers.serving import reached, serving
from .commandline import CommandLine

# Sets the title, clears the screen, returns to the line's start, begins a line, writes backwards, colours (C1), rings.
EVIL = "\x1b]0;pwned\x07\x1b[2J\rFORGED\nFORGED \u202e\u2066\x9b31m\x7f"
FORBIDDEN = set("\x00\x07\x08\x0b\x0c\r\x1b\x7f\x85\x9b\u202e\u2066")


class Words(bp.Contract, name="control.words"):
    text: str


app = bp.App(f"app{EVIL}")


@app.agent(f"echo{EVIL}", accepts=Words, returns=Words)
async def echo(words: Words, ctx: bp.Context) -> Words:
    await ctx.emit(words.text, {words.text: words.text})
    return words


@app.agent("fails", accepts=Words, returns=Words, retries=1)
async def fails(words: Words) -> Words:
    raise ValueError(f"no weather for {words.text}")


@app.agent("asks", accepts=Words, returns=Words)
async def asks(words: Words, ctx: bp.Context) -> Words:
    return Words(text=str(await ctx.ask(words.text, assignee="who" + EVIL.replace("\n", ""))))


@dataclass(frozen=True)
class Told:
    """A store in which every text is hostile."""

    cli: CommandLine
    echoed: str
    failed: str
    asked: str
    checkpoints: tuple[str, ...]


@pytest.fixture
def told(sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    run = CommandLine(sqlite_url, capsys, monkeypatch)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, run.url)) as coordinator:

        async def fill() -> Told:
            ids: list[str] = []
            for agent in (f"echo{EVIL}", "fails", "asks"):
                thread = f"thread of {agent}{EVIL}"
                job = await coordinator.submit(agent, Words(text=EVIL), thread=thread, key=f"key{EVIL}")
                await reached(job, bp.JobState.COMPLETED, bp.JobState.FAILED, bp.JobState.INPUT_REQUIRED)
                ids.append(job.id)
            saved: list[str] = []
            for value in (EVIL, "other"):
                state = {EVIL: value, "n": [EVIL]}
                made = await coordinator.save(
                    thread=f"T{EVIL}", agent=EVIL, step=EVIL, state=state, context={EVIL: EVIL}
                )
                saved.append(made.id)
            await coordinator.name(saved[0], f"name{EVIL}")
            await coordinator.schedule(f"schedule{EVIL}", "fails", Words(text=EVIL), cron="0 0 1 1 *")
            await coordinator.webhook(f"webhook{EVIL}", "https://hooks.example/")
            await coordinator.pause_agent("fails", reason=EVIL)
            return Told(run, ids[0], ids[1], ids[2], tuple(saved))

        yield portal.call(fill)


def test_no_command_prints_them(told: Told) -> None:
    thread, (old, new) = f"T{EVIL}", told.checkpoints
    commands: list[list[str]] = [
        *(["show", each] for each in (told.echoed, told.failed, told.asked, old)),
        *([each] for each in ("jobs", "dead-letters", "inbox", "threads", "events", "agents", "workers", "doctor")),
        *([each, "list"] for each in ("schedule", "webhooks", "groups")),
        ["threads", "--limit", "1"],
        ["timeline", thread],
        ["timeline", f"thread of fails{EVIL}"],
        ["stream", told.failed],
        ["diff", old, new],
        ["restore", old],
        ["jobs", "--agent", f"nobody{EVIL}"],
        ["show", f"nothing{EVIL}"],
        ["pause", "fails", "--reason", EVIL],
        ["name", old, f"other{EVIL}"],
        ["copy", thread, f"copy{EVIL}"],
        ["submit", f"nobody{EVIL}", "{}"],
        ["submit", "fails", "{}"],
        ["answer", told.asked, EVIL],
        ["redrive", told.failed],
        ["delete", f"copy{EVIL}", "--yes"],
    ]
    for command in commands:
        ran = told.cli(*command)
        printed = ran.out + ran.err
        assert printed, command
        assert not FORBIDDEN & set(printed), (command, printed)
        assert not [line for line in printed.splitlines() if line.startswith("FORGED")], (command, printed)


def test_they_are_shown_as_escapes(told: Told) -> None:
    assert r"\x1b[2J FORGED" in told.cli("inbox").out
    assert r"no weather for \x1b]0;pwned\x07\x1b[2J FORGED FORGED \u202e\u2066\x9b31m\x7f" in told.cli("jobs").out
    assert r"\nFORGED" in told.cli("name", told.checkpoints[0], f"z{EVIL}").out


def test_programs_get_what_was_written(told: Told) -> None:
    """As JSON that a terminal shows as harmlessly."""
    shown, restored = told.cli("show", told.failed, "--json"), told.cli("restore", told.checkpoints[0])
    assert not FORBIDDEN & set(shown.out + restored.out)
    assert shown.json["payload"] == {"text": EVIL}
    assert restored.json == {EVIL: EVIL, "n": [EVIL]}


def test_a_stream_is_passed_on_as_it_is_but_not_to_a_terminal(told: Told) -> None:
    """As `kubectl logs` does for programs. Its line breaks are wanted."""
    assert told.cli("stream", told.echoed).out.startswith(f"{EVIL}\n{{")
    shown = on_a_terminal("stream", told.echoed)
    assert not FORBIDDEN - {"\r"} & set(shown)  # the terminal itself ends lines with \r\n
    assert "FORGED\nFORGED 31m\n{" in shown.replace("\r\n", "\n")


def test_the_demo_quotes_logs_and_models(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.say("write", EVIL)
    screen.heading(EVIL)
    screen.row(EVIL)
    assert capsys.readouterr().out.count(r"\x1b[2J\rFORGED\nFORGED \u202e") == 3


def on_a_terminal(*arguments: str) -> str:
    """What a command prints on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "batonpass", *arguments], stdout=theirs, stderr=theirs) as ran:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # Linux says that nobody has the other end open any more
            while some := os.read(ours, 65536):
                printed += some
        assert ran.wait(60) == 0, printed
    os.close(ours)
    return printed.decode()

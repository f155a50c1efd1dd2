"""The demo: what it refuses, how it judges its evidence, and one whole run with real workers killed and paused."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.examples.incident_desk import demo, pausing, proof, staff
from batonpass.examples.incident_desk.pausing import is_locked
from batonpass.examples.incident_desk.story import HELD

RUN = [
    sys.executable,
    "-c",
    "import typer; from batonpass.examples.incident_desk.demo import command; typer.run(command)",
]


def test_bad_options_are_refused_and_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "a.log"
    log.write_text("ERROR x\n")
    with pytest.raises(bp.BadSetup, match="--kill lunch: there is no such stage"):
        demo.command(log=log, kill="lunch")
    with pytest.raises(bp.BadSetup, match=r"none\.log can't be read"):
        demo.command(log=tmp_path / "none.log")
    with pytest.raises(bp.BadSetup, match="memory:// is one process's own"):
        demo.command(log=log, store="memory://")
    with pytest.raises(bp.BadSetup, match="can't be used"):
        demo.command(log=log, store="mysql://here")
    with pytest.raises(bp.Unreachable):
        demo.command(log=log, store="redis://127.0.0.1:1")
    assert list(tmp_path.iterdir()) == [log]


def judged(tmp_path: Path, rows: list[str], held: str, owners: list[int]) -> list[str]:
    evidence = tmp_path / "evidence.txt"
    evidence.write_text("".join(f"{row}\n" for row in rows))
    return [unit.label for unit in proof.repeated(evidence, held, owners)]


def test_a_unit_that_was_begun_again_is_found(tmp_path: Path) -> None:
    held = HELD["write"]
    good = ["1 triage: agent 1", "2 write: facts", f"2 {held}", f"3 {held}", f"4 {held}"]
    assert judged(tmp_path, good, held, [2, 3, 4]) == []
    assert judged(tmp_path, [*good, "4 triage: agent 1"], held, [2, 3, 4]) == ["triage: agent 1"]
    assert judged(tmp_path, [*good, "3 write: facts", "4 write: facts"], held, [2, 3, 4]) == ["write: facts"]
    assert judged(tmp_path, [*good, f"3 {held}"], held, [2, 3, 4]) == [held]
    assert judged(tmp_path, ["1 triage: agent 1", "1 triage: agent 1"], "", []) == ["triage: agent 1"]


def alive(folder: Path) -> list[str]:
    """The command lines of worker processes whose store is in the folder."""
    rows = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [row for row in rows if "batonpass worker" in row and folder.name in row]


@pytest.mark.timeout(300)
def test_a_job_survives_its_killed_worker_and_refuses_its_zombie(tmp_path: Path) -> None:
    log = tmp_path / "shop.log"
    log.write_bytes(b"\n\xff\xfe binary \x00\n" + b"".join(b"ERROR disk %d is full\n" % n for n in range(9)))
    store = f"sqlite:////{tmp_path}/desk.db?namespace=ours"
    ran = subprocess.run(
        [*RUN, "--input", str(log), "--kill", "write", "--store", store, "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    outcome = json.loads(ran.stdout)
    assert outcome["good"]
    assert outcome["report"]["approved"]
    value = {figure["name"]: figure["value"] for figure in outcome["report"]["figures"]}
    assert (value["lines"], value["error lines"], value["first error line"]) == ("10", "9", "3")
    killed, paused, last = outcome["owners"]["write"]
    assert outcome["steps"]["write"] == {"facts": 1, "post-mortem": 3}
    assert {count for stage in ("triage", "review") for count in outcome["steps"][stage].values()} == {1}
    assert outcome["tokens"] == sorted(set(outcome["tokens"]))
    assert "lease" in outcome["refusal"]
    for said in (
        f"kill -9 worker {killed}",
        f"pause worker {paused}",
        f"wake worker {paused}",
        f"worker {last} has the job",
    ):
        assert said in ran.stderr
    assert alive(tmp_path) == []
    [show] = [line for line in ran.stderr.splitlines() if f" show {outcome['job']} " in line]
    shown = subprocess.run(shlex.split(show), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert shown.returncode == 0, shown.stderr
    assert outcome["job"] in shown.stdout


# Holds the file's lock for most of the time, and says so in the middle of that.
WRITER = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
while True:
    db.execute("BEGIN IMMEDIATE")
    print("writes", flush=True)
    time.sleep(0.2)
    db.execute("COMMIT")
    time.sleep(0.05)
"""


def stands_still(pid: int) -> bool:
    ran = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return ran.stdout.startswith("T")


@pytest.mark.parametrize("times", range(3))
def test_a_worker_is_not_paused_while_it_writes(tmp_path: Path, times: int) -> None:
    """SQLite's lock would stay with it, and no other worker could take over its job."""
    path = tmp_path / "desk.db"
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        for _ in range(times + 1):
            writer.stdout.readline()
        try:
            pausing.pause(writer.pid, f"sqlite:///{path}")
            assert not is_locked(path)
            assert stands_still(writer.pid)
        finally:
            writer.kill()


@pytest.mark.timeout(240)
def test_ctrl_c_leaves_no_worker_behind(tmp_path: Path) -> None:
    command = [*RUN, "--store", f"sqlite:////{tmp_path}/desk.db"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not alive(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.1)
        started = alive(tmp_path)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert started
    assert process.returncode == 130
    assert b"no worker is left running" in output
    assert alive(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="no other kernel tells a process that its parent is gone")
@pytest.mark.timeout(240)
def test_a_killed_demo_leaves_no_worker_behind(tmp_path: Path) -> None:
    command = [*RUN, "--store", f"sqlite:////{tmp_path}/desk.db"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not alive(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.1)
        started = alive(tmp_path)
        process.kill()
    deadline = time.monotonic() + 30
    while alive(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert started
    assert alive(tmp_path) == []


def test_ctrl_c_while_a_worker_is_being_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process exists by then, and nobody knows of it yet."""
    start = subprocess.Popen[bytes].__init__

    def interrupted(self: subprocess.Popen[bytes], *args: Any, **options: Any) -> None:
        start(self, *args, **options)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess.Popen, "__init__", interrupted)
    with (
        pytest.raises(KeyboardInterrupt),
        staff.Staff(tmp_path, ["--store", f"sqlite:////{tmp_path}/desk.db"], {}) as all_of_them,
    ):
        all_of_them.hire("triage")
    monkeypatch.undo()
    assert alive(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="no other kernel tells a process that its parent is gone")
def test_a_worker_whose_demo_was_killed_while_it_was_started_ends() -> None:
    """Nobody would signal it: by the time it asks for that, the demo is no longer its parent."""
    elsewhere = subprocess.Popen(["true"])
    elsewhere.wait()
    ended = subprocess.run(
        [sys.executable, "-c", "print('ran')"],
        preexec_fn=lambda: staff._end_with(elsewhere.pid),
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, b"")

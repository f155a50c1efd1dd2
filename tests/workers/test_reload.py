"""`--reload`: running jobs go on in the changed code, from their last checkpoint."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until

from .processes import DEADLINE

pytestmark = pytest.mark.timeout(240)
_SECOND = 1_750_000_000 * 10**9
APP = """
import os
import time
from pathlib import Path

import batonpass as bp

HERE = Path(__file__).parent


class Task(bp.Contract, name="reload.task"):
    text: str = ""


class Done(bp.Contract, name="reload.done"):
    words: list[str]


app = bp.App("reload")


def note(text):
    with (HERE / "log").open("a") as log:
        log.write(text + chr(10))
    return text


def gated(text):
    note(text)
    while not (HERE / "gate").exists():
        time.sleep(0.01)
    return text


@app.agent("steps", accepts=Task, returns=Done, isolation=ISOLATION)
def steps(task, ctx):
    return Done(words=[ctx.step("one", note, "one"), ctx.step("two", gated, "two"), "OLD"])
"""

GRAPH = (
    APP.partition("@app.agent")[0]
    + """
from operator import add
from typing import Annotated, TypedDict

from langgraph.graph import StateGraph


class Words(TypedDict):
    text: str
    words: Annotated[list[str], add]


@app.langgraph("steps", accepts=Task, returns=Done, isolation=ISOLATION)
def steps():
    graph = StateGraph(Words)
    graph.add_sequence([
        ("first", lambda state: {"words": [note("one")]}),
        ("second", lambda state: {"words": [gated("two")]}),
        ("third", lambda state: {"words": ["OLD"]}),
    ])
    return graph.set_entry_point("first")
"""
)


class Reloading:
    """A worker with `--reload` in a folder with one module, `desk.py`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = "sqlite:///x.db"
        self._err = folder / "err"
        self._edits = 0
        self._process: subprocess.Popen[bytes] | None = None

    def write(self, text: str) -> None:
        """Change `desk.py`, always within the same second: so bytecode of the old text still looks current."""
        self._edits += 1
        new = self.folder / "desk.new"
        new.write_text(text)
        os.utime(new, ns=(self._edits, _SECOND + self._edits))
        new.rename(self.folder / "desk.py")

    def start(self) -> None:
        with self._err.open("wb") as err:
            command = ["worker", "desk:app", "--reload", "--store", self.url, "--lease", "60"]
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "batonpass", *command], cwd=self.folder, stderr=err, env=environment
            )

    def wait_for(self, text: str, number: int = 1) -> None:
        wait_until(lambda: self.said().count(text) >= number, timeout=DEADLINE, what=f"{text} in {self.said()}")

    def said(self) -> str:
        return self._err.read_text()

    def log(self) -> list[str]:
        return (self.folder / "log").read_text().split() if (self.folder / "log").exists() else []

    def end(self) -> int:
        assert self._process
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(DEADLINE)

    def close(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def reloading(tmp_path: Path) -> Iterator[Reloading]:
    made = Reloading(tmp_path)
    yield made
    made.close()


def _module(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("reload_desk", folder / "desk.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("isolation", ["process", "thread"])
@pytest.mark.parametrize("agent", ["function", pytest.param("graph", marks=pytest.mark.capability("langgraph"))])
def test_a_running_job_goes_on_in_the_new_code(reloading: Reloading, agent: str, isolation: str) -> None:
    text = {"function": APP, "graph": GRAPH}[agent].replace("ISOLATION", repr(isolation))
    reloading.write(text)
    reloading.start()
    reloading.wait_for("serves")
    desk = _module(reloading.folder)
    with bp.connect(f"sqlite:///{reloading.folder}/x.db", app=desk.app) as coordinator:
        job = coordinator.submit("steps", desk.Task(), returns=desk.Done)
        wait_until(lambda: reloading.log() == ["one", "two"], timeout=DEADLINE, what=reloading.said())
        reloading.write(text.replace("OLD", "NEW"))
        reloading.wait_for("desk.py changed")
        (reloading.folder / "gate").touch()
        assert job.result(timeout=DEADLINE).words == ["one", "two", "NEW"]
    assert reloading.log() == ["one", "two"]
    assert reloading.end() == 0


def test_code_that_can_not_be_imported_is_waited_for(reloading: Reloading) -> None:
    reloading.write("this is no Python")
    reloading.start()
    reloading.wait_for("waiting for a change")
    reloading.write(APP.replace("ISOLATION", "None"))
    reloading.wait_for("serves")
    reloading.write("this is no Python either")
    reloading.wait_for("waiting for a change", 2)
    reloading.write(APP.replace("ISOLATION", "None"))
    reloading.wait_for("serves", 2)
    assert reloading.end() == 0


@pytest.mark.capability("redis")
def test_a_store_that_is_away_is_waited_for(reloading: Reloading) -> None:
    server = RedisServer(reloading.folder)
    text = APP.replace("ISOLATION", "None")
    reloading.url = server.url
    reloading.write(text)
    reloading.start()
    reloading.wait_for("this worker can't start, trying again: no Redis")
    reloading.write(text + "note('changed')")  # meanwhile
    wait_until(lambda: reloading.log() == ["changed"], timeout=DEADLINE, what=reloading.said())
    reloading.wait_for("this worker can't start, trying again: no Redis", 2)
    try:
        server.start()
        reloading.wait_for("serves")
        assert reloading.end() == 0
    finally:
        server.close()

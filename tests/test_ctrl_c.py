"""Ctrl-C ends a command quietly, whenever it comes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

# It says that it is there, and stays for longer than a test may take. In short sleeps: a signal that comes between
# Python's last look for one and the start of a sleep is only seen when the sleep has ended.
STAYS = "import time\nprint('here', flush=True)\nfor _ in range(60_000):\n    time.sleep(0.01)\n"
APP = "import batonpass as bp\napp = bp.App('desk')\n"
# It is not forked from a worker that has threads, but started anew.
THREAD = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
IN_A_CHILD = (
    f"{THREAD}import sys\nif 'batonpass.workers.children.zygote' in ' '.join(sys.orig_argv):\n    import stays\n"
)
APART = "app.agent('a', accepts=bp.State, returns=bp.State, isolation='process')(lambda state: state)\n"
AT_EXIT = "import atexit\natexit.register(__import__, 'stays')\n"
# As `asyncio.wait_for` does at times, in Python 3.11.
SWALLOWS = """
import asyncio
from batonpass.workers.worker import Worker

async def prepare(self):
    print("here", flush=True)
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

Worker.prepare = prepare
"""

# What a command says, and what a worker logs: it does if it takes long to start.
LINE = re.compile(r"batonpass: |\d{4}-\d\d-\d\d [\d:,]+ INFO ")


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"pydantic.py": STAYS}, ["jobs"]),
        ({"typer.py": STAYS}, ["jobs"]),
        ({"desk.py": STAYS}, ["worker", "desk:app"]),
        ({"desk.py": STAYS}, ["submit", "a", "{}", "--app", "desk:app"]),
        ({"desk.py": APP + APART + IN_A_CHILD, "stays.py": STAYS}, ["worker", "desk:app"]),
        ({"desk.py": AT_EXIT, "stays.py": STAYS}, ["worker", "desk:app"]),
        ({"desk.py": APP + APART + SWALLOWS}, ["worker", "desk:app"]),
    ],
    ids=["own imports", "the command line's imports", "app", "app of a submit", "app in a child", "exit", "start"],
)
def test_ctrl_c_leaves_no_traceback(files: dict[str, str], command: list[str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path, "BATONPASS_URL": f"sqlite:////{tmp_path}/batonpass.db"}
    args = [sys.executable, "-m", "batonpass", *command]
    with subprocess.Popen(
        args, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    said = [line for line in err.splitlines() if not LINE.match(line)]
    assert (out, said, process.returncode) == ("", [], 130), err


def test_the_installed_command_is_the_one_that_does_so() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"batonpass": "batonpass.__main__:main"}

"""A run of the tests under nohup, or in the background of a shell: what it starts ignores no signals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.house.tree import ROOT

_NAMES = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"]
_TELL = f"import signal; print([name for name in {_NAMES} if signal.getsignal(signal.Signals[name]) is signal.SIG_IGN])"
# As the run begins, as one of its processes does (pytest-xdist), and what that starts.
_RUN = f"""
import os, signal, subprocess, sys
from tests import conftest
if len(sys.argv) > 1:
    os.kill(os.getpid(), signal.SIGHUP)  # it is still ignored
    subprocess.run([sys.executable, "-c", {_TELL!r}], check=True)
else:
    subprocess.run([sys.executable, __file__, "process"], check=True)
"""


def test_what_the_tests_start_ignores_no_signals(tmp_path: Path) -> None:
    run = tmp_path / "run.py"
    run.write_text(_RUN)
    begin = f"import os, signal, sys; [signal.signal(signal.Signals[name], signal.SIG_IGN) for name in {_NAMES}]; "
    begin += f"os.execv(sys.executable, [sys.executable, {str(run)!r}])"
    told = subprocess.run(
        [sys.executable, "-c", begin],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (told.returncode, told.stdout, told.stderr) == (0, "[]\n", "")

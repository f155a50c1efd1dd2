"""The simulation finds what it is there to find: each planted bug (tests/planted), soon."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT, shipped

PLANTED = sorted((ROOT / "tests" / "planted").glob("*.patch"))
SEEDS = 1000


def simulate(copy: Path, seeds: int) -> subprocess.CompletedProcess[str]:
    """Run the simulation against a copy of the package, until a promise is broken."""
    command = [sys.executable, "-m", "tests.simulation", "--processes=1", f"--seeds={seeds}", "--until-broken"]
    where = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=ROOT, env=os.environ | where, capture_output=True, text=True)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's files, compiled: each simulation would do that anew."""
    folder = tmp_path_factory.mktemp("compiled")
    for place, path in shipped().items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    compileall.compile_dir(folder, quiet=1)
    return folder


@pytest.fixture
def copy(compiled: Path, tmp_path: Path) -> Path:
    """The package's files, to be changed."""
    return shutil.copytree(compiled, tmp_path / "copy")


def test_a_copy_without_a_bug_keeps_its_promises(copy: Path) -> None:
    run = simulate(copy, 20)
    assert (run.returncode, run.stderr) == (0, "")
    assert "20 seeds" in run.stdout


@pytest.mark.parametrize("bug", PLANTED, ids=lambda path: path.stem)
def test_a_planted_bug_is_found(bug: Path, copy: Path) -> None:
    applied = subprocess.run(["git", "apply", bug], cwd=copy / "batonpass", capture_output=True, text=True)
    assert applied.returncode == 0, f"make {bug.name} again, the code has changed: {applied.stderr}"
    run = simulate(copy, SEEDS)
    assert run.returncode == 1, f"not found in {SEEDS} seeds"
    assert re.search(r"^[1-9]\d* violations|, [1-9]\d* violations", run.stdout, re.MULTILINE), run.stderr

"""A run that silently did without a required part fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

SUITE = """
import pytest
from tests.capabilities import note

def test_noted():
    note("redis", "7.0")

@pytest.mark.capability("crewai")
def test_marked():
    pass

@pytest.mark.capability("autogen")
def test_skipped():
    pytest.skip("not installed")
"""


@pytest.mark.parametrize(("required", "missing"), [("redis crewai", ""), ("redis autogen sqlite", "autogen, sqlite")])
def test_what_is_required_must_have_run(required: str, missing: str, tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-p", "tests.capabilities", "-c", os.devnull, str(tmp_path)]
    environment = os.environ | {"BATONPASS_REQUIRE": required, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == (1 if missing else 0), run.stdout
    assert "Capabilities that ran: crewai, redis (7.0)" in run.stdout
    assert (f"did not run: {missing}" in run.stdout) == bool(missing)

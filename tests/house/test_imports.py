"""`import batonpass` is cheap, and naming an adapter costs no framework. Seen from a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import PYPROJECT

FRAMEWORKS = {"autogen_agentchat", "autogen_core", "autogen_ext", "crewai", "langchain_core", "langgraph"}
HEAVY = {"aiohttp", "click", "fastapi", "redis", "rich", "starlette", "typer", "uvicorn"}
PROBE = """
import importlib, json, sys, time
began = time.process_time()
target = importlib.import_module(sys.argv[1])
for name in sys.argv[2:]:
    target = getattr(target, name)
print(json.dumps([time.process_time() - began, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def imported(module: str, *names: str, cwd: Path) -> tuple[float, set[str]]:
    """How many CPU seconds a fresh interpreter needs to reach the name (a busy machine does not change that), and which
    top-level modules it has then."""
    run = subprocess.run([sys.executable, "-c", PROBE, module, *names], cwd=cwd, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    seconds, modules = json.loads(run.stdout)
    return seconds, set(modules)


def test_importing_batonpass_imports_no_framework_client_or_server(tmp_path: Path) -> None:
    assert imported("batonpass", cwd=tmp_path)[1] & (FRAMEWORKS | HEAVY) == set()


def test_importing_batonpass_is_quick(tmp_path: Path) -> None:
    """Under 0.25 s where pydantic alone, which contracts need, takes 0.06 s. It is the ratio that is tested, because a
    busy or slow machine stretches both."""
    turns = [[imported(name, cwd=tmp_path)[0] for name in ("batonpass", "pydantic.main")] for _ in range(5)]
    ours, floor = (min(seconds) for seconds in zip(*turns, strict=True))
    assert ours < 0.25 / 0.06 * floor


@pytest.mark.parametrize("group", ["batonpass.adapters", "batonpass.commands"])
def test_naming_an_entry_point_imports_no_framework(group: str, tmp_path: Path) -> None:
    for target in PYPROJECT["project"]["entry-points"][group].values():
        module, _, name = target.partition(":")
        assert imported(module, name, cwd=tmp_path)[1] & FRAMEWORKS == set(), target


def test_the_console_script_has_its_target(tmp_path: Path) -> None:
    module, _, name = PYPROJECT["project"]["scripts"]["batonpass"].partition(":")
    assert imported(module, name, cwd=tmp_path)[1] & {*FRAMEWORKS, "redis", "starlette", "uvicorn"} == set()


LISTING = """
import json, sys
from batonpass.cli import app
app(["jobs", "--help"], standalone_mode=False)
print(json.dumps([name for name in sys.modules if name.startswith("batonpass.")]))
"""
OTHERS = "batonpass.workers.children.children", "batonpass.workers.worker", "batonpass.examples", "batonpass.cli.serve"


def test_a_command_imports_what_it_needs(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", LISTING], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not set(json.loads(run.stdout.splitlines()[-1])) & set(OTHERS)


@pytest.mark.parametrize(
    ("target", "code", "why"),
    [
        ("no_such_module:command", "", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("mine:command", "", "AttributeError: module 'mine' has no attribute 'command'"),
        ("mine:command", "raise SystemExit(3)", "SystemExit: 3"),
        ("mine:command", "import typer\ncommand = typer.Typer()", "RuntimeError: Could not get a command"),
    ],
)
def test_a_command_of_another_package_that_is_broken_takes_no_other_away(
    target: str, code: str, why: str, tmp_path: Path
) -> None:
    package = tmp_path / "broken-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[batonpass.commands]\nbent = {target}\n")
    (tmp_path / "mine.py").write_text(code)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])

    def ran(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "batonpass", *arguments]
        run = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True)
        return run.returncode, run.stderr.decode()

    told = f"batonpass: the command 'bent' of the package 'broken' ({target}) can't be loaded: {why}"
    assert ran("--version") == (0, "")
    exit_code, error = ran("--help")
    assert (exit_code, error.count(told), error.count("\n")) == (0, 1, 1), error
    exit_code, error = ran("bent")
    assert (exit_code, error.count(told), "No such command 'bent'" in error) == (2, 1, True), error
    exit_code, error = ran("demo", "--help")
    assert (exit_code, error.count(told), "Traceback" in error) == (0, 1, False), error

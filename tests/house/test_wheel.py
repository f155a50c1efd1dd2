"""What is built from the repository holds every file of the product, and runs where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.house.tree import FOLDERS, ROOT, files, shipped


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# What the repository has besides the packages. (Of the hidden files, a source distribution has those that are used.)
BESIDE = ("benchmarks", "docs", "tests")
ALONE = (
    *("README.md", "LICENSE", "ARCHITECTURE.md", "CHANGELOG.md", "MANIFEST.in", "Makefile", "pyproject.toml"),
    *("Dockerfile", ".dockerignore", "docker-compose.yml", ".ci/run"),
)


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from the source distribution that is built from a copy of the tree."""
    tree = tmp_path_factory.mktemp("build") / "tree"
    for folder in (*FOLDERS.values(), *BESIDE):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tree / ".ci").mkdir()
    for name in ALONE:
        shutil.copy(ROOT / name, tree / name)
    run(sys.executable, "-m", "build", "--no-isolation", ".", cwd=tree)
    return tree / "dist"


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    [built] = dist.glob("*.whl")
    return built


@pytest.mark.timeout(180)
def test_who_has_the_sources_can_test_and_read_them(dist: Path) -> None:
    """Not only the tests whose names begin with `test`, as setuptools takes them by itself, but all that they import,
    what runs them, and the pages that the README leads to."""
    [sources] = dist.glob("*.tar.gz")
    with tarfile.open(sources) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {str(path.relative_to(ROOT)) for folder in (*FOLDERS.values(), *BESIDE) for path in files(folder)}
    assert {*wanted, *ALONE} - held == set()
    assert [name for name in held if "__pycache__" in name] == []


@pytest.mark.timeout(180)
def test_the_wheel_holds_every_file(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == shipped().keys()


@pytest.mark.timeout(180)
def test_the_wheel_runs_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # The dependencies are those of the tests' own environment; a path added like this brings no editable install along.
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = run(python, "-c", "import batonpass; print(batonpass.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path)
    assert "worker" in run(tmp_path / "env" / "bin" / "batonpass", "--help", cwd=tmp_path)

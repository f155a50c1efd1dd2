"""Files stay small, and packaging knows every one of them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from statistics import median

from batonpass import __version__
from tests.house.tree import FOLDERS, ROOT, SETUPTOOLS, files, shipped

SOURCES = {".py", ".lua", ".sql"}


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_files_are_read_in_one_sitting() -> None:
    folders = [*FOLDERS.values(), "benchmarks", "tests"]
    sizes = {path: lines(path) for folder in folders for path in files(folder) if path.suffix in SOURCES}
    assert {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > 400} == {}


def test_scripts_are_as_wide_as_the_rest() -> None:
    """For Python, the linter checks this."""
    scripts = [path for path in shipped().values() if path.suffix == ".lua"]
    assert [path.name for path in scripts if max(map(len, path.read_text().splitlines())) > 120] == []


def test_the_usual_product_file_is_short() -> None:
    sizes = [lines(path) for path in shipped().values() if path.suffix == ".py"]
    assert median([size for size in sizes if size]) < 150


def test_the_version_is_one() -> None:
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text().splitlines()


def test_every_package_is_declared() -> None:
    found = {PurePosixPath(place).parent for place in shipped() if place.endswith(".py")}
    there = {".".join(package.parts) for package in found}
    declared = SETUPTOOLS["packages"]
    assert (there - {*declared}, {*declared} - there) == (set(), set()), "undeclared, or declared and not there"
    assert len(declared) == len({*declared})


def test_every_package_says_so() -> None:
    """Without an `__init__.py` a folder is a namespace package, which checkers and packaging treat differently."""
    folders = {path.parent for path in shipped().values() if path.suffix == ".py"}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_types_are_shipped() -> None:
    assert "batonpass/py.typed" in shipped()

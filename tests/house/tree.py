"""The repository's own files, as the house rules see them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS: dict[str, Any] = PYPROJECT["tool"]["setuptools"]
# Import name -> folder, for the packages that are mapped one by one.
FOLDERS: dict[str, str] = SETUPTOOLS["package-dir"]


def files(folder: str) -> list[Path]:
    """The folder's files, at any depth, without what tools leave behind (compiled files, hidden folders)."""
    found = [path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    return [path for path in found if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)]


def shipped() -> dict[str, Path]:
    """Every file of the product, by its place in the installed package."""
    return {
        f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder)}": path
        for package, folder in FOLDERS.items()
        for path in files(folder)
    }

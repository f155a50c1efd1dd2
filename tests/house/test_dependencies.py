"""The base install declares everything that it imports. Nothing is there only because another package depends on it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.house.tree import PYPROJECT, files

BASE = ["api", "contracts", "coordinator", "workers"]
# Python's own, but not in its first version that we support.
LATER = {"annotationlib"}
# Brought by a package that we declare.
PART_OF = {"pydantic-core": "pydantic", "hiredis": "redis", "h11": "uvicorn"}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def test_the_base_install_declares_what_it_imports() -> None:
    project = PYPROJECT["project"]
    # Extras: without one, its use says which to install.
    names = ("redis", "crypto", "http", "zstd", "testing", "webhooks", "otel")
    extras = [project["optional-dependencies"][extra] for extra in names]
    requirements = [*project["dependencies"], *(requirement for extra in extras for requirement in extra)]
    declared = {re.split(r"[^A-Za-z0-9-]", requirement, maxsplit=1)[0] for requirement in requirements}
    providers = packages_distributions()
    used = {module for folder in BASE for path in files(folder) if path.suffix == ".py" for module in imported(path)}
    third_party = used - sys.stdlib_module_names - LATER - {"batonpass"}
    # Several packages may fill one module: opentelemetry's API, SDK and exporters.
    needed = {module: {_base(name) for name in providers.get(module, [module])} for module in third_party}
    assert {module for module, names in needed.items() if not names & declared} == set()


def _base(package: str) -> str:
    name = package.lower().replace("_", "-")
    return PART_OF.get(name, name)

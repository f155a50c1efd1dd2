"""Installed: which packages of Batonpass's extras are installed, and whether their versions were tested."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version

from batonpass import __version__
from batonpass.adapters.versions import numbers
from batonpass.coordinator.checkup import Finding

_REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[[\w,.-]+\])?\s*([^;]*);.*\bextra == ['\"]([\w-]+)['\"]")
_BOUND = re.compile(r"(>=|<)([\d.]+)")


def look_installed() -> Iterator[Finding]:
    """Findings about this Python."""
    yield Finding("ok", "python", f"Batonpass {__version__}, Python {platform.python_version()} on {platform.system()}")
    yield from judged(requires("batonpass") or ())


def judged(requirements: Sequence[str]) -> Iterator[Finding]:
    """Findings about the packages that extras require, as `importlib.metadata.requires` lists them."""
    there: list[str] = []
    missing: dict[str, None] = {}
    for name, bounds, extra in sorted(filter(None, map(_parts, requirements))):
        try:
            found = version(name)
        except PackageNotFoundError:
            missing[extra] = None
            continue
        if _fits(found, bounds):
            there.append(f"{name} {found}")
        else:
            text = f"{name} {found} is installed, but {bounds} is what was tested: pip install 'batonpass[{extra}]'"
            yield Finding("warn", "installed", text)
    if there:
        yield Finding("ok", "installed", ", ".join(there))
    if missing:
        yield Finding("ok", "installed", f"without the extras {', '.join(missing)} (pip install 'batonpass[NAME]')")


def _parts(requirement: str) -> tuple[str, str, str] | None:
    """Name, bounds and extra of a requirement. None if no extra has it, or only `all`."""
    found = _REQUIREMENT.match(requirement)
    return (found[1], found[2].strip(), found[3]) if found and found[3] != "all" else None


def _fits(found: str, bounds: str) -> bool:
    have = numbers(found)
    return all(
        have >= numbers(least) if sign == ">=" else have < numbers(least) for sign, least in _BOUND.findall(bounds)
    )

"""Plugged: the entry points by which other packages add to this one, and what is said of one that fails."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from .raised import described

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


@cache  # looking through all installed packages takes milliseconds, which would block an event loop
def _installed(group: str) -> EntryPoints:
    from importlib.metadata import entry_points  # costs more than all of this file

    return entry_points(group=group)


def plugged(group: str, name: str = "") -> EntryPoints:
    """The entry points of a group, or those of one name, of what was installed when this process first asked."""
    return _installed(group).select(name=name) if name else _installed(group)


def told_of(point: EntryPoint) -> str:
    """Its name, and the package that has to be updated or removed if it does not work."""
    package = f"the package {point.dist.name!r}" if point.dist else "a package"
    return f"{point.name!r} of {package} ({point.value})"


def not_loaded(point: EntryPoint, error: BaseException) -> str:
    """That it can't be loaded, and why."""
    return f"{told_of(point)} can't be loaded: {described(error)}"

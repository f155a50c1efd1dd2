"""Plugged: what is said of an entry point by which another package adds to this one, when that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .raised import described

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def told_of(point: EntryPoint) -> str:
    """Its name, and the package that has to be updated or removed if it does not work."""
    package = f"the package {point.dist.name!r}" if point.dist else "a package"
    return f"{point.name!r} of {package} ({point.value})"


def not_loaded(point: EntryPoint, error: BaseException) -> str:
    """That it can't be loaded, and why."""
    return f"{told_of(point)} can't be loaded: {described(error)}"

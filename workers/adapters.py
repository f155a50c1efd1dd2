"""Finds the adapter for an agent's kind, in the entry-point group `batonpass.adapters`."""

from __future__ import annotations

from importlib.metadata import entry_points

from ..adapters.adapter import Adapter
from ..contracts.errors import BadSetup, BatonpassError
from ..coordinator.frameworks import GROUP


def load_adapter(kind: str) -> Adapter:
    """The adapter of a kind, with its framework imported. `MissingExtra` if that is not installed."""
    found = entry_points(group=GROUP, name=kind)
    if not found:
        known = ", ".join(sorted(point.name for point in entry_points(group=GROUP)))
        raise BadSetup(f"no adapter for agents of kind {kind!r}: installed kinds: {known}")
    try:
        adapter: Adapter = next(iter(found)).load()()
    except BatonpassError:
        raise
    except Exception as error:
        raise BadSetup(f"agents of kind {kind!r} can't be run here: {type(error).__name__}: {error}") from error
    return adapter

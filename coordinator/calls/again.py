"""Again: what has to be packed a second time, as it was the first time.

While a store answers other tasks run: a caller's objects may have changed when the answer is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...contracts.checkpoint import Snapshot
from ...contracts.codec import pack, unpack
from ..parts.nodes import value
from ..snapshots import Draft

_CONTEXT = 6  # its place in a header


def as_drafted(snapshot: Snapshot, made: Draft) -> Snapshot:
    """The snapshot that a draft was made of, with its whole state."""
    header: list[Any] = unpack(made.new.header[1:])
    nodes = made.nodes
    return replace(
        snapshot,
        state=value(nodes.state),
        native=value(nodes.native) if nodes.native is not None else None,
        changes={},
        append={},
        context=unpack(header[_CONTEXT]),
    )


def kept(snapshot: Snapshot) -> Snapshot:
    """A snapshot of what is new, with values of its own."""
    return replace(
        snapshot,
        changes=_own(snapshot.changes, "state"),
        append=_own(snapshot.append, "state"),
        context=_own(snapshot.context, "context"),
    )


def _own(values: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    own: dict[str, Any] = unpack(pack(dict(values), path=path)) if values else {}
    return own

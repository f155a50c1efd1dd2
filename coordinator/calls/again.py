"""Again: packs something a second time with the values that it had the first time.

Other tasks run while a store answers, so a caller's objects may have changed when the answer arrives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...contracts.checkpoint import Snapshot
from ...contracts.codec import pack, unpack
from ..parts.nodes import value
from ..snapshots import Draft

_CONTEXT = 6  # its index in a header


def as_drafted(snapshot: Snapshot, made: Draft) -> Snapshot:
    """The snapshot of which a draft was made, with its whole state, made of the draft."""
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
    """A snapshot of what is new, with copies of the values."""
    return replace(
        snapshot,
        changes=_own(snapshot.changes, "state"),
        append=_own(snapshot.append, "state"),
        context=_own(snapshot.context, "context"),
    )


def _own(values: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    own: dict[str, Any] = unpack(pack(dict(values), path=path)) if values else {}
    return own

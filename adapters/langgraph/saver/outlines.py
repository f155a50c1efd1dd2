"""Outlines: what was read while walking along checkpoints' parents. None of it can change, so it is read once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple

_REMEMBERED = 2048


class Outline(NamedTuple):
    """A checkpoint's parent, its channels' versions, and the channels whose values it keeps."""

    parent: str
    versions: Mapping[str, Any]
    kept: frozenset[str]


class Outlines:
    """The outlines of checkpoints, by our ids. The least recently used are forgotten.

    Each run walks a delta channel's history again, a hundred checkpoints and more, and all but the last few were seen
    the last time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._outlines: OrderedDict[str, Outline] = OrderedDict()

    def get(self, checkpoint_id: str) -> Outline | None:
        """A checkpoint's outline, if it is remembered."""
        with self._lock:
            known = self._outlines.get(checkpoint_id)
            if known is not None:
                self._outlines.move_to_end(checkpoint_id)
            return known

    def put(self, checkpoint_id: str, outline: Outline) -> None:
        """Remember a checkpoint's outline."""
        with self._lock:
            self._outlines[checkpoint_id] = outline
            while len(self._outlines) > _REMEMBERED:
                self._outlines.popitem(last=False)

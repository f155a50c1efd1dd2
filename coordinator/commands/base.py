"""What every command is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from ...contracts.lean import dataclass
from ..parts.spans import Append
from ..rows import Place

R = TypeVar("R", covariant=True)


class Command(Generic[R]):
    """One operation, answered with an R."""

    __slots__ = ()


# Not frozen, unlike the others, because one is made with every save, and that would cost more than packing a small
# state.
@dataclass(slots=True)
class NewCheckpoint:
    """A checkpoint as its maker knows it. `header` has the hashes of `state`, `native` and its parts.

    `spans` says where its parts are in logs (parts/spans.py), and `appends` are the new bytes there. The rest must be
    kept by the checkpoint `base`: if that is gone, or a log has another length than an append expects, the command is
    refused as `Ungrounded`, and nothing is written. `place` is where in the thread a framework finds it (rows.Place),
    if it does.
    """

    id: str
    thread: str
    header: bytes
    state: bytes
    native: bytes
    agent: str
    step: str
    ttl: int = 0
    spans: str = ""
    base: str = ""
    appends: Sequence[Append] = ()
    place: Place | None = None

"""Attached: which keeper, and which key of it, an object's decorated methods save to."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any

import anyio

from ...contracts.errors import BadSetup
from .beside import Beside

if TYPE_CHECKING:
    from .checkpointable import Checkpointable
    from .keeper import AsyncKeeper, Keeper


@dataclass(slots=True)
class Turn:
    """How often a method was called, and whether a save that was due is still to be made."""

    calls: int = 0
    due: bool = False

    def count(self, every: int) -> bool:
        """Count a call. Returns whether it is time to save."""
        self.calls += 1
        self.due = self.due or self.calls % every == 0
        return self.due


@dataclass(slots=True, eq=False)
class Attachment:
    """An object's tie to a key. `saves` counts the checkpoints of it that were sent there, kept or not."""

    keeper: Keeper | AsyncKeeper
    key: str
    saves: int = 0
    turns: dict[str, Turn] = field(default_factory=dict[str, Turn])
    # One save at a time, so that a newer state is never followed by an older one.
    lock: Any = field(default_factory=RLock)
    alock: anyio.Lock = field(default_factory=anyio.Lock)

    def turn(self, method: str) -> Turn:
        """The count of a method's calls."""
        return self.turns.setdefault(method, Turn())


_all: Beside[Attachment] = Beside()


def attach(obj: Checkpointable, keeper: Keeper | AsyncKeeper, key: str) -> None:
    """Tie an object to a key. A tie that it had before ends."""
    _all.put(obj, Attachment(keeper, key))


def attachment(obj: object) -> Attachment | None:
    """What the object is attached to."""
    return _all.get(obj)


def key_of(obj: Checkpointable, keeper: Keeper | AsyncKeeper, key: str | None) -> str:
    """The key that is meant: the given one, else the one that the object is attached to."""
    if key is not None:
        if not key:
            raise BadSetup("the key is empty: give the run a name")
        return key
    at = attachment(obj)
    if at is None or at.keeper is not keeper:
        raise BadSetup(f"this {type(obj).__qualname__} is not attached to this keeper: give key=, or attach it first")
    return at.key


def note_sent(obj: Checkpointable, keeper: Keeper | AsyncKeeper, key: str) -> None:
    """Count a checkpoint of an attached object, before it is sent: a save that fails may have kept it all the same."""
    at = attachment(obj)
    if at is not None and at.keeper is keeper and at.key == key:
        at.saves += 1

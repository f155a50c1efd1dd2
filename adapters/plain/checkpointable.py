"""Checkpointable: the base of classes whose objects have a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from . import dump, load
from .classes import enroll
from .fields import blank, left_out, write_fields


class Checkpointable:
    """An object with a state: its public attributes, or those that `_checkpoint_fields` names.

    A class of any kind can inherit it: plain, with `__slots__`, a dataclass, a pydantic model. Names that begin with
    `_` are left out. A value may be of any type that a store takes, or checkpointable itself, also in lists, tuples and
    dicts: an object that is met at several places is one again after loading, also in a circle. Plain lists and dicts
    that two places share come back as one for each.

    `_checkpoint_version` is the version of the state, `register_migration` reads older ones. `_checkpoint_name` is the
    class's name in states, by default its qualified name. What is rebuilt after loading (a cache) goes into an
    override of `load_state_dict`, what is no attribute into one of `state_dict`; both call `super()`.
    """

    if not TYPE_CHECKING:  # checkers take it for a layout of its own, which no other base may have
        __slots__ = ("__weakref__",)
    _checkpoint_version: ClassVar[int] = 1
    _checkpoint_fields: ClassVar[Sequence[str] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        enroll(cls)

    def state_dict(self) -> dict[str, Any]:
        """The state as plain values with its class and version, independent of the object: what a checkpoint keeps.

        `Unserializable` names a value that could not come back.
        """
        running = dump.running()
        if running is not None and running.takes(self):
            return running.fields(self)
        whole = dump.Dump()
        state = whole.top(self)
        with whole.explaining(self):
            return cast("dict[str, Any]", dump.copied(state))

    def load_state_dict(self, state: dict[str, Any], *, strict: bool = True) -> None:
        """Take on a state that `state_dict` of an object of this class gave, of this version or an older one.

        `strict` refuses one that lacks a field, or has one that the object can't hold; without it, the object keeps
        what it has, and what it can't hold is left out. `BadSetup` if the state does not fit; nothing has changed then.
        """
        running = load.running()
        if running is not None and running.takes(self):
            running.fill(self, state)
            return
        load.Load(strict=strict).top(self, dump.copied(state))

    def clone(self) -> Self:
        """Another object with the same state, independent of this one. `__init__` does not run; what states leave out
        (clients, caches) both have."""
        whole = dump.Dump(number_all=True)
        state = whole.run(self)
        with whole.explaining(self):
            state = dump.copied(state)

        def twin(number: int) -> Any:
            original = whole.objects[number]
            made = blank(type(original))
            write_fields(made, left_out(original))
            return made

        clone: Self = twin(state["__id__"])
        load.Load(exact=True, pick=twin).run(clone, state)
        return clone

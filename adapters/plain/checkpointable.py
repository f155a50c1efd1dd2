"""Checkpointable: a base class for objects whose state can be saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from . import dump, load
from .classes import enroll
from .fields import blank, left_out, write_fields


class Checkpointable:
    """An object with a state: its public attributes, or those named in `_checkpoint_fields`.

    Any class can inherit it: plain, with `__slots__`, a dataclass, a pydantic model. Attributes that start with `_` are
    left out. Values may be of any type that a store accepts, or checkpointable themselves, also in lists, tuples and
    dicts. An object that appears in several places is one object again after loading, also in a cycle. A plain list or
    dict shared by two places comes back as two.

    - `_checkpoint_version` is the version of the state. `register_migration` converts older ones.
    - `_checkpoint_name` is the class's name in states (default: its qualified name).
    - Override `load_state_dict` to rebuild what is derived (a cache), and `state_dict` to add what is not an attribute.
      Call `super()` in both.
    """

    if not TYPE_CHECKING:  # checkers take it for a layout of its own, which no other base may have
        __slots__ = ("__weakref__",)
    _checkpoint_version: ClassVar[int] = 1
    _checkpoint_fields: ClassVar[Sequence[str] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        enroll(cls)

    def state_dict(self) -> dict[str, Any]:
        """The state as plain values with its class and version, independent of the object. This is what a checkpoint
        stores.

        Raises `Unserializable` with the name of a value that can't be restored.
        """
        running = dump.running()
        if running is not None and running.takes(self):
            return running.fields(self)
        whole = dump.Dump()
        state = whole.top(self)
        with whole.explaining(self):
            return cast("dict[str, Any]", dump.copied(state))

    def load_state_dict(self, state: dict[str, Any], *, strict: bool = True) -> None:
        """Load a state that `state_dict` returned for an object of this class, in this version or an older one.

        With `strict`, a state that lacks a field, or has one that the object can't hold, is refused. Without it, the
        object keeps what it has, and extra fields are ignored. If the state doesn't fit, raises `BadSetup`, and nothing
        has changed.
        """
        running = load.running()
        if running is not None and running.takes(self):
            running.fill(self, state)
            return
        load.Load(strict=strict).top(self, dump.copied(state))

    def clone(self) -> Self:
        """A new object with the same state, independent of this one.

        `__init__` does not run. What states leave out (clients, caches) is shared.
        """
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

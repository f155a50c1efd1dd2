"""Dump: an object's state as plain values, with the checkpointable objects inside of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ...contracts.builtin_types import class_of
from ...contracts.codec import pack, unpack
from ...contracts.errors import BadSetup, Unserializable
from ..containers import HOLDERS
from .classes import name_of, shares_name, version_of
from .fields import whole_fields
from .marks import CLASS, ID, LEAVES, MARKS, MODULE, OBJECTS, PLAIN, SAME, VERSION
from .numbers import Numbers, numbers_in

if TYPE_CHECKING:
    from .checkpointable import Checkpointable

_RUNNING: ContextVar[Dump | None] = ContextVar("batonpass_plain_dump", default=None)


class Dump:
    """One walk through an object. Each checkpointable object is written once. Where it is met again, a reference is
    written, so that cycles end and what was shared is shared again. Lists and dicts are copied at every place.

    `objects` are those that have a number: all that were met if `number_all`, else those that were met again.
    """

    def __init__(self, *, number_all: bool = False) -> None:
        self.objects: dict[int, Checkpointable] = {}
        self._number_all = number_all
        self._numbers: Numbers | None = None
        self._beside: dict[int, tuple[dict[str, Any], str]] = {}
        self._in_list = False
        self._seen: dict[int, tuple[Checkpointable, dict[str, Any]]] = {}
        self._above: set[int] = set()
        self._path: list[Any] = []
        self._asked: Checkpointable | None = None

    def run(self, obj: Checkpointable) -> dict[str, Any]:
        """The object's state. Its lists and dicts are copies, other values are the object's own."""
        return self._within(obj, lambda: self._object(obj))

    def top(self, obj: Checkpointable) -> dict[str, Any]:
        """The same, called by the object's own `state_dict`."""
        return self._within(obj, lambda: self._state(obj, lambda: self.fields(obj)))

    def _within(self, obj: Checkpointable, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        before = _RUNNING.set(self)
        self._numbers = Numbers() if self._number_all else numbers_in(obj)
        try:
            state = make()
            if self._beside:
                state[OBJECTS] = {str(number): self._beside[number][0] for number in sorted(self._beside)}
            return state
        except RecursionError:
            raise Unserializable(
                f"{_kind(obj)} can't be saved: its objects are nested too deep", path="state"
            ) from None
        finally:
            _RUNNING.reset(before)

    @contextmanager
    def explaining(self, obj: Checkpointable) -> Generator[None]:
        """A block in which `Unserializable` names a value by its place in the object, and says how to leave it out."""
        try:
            yield
        except Unserializable as error:
            path, told = error.path, str(error)
            for number, (_, place) in self._beside.items():
                start = f"state[{OBJECTS!r}][{str(number)!r}]"
                if path.startswith(start):
                    path, told = path.replace(start, place, 1), told.replace(start, place, 1)
            told = f"{told}. Attributes of {_kind(obj)} whose names begin with _ are left out"
            raise Unserializable(told, path=path) from None

    def takes(self, obj: Checkpointable) -> bool:
        """Whether this dump has just asked the object for its state."""
        asked, self._asked = self._asked, None
        return asked is obj

    def fields(self, obj: Checkpointable) -> dict[str, Any]:
        """What `Checkpointable.state_dict` returns to the dump that asked for it."""
        cls = type(obj)
        state: dict[str, Any] = {CLASS: name_of(cls), VERSION: version_of(cls)}  # overrides may look at it
        for name, value in whole_fields(obj).items():
            if name in MARKS:
                raise BadSetup(f"{cls.__qualname__} has a field {name!r}: that name has a meaning of its own in states")
            state[name] = value if type(value) in LEAVES else self._inside(value, name)
        return state

    def _object(self, obj: Checkpointable) -> dict[str, Any]:
        if id(obj) in self._seen:
            number = self._number(obj)
            self._seen[id(obj)][1][ID] = number
            return {SAME: number}
        return self._state(obj, lambda: self._ask(obj))

    def _ask(self, obj: Checkpointable) -> dict[str, Any]:
        self._asked = obj
        found = obj.state_dict()
        if type(found) is not dict:  # pyright: ignore[reportUnnecessaryComparison]
            raise BadSetup(f"state_dict() of {_kind(obj)} gave a {class_of(found).__name__}, not a dict")
        return found

    def _state(self, obj: Checkpointable, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        state: dict[str, Any] = {CLASS: name_of(type(obj)), VERSION: version_of(type(obj))}
        if self._seen and shares_name(type(obj)):
            state[MODULE] = type(obj).__module__
        self._seen[id(obj)] = obj, state
        in_list, self._in_list = self._in_list, False
        state.update(make())
        self._in_list = in_list
        if self._number_all:
            state[ID] = self._number(obj)
        return state

    def _number(self, obj: Checkpointable) -> int:
        assert self._numbers is not None
        number = self._numbers.of(obj)
        self.objects[number] = obj
        return number

    def _inside(self, value: Any, step: Any) -> Any:
        self._path.append(step)
        found = self._value(value)
        self._path.pop()
        return found

    def _value(self, value: Any) -> Any:
        kind = class_of(value)
        if kind is dict or kind is list or kind is tuple:
            at = id(value)
            if at in self._above:
                raise Unserializable(f"{self._where()} can't be saved: it contains itself", path=self._where())
            self._above.add(at)
            found = self._mapping(value) if kind is dict else self._sequence(kind, value)
            self._above.discard(at)
            return found
        if kind in (set, frozenset):
            self._refuse_objects(value, "a set")
            return value.copy()
        if not is_checkpointable(value):
            return value
        return self._put_beside(value) if self._in_list and _may_grow(value) else self._object(value)

    def _put_beside(self, obj: Checkpointable) -> dict[str, Any]:
        if id(obj) in self._seen:
            return self._object(obj)
        number, place = self._number(obj), self._where()
        state = self._object(obj)
        state[ID] = number
        self._beside[number] = state, place
        return {SAME: number}

    def _sequence(self, kind: type[Any], value: Any) -> Any:
        items: list[Any] = list(value)
        in_list, self._in_list = self._in_list, True
        for at, item in enumerate(items):
            if type(item) not in LEAVES:
                items[at] = self._inside(item, at)
        self._in_list = in_list
        return items if kind is list else tuple(items)

    def _mapping(self, value: dict[Any, Any]) -> dict[Any, Any]:
        found = dict(value)
        self._refuse_objects(found, "a dict's keys")
        for key, item in found.items():
            if type(item) not in LEAVES:
                found[key] = self._inside(item, key)
        return found if MARKS.isdisjoint(found) else {PLAIN: found}

    def _refuse_objects(self, values: Collection[Any], where: str) -> None:
        for value in values:
            if type(value) not in LEAVES and is_checkpointable(value):
                raise Unserializable(
                    f"{self._where()} can't be saved: a {_kind(value)} is in {where}. Put it in a list, or in a dict "
                    "as a value",
                    path=self._where(),
                )

    def _where(self) -> str:
        return "state" + "".join(f"[{step!r}]" for step in self._path)


def running() -> Dump | None:
    """The dump in which this code was called."""
    return _RUNNING.get()


def is_checkpointable(value: object) -> bool:
    """Whether the value is an object with a state of its own."""
    from .checkpointable import Checkpointable

    return isinstance(value, Checkpointable)


def copied(state: Any) -> Any:
    """A copy of a state that shares nothing with it, as a checkpoint of it would return it."""
    return unpack(pack(state))


def _may_grow(obj: Checkpointable) -> bool:
    """Whether an object holds more than single values."""
    from .checkpointable import Checkpointable

    if type(obj).state_dict is not Checkpointable.state_dict:
        return True
    return any(type(value) in HOLDERS or is_checkpointable(value) for value in whole_fields(obj).values())


def _kind(obj: Any) -> str:
    return type(obj).__qualname__

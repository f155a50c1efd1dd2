"""Load: a state put into an object, and into the checkpointable objects inside of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from ...contracts.builtin_types import class_of
from ...contracts.errors import BadSetup, BatonpassError
from .classes import class_named, migrated, name_of
from .dump import is_checkpointable
from .fields import blank, can_hold, default, read_fields, required, write_fields
from .marks import CLASS, ID, LEAVES, MARKS, MODULE, OBJECTS, PLAIN, SAME, VERSION
from .numbers import learn

if TYPE_CHECKING:
    from .checkpointable import Checkpointable

_RUNNING: ContextVar[Load | None] = ContextVar("batonpass_plain_load", default=None)


class Load:
    """Loads one state, either all of it or, after an error, nothing.

    The state of an object inside goes into the object that is already at its place, if that is of the same class, so
    that it keeps what states leave out. Otherwise a new one is made, without `__init__`. `pick` says instead which
    object has a number. `strict` refuses states that lack a field of the object, or have one that it can't hold.
    `exact` deletes the fields that the state lacks.
    """

    def __init__(
        self, *, strict: bool = True, exact: bool = False, pick: Callable[[int], Checkpointable] | None = None
    ) -> None:
        self._strict = strict
        self._exact = exact
        self._pick = pick
        self._root: Any = None
        self._made: dict[int, Any] = {}
        self._taken: set[int] = set()
        self._undo: list[tuple[Any, dict[str, Any], list[str]]] = []
        self._keep: list[Any] = []
        self._asked: Checkpointable | None = None

    def run(self, obj: Checkpointable, state: dict[str, Any]) -> None:
        """Put the state into the object."""
        self._within(obj, state, lambda: self._into(obj, state))

    def top(self, obj: Checkpointable, state: Any) -> None:
        """The same, called by the object's own `load_state_dict`."""
        self._within(obj, state, lambda: self._fill_root(obj, state))

    def _fill_root(self, obj: Checkpointable, state: Any) -> None:
        self._enter(obj, state)
        self.fill(obj, state)

    def _within(self, obj: Checkpointable, state: Any, put: Callable[[], None]) -> None:
        self._root = state
        before = _RUNNING.set(self)
        try:
            put()
            if self._made and self._pick is None:
                learn(obj, self._made)
        except BaseException as error:
            for touched, fields, added in reversed(self._undo):
                now = read_fields(touched)
                write_fields(touched, fields, drop=[name for name in added if name in now])
            if isinstance(error, RecursionError):
                raise BadSetup("the state can't be loaded: its objects are nested too deep") from None
            raise
        finally:
            _RUNNING.reset(before)

    def takes(self, obj: Checkpointable) -> bool:
        """Whether this load has just asked the object to load its state."""
        asked, self._asked = self._asked, None
        return asked is obj

    def fill(self, obj: Checkpointable, state: Any) -> None:
        """What `Checkpointable.load_state_dict` does for the load that asked for it."""
        cls = type(obj)
        fields = migrated(cls, *_opened(cls, state))
        if unknown := [name for name in fields if not can_hold(cls, obj, name)]:
            if self._strict:
                raise BadSetup(
                    f"the state has {_list(unknown)}, for which {_about(cls)} has no field: raise _checkpoint_version "
                    "and register_migration, or load with strict=False to ignore them"
                )
            fields = {name: value for name, value in fields.items() if name not in unknown}
        now = read_fields(obj)
        values = {name: self._value(value, now.get(name)) for name, value in fields.items()}
        missing = [name for name in {**now, **dict.fromkeys(sorted(required(cls)))} if name not in fields]
        if missing and not self._exact:
            values |= self._defaults(cls, missing, now)
        self._write(obj, values, [name for name in missing if name in now] if self._exact else [])

    def _defaults(self, cls: type[Any], missing: list[str], now: dict[str, Any]) -> dict[str, Any]:
        declared = {name: value for name in missing for found, value in [default(cls, name)] if found}
        rest = [name for name in missing if name not in declared and (self._strict or name not in now)]
        if rest:
            raise BadSetup(
                f"the state lacks {_list(rest)} of {_about(cls)}: raise _checkpoint_version and register_migration, "
                "or load with strict=False to keep what the object has"
            )
        return declared if self._strict else {name: value for name, value in declared.items() if name not in now}

    def _write(self, obj: Any, values: dict[str, Any], drop: list[str]) -> None:
        had = read_fields(obj)
        touched = {name: had[name] for name in (*values, *drop) if name in had}
        self._undo.append((obj, touched, [name for name in values if name not in had]))
        try:
            write_fields(obj, values, drop)
        except BatonpassError:
            raise
        except Exception as error:
            raise BadSetup(
                f"{_about(class_of(obj))} does not take its fields: {type(error).__name__}: {error}"
            ) from error

    def _into(self, obj: Any, state: Any) -> None:
        self._enter(obj, state)
        self._asked = obj
        obj.load_state_dict(state)

    def _enter(self, obj: Any, state: Any) -> None:
        self._taken.add(id(obj))
        self._keep.append(obj)
        number: object = cast("dict[str, Any]", state).get(ID) if type(state) is dict else None
        if type(number) is int:
            self._made[number] = obj

    def _value(self, value: Any, now: Any) -> Any:
        """A value of the state as the object will hold it. `now` is what is at its place."""
        kind = class_of(value)
        if kind in LEAVES:
            return value
        if kind is list or kind is tuple:
            there = cast("list[Any]", now) if type(now) is kind else []
            items = [self._value(item, there[at] if at < len(there) else None) for at, item in enumerate(value)]
            return items if kind is list else tuple(items)
        if kind is not dict:
            return value
        if PLAIN in value:
            value = value[PLAIN]
        elif SAME in value:
            return self._same(value[SAME], now)
        elif CLASS in value:
            return self._object(value, now)
        present: dict[Any, Any] = now if class_of(now) is dict else {}
        return {key: self._value(item, present.get(key)) for key, item in value.items()}

    def _object(self, state: dict[str, Any], now: Any) -> Any:
        number: object = state.get(ID)
        if type(number) is int and number in self._made:
            return self._made[number]
        obj = self._pick(number) if self._pick and type(number) is int else self._place(state, now)
        self._into(obj, state)
        return obj

    def _place(self, state: dict[str, Any], now: Any) -> Any:
        name, module = state[CLASS], state.get(MODULE)
        if is_checkpointable(now) and id(now) not in self._taken:
            there = class_of(now)
            if name_of(there) == name and module in (None, there.__module__):
                return now
        cls = class_named(name, module)
        if cls is None:
            raise BadSetup(f"the state holds an object of class {name!r}, which this process lacks: import its module")
        try:
            obj = blank(cls)
        except Exception as error:
            raise BadSetup(f"no {cls.__qualname__} can be made: {type(error).__name__}: {error}") from error
        return obj

    def _same(self, number: Any, now: Any) -> Any:
        """The object with that number. A migration may have moved or dropped the place where it is written."""
        if type(number) is int and number in self._made:
            return self._made[number]
        beside = self._root.get(OBJECTS, {}).get(str(number))
        found = beside or next((each for each in _dicts(self._root) if each.get(ID) == number), None)
        if found is None:
            raise BadSetup(f"the state refers to its object {number!r}, which it does not hold")
        return self._object(found, now)


def running() -> Load | None:
    """The load in which this code was called."""
    return _RUNNING.get()


def _opened(cls: type[Any], state: Any) -> tuple[int, dict[str, Any]]:
    """The version and the fields of a state, if it is one of the class."""
    if type(state) is not dict or CLASS not in state or VERSION not in state:
        raise BadSetup(f"this is not a state of {_about(cls)}: use what state_dict() gave")
    held = cast("dict[str, Any]", state)
    name, version = held[CLASS], held[VERSION]
    if name != name_of(cls):
        raise BadSetup(
            f"the state is of class {name!r}, not of {_about(cls)}: if the class had that name, it needs "
            f"_checkpoint_name = {name!r}"
        )
    if type(version) is not int or version < 1:
        raise BadSetup(f"the state of {_about(cls)} has no version: {version!r}")
    return version, {key: value for key, value in held.items() if key not in MARKS}


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    left: list[Any] = [value]
    while left:
        each = left.pop()
        if type(each) is dict:
            yield each
            left += each.values()
        elif type(each) in (list, tuple):
            left += each


def _about(cls: type[Any]) -> str:
    return repr(name_of(cls))


def _list(names: list[str]) -> str:
    return ", ".join(map(repr, names))

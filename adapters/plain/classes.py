"""Classes: the names, versions and migrations of checkpointable classes.

A stored state names its class, and that name is only ever looked up among the classes that this process has defined.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast, overload
from weakref import WeakKeyDictionary

from ...contracts.errors import BadSetup
from ...contracts.versions import check_whole, raised

Step = TypeVar("Step", bound=Callable[[dict[str, Any]], dict[str, Any]])

_by_name: dict[str, list[weakref.ref[type[Any]]]] = {}
_steps: WeakKeyDictionary[type[Any], dict[int, Callable[[Any], Any]]] = WeakKeyDictionary()


# Objects of such classes hold something besides their attributes, which would be lost.
_VALUES: tuple[type[Any], ...] = (dict, list, tuple, set, frozenset, str, bytes, bytearray, int, float, complex)


def enroll(cls: type[Any]) -> None:
    """Let a class be found by its name."""
    if issubclass(cls, _VALUES):
        kind = next(kind for kind in _VALUES if issubclass(cls, kind)).__name__
        raise BadSetup(f"{cls.__qualname__} can't be Checkpointable, it is a {kind}: keep the {kind} in an attribute")
    alive = [ref for ref in _by_name.get(name_of(cls), []) if ref() is not None]
    _by_name[name_of(cls)] = [*alive, weakref.ref(cls)]


def setting(cls: type[Any], name: str) -> Any:
    """A class's `_checkpoint_...` attribute. Pydantic turns such names into private attributes of instances."""
    private = _private(cls).get(name)
    return getattr(cls, name, None) if private is None else private.default


def name_of(cls: type[Any]) -> str:
    """A class's name in states: its own `_checkpoint_name` (not a base's), else its qualified name."""
    private = _private(cls).get("_checkpoint_name")
    if private is not None and all(_private(base).get("_checkpoint_name") is not private for base in cls.__bases__):
        return str(private.default)
    return str(vars(cls).get("_checkpoint_name") or cls.__qualname__)


def version_of(cls: type[Any]) -> int:
    """The version of the states that a class saves."""
    version: object = setting(cls, "_checkpoint_version")
    if type(version) is not int or version < 1:
        raise BadSetup(f"{cls.__qualname__} has _checkpoint_version = {version!r}, but versions are 1, 2, 3 ...")
    return version


def class_named(name: str, module: str | None) -> type[Any] | None:
    """The class of that name, the newest if it was defined again. None if this process has none. The module tells
    classes of one name apart."""
    found = _called(name)
    if len(_places(found)) > 1:
        found = [cls for cls in found if cls.__module__ == module]
        if len(_places(found)) != 1:
            places = " and ".join(_places(_called(name)))
            raise BadSetup(
                f"{places} are both called {name!r} in states, and this one does not say which it is: give the other "
                "a _checkpoint_name"
            )
    return found[-1] if found else None


def shares_name(cls: type[Any]) -> bool:
    """Whether this process has another class of the same name."""
    return len(_places(_called(name_of(cls)))) > 1


def _called(name: str) -> list[type[Any]]:
    return [cls for ref in _by_name.get(name, []) if (cls := ref()) is not None]


def _places(classes: list[type[Any]]) -> list[str]:
    return sorted({f"{cls.__module__}.{cls.__qualname__}" for cls in classes})


@overload
def register_migration(cls: type[Any], from_version: int, fn: Step) -> Step: ...


@overload
def register_migration(cls: type[Any], from_version: int) -> Callable[[Step], Step]: ...


def register_migration(cls: type[Any], from_version: int, fn: Any = None) -> Any:
    """Declare how to convert a state that `cls` saved under one `_checkpoint_version` to the next.

    `fn` takes the fields as a dict and returns those of the next version. It is called when such a state is loaded. The
    stored state doesn't change. Without `fn`, this is a decorator. Subclasses inherit migrations. Raises `BadSetup` if
    there is one already, or if the class's version is not higher.
    """
    if fn is None:
        return partial(register_migration, cls, from_version)
    check_whole(from_version)
    known = version_of(cls)
    if not 1 <= from_version < known:
        raise BadSetup(
            f"{cls.__qualname__} has _checkpoint_version = {known}, but a migration from {from_version}: raise it"
        )
    if _steps.setdefault(cls, {}).setdefault(from_version, fn) is not fn:
        raise BadSetup(f"there are two migrations of {cls.__qualname__} from version {from_version}")
    return fn


def migrated(cls: type[Any], version: int, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, converted to the class's current version."""
    steps: dict[int, Callable[[Any], Any]] = {}
    for base in reversed(cls.__mro__):
        steps |= _steps.get(base, {})
    name = cls.__qualname__
    found: object = raised(
        fields,
        version,
        version_of(cls),
        steps,
        about=f"the state is of version {version} of {name}",
        write=lambda at: f"register_migration({name}, from_version={at}, fn=...)",
    )
    if type(found) is not dict:
        kind = type(found).__name__
        raise BadSetup(f"a migration of {name} gave a {kind}, not a dict of fields")
    return cast("dict[str, Any]", found)


def _private(cls: type[Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(cls, "__private_attributes__", {})
    return found

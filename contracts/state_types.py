"""State types: classes whose instances a state may hold besides plain values, each with its own stable name.

A stored value names its type, and that name is only looked up among the types that this process registered, its
contracts, and those of installed packages (entry points `batonpass.state_types`). Stored data never causes an import. A
value of an unknown type comes back as an `UnknownValue`, which is saved again unchanged.
"""

from __future__ import annotations

import builtins
import errno
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from .builtin_types import ENCODERS, NotPlain
from .errors import BadSetup, BatonpassError
from .opaque import Opaque
from .plugged import not_loaded, plugged
from .shapes import Custom, Shape, fields_of, shape_of
from .unfit import unfit

if TYPE_CHECKING:
    from .app import App
    from .contract import Contract, ContractRef

T = TypeVar("T")
GROUP = "batonpass.state_types"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,199}\Z")
# The machine is short of something just now.
_PASSING = {errno.EAGAIN, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_PLAIN = {type(None), bool, int, float, str, bytes, bytearray, memoryview, list, dict, *ENCODERS}


@dataclass(frozen=True, slots=True)
class StateType:
    """A class registered under a name."""

    name: str
    kind: type[Any]
    shape: Shape

    @property
    def head(self) -> bytes:
        """How its stored values begin."""
        return head(self.name)

    @property
    def is_custom(self) -> bool:
        """Whether functions of its own dump and load its values."""
        return isinstance(self.shape, Custom)

    def load(self, stored: Any) -> Any:
        """A value of the class. `BadSetup` if the stored one no longer fits the class."""
        try:
            value = self.shape.load(stored)
            if not isinstance(value, self.kind):
                raise ValueError(f"load= gave a {type(value).__qualname__}")
        except BatonpassError:
            raise
        except Exception as error:
            raise BadSetup(
                f"a stored {self.name!r} does not fit the class {_where(self.kind)} any more: {_told(error)}. "
                "Give new fields a default, or register the class with dump= and load="
            ) from None
        return value


@dataclass(frozen=True, slots=True)
class UnknownValue(Opaque):
    """A stored value whose type this process doesn't know. To get the real value, import the module that registers it.

    You can look at `value` (its content as plain values), compare it, and save it again unchanged.
    """

    type_name: str
    packed: bytes = field(repr=False)

    @property
    def value(self) -> Any:
        """What is stored, as plain values; `Corrupted` if it can't be read."""
        from .codec import unpack_rest

        return unpack_rest(self.packed, [])

    @property
    def closed(self) -> str:
        """Why nothing in it can be changed, and what to do."""
        if broken := _broken.get(self.type_name.partition(".")[0]):
            return broken
        return "this process has no class of that name: import the module that registers it"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("type_name", "packed"):  # looked up while a copy is made
            raise AttributeError(name)
        raise AttributeError(f"no {name!r}: this is a stored {self.type_name!r}, and {self.closed}")


@overload
def state_type(
    name: str, *, dump: Callable[[Any], Any] | None = None, load: Callable[[Any], Any] | None = None
) -> Callable[[type[T]], type[T]]: ...


@overload
def state_type(
    name: str, kind: type[T], *, dump: Callable[[T], Any] | None = None, load: Callable[[Any], T] | None = None
) -> type[T]: ...


def state_type(
    name: str,
    kind: type[Any] | None = None,
    *,
    dump: Callable[[Any], Any] | None = None,
    load: Callable[[Any], Any] | None = None,
) -> Any:
    """Register a class under a stable name, so that states may hold its instances: `@bp.state_type("shop.order")`.

    That is enough for Enums, pydantic models, dataclasses and NamedTuples. For other classes, or to convert these
    differently, pass functions: `bp.state_type("math.fraction", Fraction, dump=str, load=Fraction)`. `dump` returns
    plain values (or values of other state types), and `load` takes them. Only the name is stored, so you can move and
    rename the class. Contracts already have names. Raises `BadSetup` if the name or the class is taken.
    """
    if kind is None:
        return partial(state_type, name, dump=dump, load=load)
    if not _NAME.match(name):
        raise BadSetup(f"state type {name!r}: use letters, digits and _ . / -, e.g. 'shop.order'")
    shape = Custom(dump, load) if dump and load else shape_of(kind)
    _check(name, kind, shape, one_alone=(dump is None) != (load is None))
    assert shape is not None
    _by_name[name] = _by_class[kind] = StateType(name, kind, shape)
    return kind


def _check(name: str, kind: type[Any], shape: Shape | None, *, one_alone: bool) -> None:
    where = _where(kind)
    if kind in _PLAIN:
        raise BadSetup(f"{where} can't be a state type of its own: it is stored as it is, or not at all")
    if _contract_name(kind):
        raise BadSetup(f"{where} is a contract: states may hold it by its own name, without state_type")
    if shape is None or one_alone:
        raise BadSetup(
            f"{where} is not an Enum, pydantic model, dataclass or NamedTuple: give state_type both dump= and load=, "
            "or put @bp.state_type above the decorator that makes it one"
        )
    for known in (_by_name.get(name), _by_class.get(kind)):
        if known and (known.name != name or _where(known.kind) != where):
            raise BadSetup(f"state type {name!r} for {where}: {_where(known.kind)} is {known.name!r} already")


_by_name: dict[str, StateType] = {}
_by_class: dict[type[Any], StateType] = {}
_broken: dict[str, str] = {}
"""Why the state types of a package, by its import name, could not be registered."""


def type_of(kind: type[Any]) -> StateType:
    """A class's state type; `NotPlain` if it has none."""
    found = found_type(kind)
    if found is None:
        raise _not_registered(kind)
    return found


def found_type(kind: type[Any]) -> StateType | None:
    """A class's state type, if it has one."""
    found = _by_class.get(kind)
    if found is None and (name := _contract_name(kind)):
        found = _by_class[kind] = _contract_type(name, kind)
    if found is None and _provide(kind.__module__.partition(".")[0]):
        found = _by_class.get(kind)
    return found


def known_type(kind: type[Any]) -> StateType | None:
    """A class's state type if that was registered, or asked for before. Looks for nothing, so it costs nothing."""
    return _by_class.get(kind)


def is_state_type(kind: type[Any]) -> bool:
    """Whether a state may hold values of a class because it was registered, or is a contract."""
    return found_type(kind) is not None


def _not_registered(kind: type[Any]) -> NotPlain:
    reason = f"{_where(kind)} is neither a plain type nor a registered one"
    if broken := _broken.get(kind.__module__.partition(".")[0]):
        return NotPlain(f"{reason}: {broken}", advice="Update or remove that package, or convert it to plain values")
    if kind.__module__ == "builtins":
        return NotPlain(reason)
    return NotPlain(reason, advice=f"Register the class, e.g. {_registration(kind)}, or convert it to plain values")


def _registration(kind: type[Any]) -> str:
    """How to register a class, as code that runs where the class has been imported."""
    title = kind.__name__
    name = f"{kind.__module__.rpartition('.')[2].strip('_')}.{title.lower()}"
    name = re.sub(r"[^a-z0-9_.]+", "-", name).strip("-")
    if hasattr(builtins, title):  # another class of that name, which code would register instead
        title = f"{kind.__module__}.{title}"
    if shape_of(kind) is None:  # its fields are not known
        return f'bp.state_type("{name}", {title}, dump=..., load=...)'
    # Nobody can decorate a generic's parametrized class, or one of an installed package.
    return f'bp.state_type("{name}", {title})' if "[" in title or _is_installed(kind) else f'@bp.state_type("{name}")'


def _is_installed(kind: type[Any]) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names or "-packages" in file


def type_named(name: str) -> StateType | None:
    """The state type with that name, None if this process does not know it."""
    found = _by_name.get(name)
    if found is None and "@" in name:
        exact = next((_contract_type(name, kind) for kind in _contracts() if _contract_name(kind) == name), None)
        return exact or _upcast_type(name)
    if found is None and _NAME.match(name) and _provide(name.partition(".")[0]):
        found = _by_name.get(name)
    return found


def head(name: str) -> bytes:
    """A type's name before a packed value."""
    encoded = name.encode()
    if len(encoded) >= 65_536:
        raise NotPlain("its contract's name is too long")
    return len(encoded).to_bytes(2, "big") + encoded


def split_head(data: bytes) -> tuple[str, bytes]:
    """The name and the packed value behind it."""
    end = 2 + int.from_bytes(data[:2], "big")
    if len(data) <= end:
        raise ValueError("a value of a named type ends within its name")
    return data[2:end].decode(), data[end:]


def _contract_name(kind: type[Any]) -> str | None:
    ref = getattr(kind, "__contract_ref__", None)
    return str(ref) if ref else None


def _contract_type(name: str, kind: type[Any]) -> StateType:
    shape = shape_of(kind)
    assert shape is not None
    return StateType(name, kind, shape)


def _contracts() -> Iterator[type[Any]]:
    """The contracts of this process, newest first, because a notebook cell may have defined one again."""
    from .contract import Contract

    def below(kind: type[Any]) -> Iterator[type[Any]]:
        for each in reversed(kind.__subclasses__()):
            yield from below(each)
            yield each

    return below(Contract)


def _upcast_type(name: str) -> StateType | None:
    """The type of an older version of a contract, if an app of this process can read it."""
    from .app import apps
    from .contract import ContractRef

    title, _, version = name.rpartition("@")
    if not (version.isdecimal() and len(version) < 10):
        return None
    ref = ContractRef(title, int(version))
    for app in apps():
        if kind := app.present(ref):
            return StateType(name, kind, Custom(dict, partial(_upcast, app, kind, ref)))
    return None


def _upcast(app: App, kind: type[Contract], ref: ContractRef, stored: Any) -> Contract:
    """Upcasts a stored value by the steps for payloads."""
    return app.upcast_values(kind, ref, to_jsonable_python(fields_of(stored), bytes_mode="base64"))


@cache
def _provide(root: str) -> bool:
    """Let the installed package that provides state types for the package `root` register them, once.

    If it fails, only values of these types are concerned: they can't be saved, and are read as `UnknownValue`s, both of
    which say why. All else in a state is read, so that `batonpass restore` helps where the package is broken.
    """
    for point in plugged(GROUP, root):
        try:
            point.load()()
        except ImportError:  # the package with the classes is not installed, so there can be no values of them
            return False
        except Exception as error:
            if isinstance(error, MemoryError) or getattr(error, "errno", None) in _PASSING:
                raise  # the next attempt may do better
            _broken[root] = f"the state types {not_loaded(point, error)}"
            return False
        return True
    return False


def _where(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _told(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(unfit(error))
    return f"{type(error).__name__}: {error}".rstrip(".")

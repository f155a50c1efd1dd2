"""Changes: what is new in channels since the last put, seen without packing them again, from what we keep of their
values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from langchain_core.messages import BaseMessage

from ....contracts.builtin_types import class_of
from ....contracts.codec import fingerprint
from ..serde.plain import ATOMS

_TEXTS = {str, bytes, type(None)}
_extra = attrgetter("__pydantic_extra__")


class _Opaque(Exception):
    """No copy of the value would show every later change of it."""


@dataclass(slots=True)
class RememberedList:
    """A list's elements as they were. So a message that was changed in place since is noticed. `held` are those at
    `shallow` places, `prints` are of the others, some at a time."""

    kinds: list[type[Any]]
    shallow: list[int]
    held: list[Any]
    prints: list[tuple[list[int], int]]

    def unchanged(self, value: list[Any]) -> bool:
        """Whether the list begins with the elements that were seen."""
        count = len(self.kinds)
        first = value if len(value) == count else value[:count]
        try:
            return (
                list(map(class_of, first)) == self.kinds
                and [_fields(first[place]) for place in self.shallow] == self.held
                and all(
                    _print_of([_fields(first[place]) for place in places]) == known for places, known in self.prints
                )
                and not any(_extra(each) for each in first if isinstance(each, BaseMessage))
            )
        except Exception:  # a value whose == gives no bool
            return False

    def longer(self, new: list[Any]) -> RememberedList | None:
        """The same with more elements at the end. None if one of them can't be kept."""
        added = remember(new)
        if not isinstance(added, RememberedList):
            return None
        count = len(self.kinds)
        shallow = self.shallow + [count + place for place in added.shallow]
        prints = self.prints + [([count + place for place in places], known) for places, known in added.prints]
        return RememberedList(self.kinds + added.kinds, shallow, self.held + added.held, prints)


@dataclass(slots=True)
class RememberedValue:
    """A value that is not a list, as it was."""

    kind: type[Any]
    held: Any
    print: int | None = None

    def unchanged(self, value: Any) -> bool:
        """Whether the value is what it was."""
        try:
            if class_of(value) is not self.kind or _fields(value) != self.held:  # most that change
                return False
            if self.print is None:
                self.print = _print_of(self.held)
            return _print_of(_fields(value)) == self.print
        except Exception:
            return False


def remember(value: Any) -> RememberedList | RememberedValue | None:
    """What to keep of a value. None if a later change of it could go unnoticed."""
    try:
        if class_of(value) is not list:
            return RememberedValue(class_of(value), _copy(value))
        copies = [_copy(each) for each in value]
        shallow = [place for place, each in enumerate(value) if _is_shallow(each)]
        deep = sorted(set(range(len(value))) - set(shallow))
        prints = [(deep, _print_of([copies[place] for place in deep]))] if deep else []
    except _Opaque:
        return None
    return RememberedList(list(map(class_of, value)), shallow, [copies[place] for place in shallow], prints)


def changes_since(
    before: Mapping[str, RememberedList | RememberedValue | None], values: Mapping[str, Any], same: Collection[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What is new in channels: values that changed, and what was appended to lists. None if a channel is gone. Channels
    in `same` are known to be unchanged."""
    if before.keys() - values.keys():
        return None
    changes: dict[str, Any] = {}
    append: dict[str, Any] = {}
    for channel, value in values.items():
        if channel in same:
            continue
        seen = before.get(channel)
        if (
            seen is None
            or isinstance(seen, RememberedList) is not (class_of(value) is list)
            or not seen.unchanged(value)
        ):
            changes[channel] = value
        elif isinstance(seen, RememberedList) and len(value) > len(seen.kinds):
            append[channel] = value[len(seen.kinds) :]
    return changes, append


def remember_all(
    before: Mapping[str, RememberedList | RememberedValue | None], append: Mapping[str, Any], values: Mapping[str, Any],
    changes: Collection[str],
) -> dict[str, RememberedList | RememberedValue | None]:  # fmt: skip
    """What is kept of the channels after `changes_since`."""
    seen: dict[str, RememberedList | RememberedValue | None] = {}
    for channel, value in values.items():
        known = before.get(channel)
        if channel in append and isinstance(known, RememberedList):
            seen[channel] = known.longer(append[channel])
        else:
            seen[channel] = remember(value) if channel in changes else known
    return seen


def _fields(value: Any) -> Any:
    return value.__dict__ if isinstance(value, BaseMessage) else value


def _is_shallow(value: Any) -> bool:
    """Whether `==` shows every change of it, which takes the least time and so is for as many messages as possible."""
    if isinstance(value, BaseMessage):
        return all(map(_is_simple, value.__dict__, value.__dict__.values()))
    return class_of(value) in _TEXTS


def _is_simple(name: str, value: Any) -> bool:
    kind = class_of(value)
    return kind in _TEXTS or ((kind is dict or kind is list) and not value) or name == "example"  # False in most


def _print_of(value: Any) -> int:
    """What tells the value from all others, also from equal ones: `==` takes True for 1, and dicts for equal whose keys
    are in another order."""
    found = fingerprint(value)
    if found is None:
        raise _Opaque
    return found


def _copy(value: Any) -> Any:
    """A copy that changes of the value don't reach. It equals the value, or a message's fields, until they change."""
    kind = class_of(value)
    if kind in ATOMS:
        return value
    if kind is list:
        return [_copy(item) for item in value]
    if kind is dict:
        return {_leaf(key): _copy(item) for key, item in value.copy().items()}
    if isinstance(value, BaseMessage) and not _extra(value):
        return {name: _inner(item) for name, item in value.__dict__.copy().items()}
    raise _Opaque


def _inner(value: Any) -> Any:
    # A message within a message would be compared by its class's own ==, which may not look at all of it.
    if isinstance(value, BaseMessage):
        raise _Opaque
    return _copy(value)


def _leaf(key: Any) -> Any:
    if class_of(key) not in ATOMS:
        raise _Opaque
    return key

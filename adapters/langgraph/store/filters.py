"""Filters: which items pass a search's filter, and which labels fit a condition."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import MatchCondition

from ....contracts.errors import BadSetup

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = ("$eq", "$ne", *_ORDERS)


def check_filter(wanted: object) -> None:
    """Refuse a filter with an unknown operator. What an operator compares with is a value, whatever names it has."""
    if isinstance(wanted, Mapping):
        asked: Mapping[Any, Any] = cast("Any", wanted)
        operators = _has_operators(asked)
        for name, value in asked.items():
            if not operators:
                check_filter(value)
            elif name not in _OPERATORS:
                raise BadSetup(f"the filter has the operator {name!r}, but there are only {', '.join(_OPERATORS)}")
    elif isinstance(wanted, list | tuple):
        for value in cast("Sequence[Any]", wanted):
            check_filter(value)


def passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether an item's value has everything that a filter asks for."""
    return not wanted or all(_fits(value.get(name), asked) for name, asked in wanted.items())


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        asked: dict[Any, Any] = cast("Any", wanted)
        if _has_operators(asked):
            return all(_compares(value, name, other) for name, other in asked.items())
        if not isinstance(value, dict):
            return False
        fields: dict[Any, Any] = cast("Any", value)
        return all(_fits(fields.get(name), each) for name, each in asked.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple):
            return False
        held, asked_for = cast("Sequence[Any]", value), cast("Sequence[Any]", wanted)
        return len(held) == len(asked_for) and all(map(_fits, held, asked_for))
    return bool(value == wanted)


def _has_operators(wanted: Mapping[Any, Any]) -> bool:
    return any(isinstance(name, str) and name.startswith("$") for name in wanted)


def _compares(value: Any, name: str, other: Any) -> bool:
    if name == "$eq":
        return bool(value == other)
    if name == "$ne":
        return bool(value != other)
    numbers = _number(value), _number(other)
    if None not in numbers:
        return _ORDERS[name](*numbers)
    # Other values have an order only among their own kind: texts, times.
    try:
        return type(value) is type(other) and bool(_ORDERS[name](value, other))
    except TypeError:
        return False


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def check_conditions(conditions: Iterable[MatchCondition]) -> None:
    """Refuse a condition of an unknown kind."""
    for condition in conditions:
        if condition.match_type not in ("prefix", "suffix"):
            raise BadSetup(f"there is no condition {condition.match_type!r}: write 'prefix' or 'suffix'")


def meets(labels: tuple[str, ...], conditions: Iterable[MatchCondition]) -> bool:
    """Whether labels begin or end as all conditions say. "*" stands for any label."""
    return all(_meets(labels, condition) for condition in conditions)


def _meets(labels: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(labels) < len(path):
        return False
    part = labels[: len(path)] if condition.match_type == "prefix" else labels[len(labels) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def common_prefix(conditions: Iterable[MatchCondition]) -> tuple[str, ...]:
    """The first labels of everything that meets the conditions."""
    longest: tuple[str, ...] = ()
    for condition in conditions:
        path = tuple(condition.path) if condition.match_type == "prefix" else ()
        certain = path[: path.index("*")] if "*" in path else path
        longest = max(longest, certain, key=len)
    return longest

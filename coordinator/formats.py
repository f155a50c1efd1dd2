"""Formats: what a JSON Schema says of texts and decimals, checked as pydantic reads them.

Most schemas are pydantic's, and what a class takes has to fit its schema: by the formats' own rules the date
"2026-12-01T00:00:00" would be refused, and so would the decimal "1e2" by the pattern that pydantic gives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache, partial
from typing import Any, cast

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from pydantic_core import SchemaValidator, core_schema
from pydantic_core import ValidationError as Unfit
from referencing import Registry

from .patterns import by_pattern, of_other_names, pattern_of_text

_READ: Mapping[str, core_schema.CoreSchema] = {
    "date": core_schema.date_schema(),
    "date-time": core_schema.datetime_schema(),
    "time": core_schema.time_schema(),
    "duration": core_schema.timedelta_schema(),
    "uuid": core_schema.uuid_schema(),
    "uuid1": core_schema.uuid_schema(version=1),
    "uuid3": core_schema.uuid_schema(version=3),
    "uuid4": core_schema.uuid_schema(version=4),
    "uuid5": core_schema.uuid_schema(version=5),
    "uri": core_schema.url_schema(),
    "email": core_schema.str_schema(pattern="@"),  # more needs a package that may not be there
}
# How the pattern of a decimal in a text begins. The rest of it says how many digits there may be, though the library
# finds that in any text.
_DECIMAL = "^(?!^[-+.]*$)[+-]?0*"
_MOST_DIGITS = re.compile(r"\(\?=\[\\d\.\]\{1,(\d+)\}")
_PLACES = re.compile(r"\\d\{0,(\d+)\}0\*\$")
_BOUNDS = {
    "minimum": "ge",
    "exclusiveMinimum": "gt",
    "maximum": "le",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
}
_EXACT = 15  # digits of a bound that is written as a float: one with more may have been another


def checker(schema: Mapping[str, Any]) -> Any:
    """What checks values by a schema, which may not make us fetch anything."""
    nothing_else: Registry[Any] = Registry()
    said = repr(schema)
    # The library matches the patterns that this keyword has it look for, in all parts of a schema, by Python's own
    # expressions.
    both = "unevaluatedProperties" in said and "patternProperties" in said
    return (_WithoutRest if both else _Checker)(schema, registry=nothing_else, format_checker=_FORMATS)


@cache
def _reader(name: str) -> SchemaValidator:
    return SchemaValidator(_READ[name])


def _fits(name: str, value: object) -> bool:
    return not isinstance(value, str) or _reader(name).isinstance_python(value)


def _any_of(
    validator: Any, branches: Sequence[Any], value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """As the library's, except for decimals, which are numbers or texts."""
    texts = [each for each in branches if str(_said(each, "pattern")).startswith(_DECIMAL)]
    numbers = [each for each in branches if _said(each, "type") == "number"]
    if not texts or not numbers:
        yield from Draft202012Validator.VALIDATORS["anyOf"](validator, branches, value, schema)
        return
    others = (each for each in branches if each not in texts and each not in numbers)
    if any(validator.evolve(schema=each).is_valid(value) for each in others):
        return
    # Which of several belong together can't be told.
    misfits = [_misfit(json.dumps([number, text]), value) for number in numbers for text in texts]
    if None not in misfits:
        yield ValidationError(f"{value!r}: {misfits[0]}", validator="decimal")


def _pattern(validator: Any, pattern: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    """As in other patterns, except for that of decimals, which looks ahead."""
    if not str(pattern).startswith(_DECIMAL):
        yield from pattern_of_text(validator, pattern, value, schema)
    elif isinstance(value, str) and (misfit := _misfit(json.dumps([{}, {"pattern": pattern}]), value)):
        yield ValidationError(f"{value!r}: {misfit}")


def _unchecked(*_: object) -> Iterator[ValidationError]:
    """A keyword that is left to the class."""
    return iter(())


def _misfit(pair: str, value: Any) -> str | None:
    try:
        _decimals(pair).validate_python(value)
    except Unfit as error:
        return error.errors()[0]["msg"]
    except ArithmeticError:  # so it is of more digits than can be counted with
        return "it has too many digits"
    return None


def _said(branch: Any, word: str) -> Any:
    return cast("dict[str, Any]", branch).get(word) if isinstance(branch, dict) else None


@cache
def _decimals(pair: str) -> SchemaValidator:
    """What reads the decimals of a schema's branches for numbers and for texts, which pydantic has made of one type."""
    number, text = json.loads(pair)
    bounds = {_BOUNDS[word]: Decimal(repr(bound)) for word, bound in number.items() if word in _BOUNDS}
    options: dict[str, Any] = {name: bound for name, bound in bounds.items() if len(bound.as_tuple().digits) <= _EXACT}
    if most := _MOST_DIGITS.search(text["pattern"]):
        options["max_digits"] = int(most[1]) - 1
    if places := _PLACES.search(text["pattern"]):
        options["decimal_places"] = int(places[1])
    return SchemaValidator(core_schema.decimal_schema(**options))


_FORMATS = FormatChecker(())
for _name in _READ:
    _FORMATS.checks(_name)(partial(_fits, _name))
_typed_in_part: Any = validators
_Checker = _typed_in_part.extend(
    Draft202012Validator,
    {
        "anyOf": _any_of,
        "pattern": _pattern,
        "patternProperties": by_pattern,
        "additionalProperties": of_other_names,
    },
)
_WithoutRest = _typed_in_part.extend(_Checker, {"unevaluatedProperties": _unchecked})

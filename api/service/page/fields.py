"""Fields: a form for what a JSON Schema describes, and what was typed there as values.

A flat object of texts, numbers, switches and choices has a field for each, and so has each of several questions that
are asked at once. Anything else is typed as JSON. The names of
fields say their kind (`integer?:age`) and what an empty one means, so that a form can be read without its schema. If
its question was answered while the form was filled in, that is what the user is told, and not that a field is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from typing import Any, cast

from batonpass.cli.options import read_json
from batonpass.contracts.errors import ContractViolation
from batonpass.contracts.guard import Guard

from .words import Shown, in_json, shown

_KINDS = ("string", "integer", "number", "boolean")
_MOST = 30  # fields of a form, and choices of a field
_EMPTY = "?=0"
_MOST_QUESTIONS = 150  # at once: a form has no more fields than about that
_ID = re.compile("[0-9a-f]{32}")  # of a LangGraph interrupt
_DEEPEST = 8  # references, each to the next


@dataclass(frozen=True)
class Field:
    """One input. `choices` are values as JSON, with their labels. `value` is what is in it. `empty` is what it means if
    nothing is in it: "" that there must be something (or an empty text), "?" that it is left out, "=" an empty text,
    and "0" null. `asks` is the question that it answers, if each has its own, and `example` an answer."""

    name: str
    label: str
    kind: str
    required: bool
    empty: str
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    value: str = ""
    asks: Shown | None = None
    example: str = ""

    @property
    def key(self) -> str:
        """The name under which it is sent."""
        return f"{self.kind}{self.empty}:{self.name}"


def fields(schema: Mapping[str, Any] | None) -> tuple[Field, ...]:
    """The inputs for an answer. Empty if its schema is not a flat object."""
    whole = _resolved(schema or {}, schema or {})
    properties, required = _mapping(whole.get("properties")), _list(whole.get("required"))
    if whole.get("type") != "object" or not 0 < len(properties) <= _MOST:
        return ()
    made = [_field(name, each, schema or {}, name in required) for name, each in properties.items()]
    return tuple(each for each in made if each) if all(made) else ()


def several(schema: Mapping[str, Any] | None, question: Any) -> tuple[Field, ...]:
    """An input for each question of several at once, which may be answered one by one. Empty if there is just one."""
    asked, about = _mapping(question), _mapping(_mapping(schema).get("properties"))
    if asked.keys() != about.keys() or not 0 < len(asked) <= _MOST_QUESTIONS or not all(map(_ID.fullmatch, asked)):
        return ()
    return tuple(
        replace(_alone(name, _mapping(about[name])), label=f"Answer {number}", asks=shown(each))
        for number, (name, each) in enumerate(asked.items(), 1)
    )


def example(schema: Mapping[str, Any] | None) -> str:
    """The first example of a schema, as JSON."""
    examples = _list(_mapping(schema).get("examples"))
    return in_json(examples[0]) if examples else ""


def filled(inputs: Sequence[Field], typed: Mapping[str, str]) -> tuple[Field, ...]:
    """The inputs with what was typed."""
    return tuple(replace(each, value=typed.get(each.key, each.value)) for each in inputs)


def read(typed: Mapping[str, str]) -> Any:
    """The answer in a form: from its fields, as JSON, or as text."""
    if "json" in typed:
        try:
            return read_json(typed["json"])
        except ValueError as error:
            raise ContractViolation(f"the answer is not JSON: {error}", fields=[f"(whole): {error}"]) from None
    if "text" in typed:
        return typed["text"]
    return dict(_values(typed))


def payload(text: str) -> dict[str, object] | None:
    """A payload that was typed as JSON. None if none was."""
    if not text.strip():
        return None
    try:
        values = read_json(text)
    except ValueError as error:
        raise ContractViolation(f"the payload is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise ContractViolation("the payload must be a JSON object")
    return cast("dict[str, object]", values)


def limits(typed: Mapping[str, str]) -> dict[str, Any]:
    """The limits of a guard that were typed, by name."""
    return {each.name: _parsed(typed[each.name]) for each in fields_of(Guard) if typed.get(each.name, "").strip()}


def _values(typed: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for key, text in typed.items():
        kind, mark, name = key.partition(":")
        empty, kind = kind[-1:] if kind[-1:] in _EMPTY else "", kind.rstrip(_EMPTY)
        if not mark or (text == "" and (empty == "?" or (empty == "" and kind != "string"))):
            continue  # the schema says whether it may be left out
        if text == "" and empty == "0":
            yield name, None
        elif kind == "any":
            yield name, _any(text)
        else:
            yield name, text if kind == "string" else _parsed(text)


def _any(text: str) -> Any:
    """JSON, or a text. What begins like JSON is a slip, and not a text."""
    try:
        return read_json(text)
    except ValueError as error:
        if text.lstrip().startswith(("{", "[", '"')):
            raise ContractViolation(f"an answer begins like JSON, but {error}: {text}") from None
        return text


def _parsed(text: str) -> Any:
    """A number, a switch or a choice. Anything else stays as it was typed, and the schema says what is wrong with
    it."""
    try:
        return read_json(text)
    except ValueError:
        return text


def _alone(name: str, schema: Mapping[str, Any]) -> Field:
    """The input for one of several questions. Nothing is in it at first: that would be an answer."""
    made = _field(name, schema, schema, required=False)
    if made and not made.value:
        return made
    return Field(name, name, "any", required=False, empty="?", help="JSON, or a text", example=example(schema))


def _field(name: str, described: object, whole: Mapping[str, Any], required: bool) -> Field | None:
    about = _resolved(described, whole)
    if required and _nullable(described):
        return None  # an empty field can't mean null
    kind = about.get("type")
    values = [about["const"]] if "const" in about else _list(about.get("enum"))
    label, told = str(about.get("title") or name), str(about.get("description") or "")
    begins = _begins(about)
    cleared = "" if required else "?"
    if begins and not required:
        cleared = "=" if kind == "string" and not values else "0" if _nullable(described) else "?"
    base = Field(name, label, "string", required, cleared, told, value=begins)
    if values:
        plain = all(value is None or isinstance(value, str | int | float) for value in values)
        if not plain or len(values) > _MOST:
            return None
        return replace(base, kind="choice", choices=tuple((in_json(value), str(value)) for value in values))
    if kind not in _KINDS:
        return None
    if kind == "boolean":
        return replace(base, kind="boolean", choices=(("true", "yes"), ("false", "no")))
    return replace(base, kind=str(kind))


def _begins(about: Mapping[str, Any]) -> str:
    """What is in a field before anything is typed."""
    value = about.get("default")
    if value is None:
        return ""
    return value if isinstance(value, str) and about.get("type") == "string" and "enum" not in about else in_json(value)


def _nullable(described: object) -> bool:
    return {"type": "null"} in _list(_mapping(described).get("anyOf"))


def _resolved(described: object, whole: Mapping[str, Any], room: int = _DEEPEST) -> Mapping[str, Any]:
    """A part of a schema, with what it refers to put in. An optional part is described as it is when given."""
    about = _mapping(described if room else None)
    outer = {name: value for name, value in about.items() if name not in ("$ref", "anyOf", "allOf")}
    if isinstance(reference := about.get("$ref"), str):
        return {**_resolved(_target(reference, whole), whole, room - 1), **outer}
    for union in ("anyOf", "allOf"):
        if union in about:
            rest = [each for each in _list(about[union]) if each != {"type": "null"}]
            return {**_resolved(rest[0], whole, room - 1), **outer} if len(rest) == 1 else {}
    return about


def _target(reference: str, whole: Mapping[str, Any]) -> object:
    found: object = whole
    for part in reference.removeprefix("#/").split("/") if reference.startswith("#/") else ("",):
        found = _mapping(found).get(part)
    return found


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[object]", value) if isinstance(value, list) else []

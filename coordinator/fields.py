"""Fields: a model or a dataclass with another value in one of them.

Only that value is checked, as if it was assigned. What the class would fill in, convert or compute beside it stays as
it is: nobody asked to change that.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..contracts.alike import alike
from ..contracts.builtin_types import class_of
from ..contracts.errors import BadSetup
from ..contracts.opaque import Opaque
from ..contracts.shapes import fielded
from ..contracts.unfit import messages


def parts(held: Any) -> dict[str, Any] | None:
    """The fields of a model or a dataclass, and what else is stored of it. None for anything else."""
    kind = class_of(held)
    shape = None if issubclass(kind, Opaque) else fielded(kind)
    return None if shape is None else {at.removeprefix("."): part for at, part in shape.parts(held)}


def replaced(held: Any, name: str, part: Any, change: Callable[[Any], Any], place: str, *, inside: bool) -> Any:
    """A copy of a model or a dataclass (which may be frozen), with one of its parts changed, or something `inside` of
    that. `BadSetup` if its class refuses it."""
    kind = class_of(held)
    shape = fielded(kind)
    assert shape is not None
    before = copy.deepcopy(held) if inside else None  # what is inside is changed in place
    part = change(part)
    try:
        if _is_checked(kind, name):
            taken = _assigned(held, name, part)
            # If the class would convert even the old part, it has also converted what lies beside the place.
            if not inside or alike(_assigned(before, name, getattr(before, name)), getattr(before, name)):
                part = taken
    except Exception as error:  # the validators are the user's
        why = "; ".join(messages(error)) if isinstance(error, ValidationError) else str(error)
        raise BadSetup(f"{place!r} can't be that in a {kind.__name__}: {why or type(error).__name__}") from None
    return shape.replaced(held, name, part)


def _assigned(held: Any, name: str, part: Any) -> Any:
    """The part as an assignment to the field leaves it."""
    scratch = copy.deepcopy(held)  # validators may change the whole
    kind: Any = class_of(held)
    fields, validator = _fields(kind), kind.__pydantic_validator__
    if name not in fields or not fields[name].frozen:
        validator.validate_assignment(scratch, name, part)
        return getattr(scratch, name)
    # pydantic assigns to no such field. It may have its first value, as one of a new object.
    given = {each: getattr(scratch, each) for each, about in fields.items() if about.init is not False}
    return getattr(validator.validate_python({**given, name: part}, by_alias=False, by_name=True), name)


def _is_checked(kind: type[Any], name: str) -> bool:
    """Whether a class checks what a part of that name may be: dataclasses do not, nor is it done for private ones."""
    if issubclass(kind, BaseModel):
        return name not in kind.__private_attributes__
    return name in _fields(kind)


def _fields(kind: type[Any]) -> dict[str, FieldInfo]:
    if issubclass(kind, BaseModel):
        return kind.model_fields
    # pydantic's own function takes long to import. (A plain dataclass may inherit the fields of one of pydantic's.)
    own = "__is_pydantic_dataclass__" in vars(kind)
    return cast("dict[str, FieldInfo]", cast("Any", kind).__pydantic_fields__) if own else {}

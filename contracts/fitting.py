"""Fitting: what was stored of a pydantic model, for its class as it is now."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

from pydantic import BaseModel, ValidationError

from .alike import alike

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Whole: TypeAlias = tuple[dict[str, Any], list[str], dict[str, Any] | None, dict[str, Any] | None]
"""A model's fields, the names of those that nobody set, its further fields, and its private attributes."""


@dataclass(frozen=True)
class Fitting:
    """Fits what was stored to one class."""

    kind: type[BaseModel]

    def fit(
        self, stored: dict[str, Any], unset: Iterable[str], extra: dict[str, Any], private: dict[str, Any]
    ) -> Whole:
        """What is stored, for the class as it is now. Fields that it still has stay as they are, new ones get what its
        validators make of what is stored, or their defaults, and others are left out if it takes no extra ones. What a
        validator changes that sees the stored values before all others, is as the class makes it: that is how classes
        migrate. What private attributes had is kept.
        """
        known = self.kind.model_fields
        given = {**extra, **stored}
        changed = self._changed(given)
        made = self._made(given, changed, [name for name in known if name not in stored])
        fields = dict[str, Any]()
        for name, about in known.items():
            if name in stored and name not in changed:
                fields[name] = stored[name]
            elif made is not None:
                fields[name] = getattr(made, name)
            else:
                fields[name] = about.get_default(call_default_factory=True, validated_data=fields)
        left = [name for name in unset if name in fields and alike(fields[name], stored.get(name))]
        left += [name for name in known if name not in given and (made is None or name not in made.model_fields_set)]
        if made is not None:
            private = {**(made.__pydantic_private__ or {}), **private}
        return fields, left, self._further(given, changed, made), private or None

    def _further(self, given: dict[str, Any], changed: Set[str], made: BaseModel | None) -> dict[str, Any] | None:
        """The values that are no fields, if the class takes any."""
        if self.kind.model_config.get("extra") != "allow":
            return None
        extra = given if made is None else made.__pydantic_extra__ or {}
        kept = {name: item for name, item in given.items() if name not in changed}
        return {name: kept.get(name, item) for name, item in extra.items() if name not in self.kind.model_fields}

    def _changed(self, given: dict[str, Any]) -> Set[str]:
        """The names of what the class changes in stored values, adds, or takes away, before it looks at its fields."""
        every = given.keys() | self.kind.model_fields.keys()
        if self._validators("wrap"):
            return every
        seen: Any = self._before.validate_python(copy.deepcopy(given)) if self._validators("before") else given
        if seen is given or not isinstance(seen, Mapping):
            return set() if seen is given else every
        found = cast("Mapping[str, Any]", seen)
        return {name for name in every | found.keys() if not alike(given.get(name), found.get(name))}

    def _made(self, given: dict[str, Any], changed: Set[str], new: Sequence[str]) -> BaseModel | None:
        """What the class itself makes of what is stored. None if it has nothing to say about it, or refuses it and
        nothing is needed: validators may have been passed by when the value was made."""
        if not changed and not any(self._is_made(name, given) for name in new):
            return None
        try:
            return self._validated(given)
        except ValidationError:
            if changed or any(self.kind.model_fields[name].is_required() for name in new):
                raise
        return None

    def _validated(self, given: dict[str, Any]) -> BaseModel:
        try:
            return self.kind.model_validate(copy.deepcopy(given), by_alias=False, by_name=True)
        except ValidationError as error:
            gone = {each["loc"][0] for each in error.errors() if each["type"] == "extra_forbidden"}
            if len(gone) < error.error_count() or not gone <= given.keys() - self.kind.model_fields.keys():
                raise
        left = {name: item for name, item in given.items() if name not in gone}  # nothing asks for these any more
        return self.kind.model_validate(copy.deepcopy(left), by_alias=False, by_name=True)

    def _validators(self, *modes: str) -> list[Any]:
        every = self.kind.__pydantic_decorators__.model_validators.values()
        return [each.func for each in every if each.info.mode in modes]

    @cached_property
    def _before(self) -> TypeAdapter[Any]:
        """The validators that see values before all others."""
        from pydantic import BeforeValidator, TypeAdapter  # few processes meet such a class

        kind: Any = Any
        for validator in self._validators("before"):
            kind = Annotated[kind, BeforeValidator(validator)]
        return TypeAdapter(kind)

    def _is_made(self, name: str, given: dict[str, Any]) -> bool:
        """Whether a new field may get more than its bare default."""
        about, post = self.kind.model_fields[name], self.kind.model_post_init
        return (
            name in given
            or about.is_required()
            or bool(about.validate_default or self.kind.model_config.get("validate_default"))
            or bool(self._validators("after"))
            or (post is not BaseModel.model_post_init and post.__name__ != "init_private_attributes")
        )

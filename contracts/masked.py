"""Masked: secrets that pydantic has written as asterisks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, cast

from pydantic import BaseModel

from .errors import ContractViolation

MASK = "**********"


class Masked(ContractViolation):
    """A result holds a secret that JSON would replace by asterisks, and so do the framework's own copies of it."""


def masked(value: Any, written: Any, path: str = "") -> Iterator[str]:
    """The path of a secret that JSON would replace by asterisks. (A custom serializer may reveal it: then there is
    none.)"""
    if callable(getattr(value, "get_secret_value", None)):  # SecretStr, SecretBytes, Secret[int] or a user's own
        if written == MASK:
            yield path
        return
    if isinstance(value, BaseModel) or is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping) and isinstance(written, Mapping):
        said = cast("Mapping[str, Any]", written)
        for name, held in cast("Mapping[object, Any]", value).items():
            yield from masked(held, said.get(str(name)), f"{path}.{name}".lstrip("."))
    elif isinstance(value, list | tuple) and isinstance(written, list):
        pairs = zip(cast("Sequence[Any]", value), cast("Sequence[Any]", written), strict=False)
        for at, (held, said_of_it) in enumerate(pairs):
            yield from masked(held, said_of_it, f"{path}.{at}".lstrip("."))

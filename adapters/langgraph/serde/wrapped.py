"""Wrapped: a value in a state that LangGraph's serializer carries, because our codec does not know its type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....contracts.state_types import state_type


@dataclass(frozen=True, slots=True)
class Wrapped:
    """What the serializer made of a value. `types` has the module and name of each type that restoring it needs.

    Reading it restores nothing. A saver does that, with the types that it allows.
    """

    kind: str
    data: bytes
    types: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        named = ", ".join(".".join(name) for name in self.types)
        return f"<{named or self.kind}, {len(self.data)} bytes>"


def _dump(value: Wrapped) -> list[Any]:
    return [value.kind, value.data, [[*name] for name in value.types]]


def _load(stored: Any) -> Wrapped:
    kind, data, types = stored
    found = bytes(memoryview(data))  # bytes() of a number would be as many zeros
    return Wrapped(str(kind), found, tuple((str(module), str(name)) for module, name in types))


def register() -> None:
    """Register it, so that a timeline or a diff can show states that hold it. Does not import LangGraph."""
    state_type("langgraph.value", Wrapped, dump=_dump, load=_load)


register()

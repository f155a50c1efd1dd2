"""Named types: what LangGraph's msgpack was told to make again, and what of it can't be made any more."""

from __future__ import annotations

from collections import Counter
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol

_OPTIONS = ormsgpack.OPT_NON_STR_KEYS
# The codes of LangGraph's msgpack whose data begins with a type's module and name.
_TYPED = range(6)


def named_types(packed: bytes) -> Counter[tuple[str, ...]]:
    """The types that the data names, and how often. Makes no objects of them."""
    found = Counter[tuple[str, ...]]()

    def look(code: int, data: bytes) -> Any:
        inner = ormsgpack.unpackb(data, ext_hook=look, option=_OPTIONS)
        if code in _TYPED:
            found[str(inner[0]), str(inner[1])] += 1
        return 0

    ormsgpack.unpackb(packed, ext_hook=look, option=_OPTIONS)
    return found


def not_made(found: Counter[tuple[str, ...]], value: Any, serde: SerializerProtocol) -> str:
    """The first type of which an object was not made again; "" for none. (LangGraph returns a value that can't be
    restored as its data.)"""
    again, packed = serde.dumps_typed(value)
    made = Counter(name[-1] for name in named_types(packed).elements()) if again == "msgpack" else Counter[str]()
    wanted = Counter(name[-1] for name in found.elements())
    return min((".".join(name) for name in found if made[name[-1]] < wanted[name[-1]]), default="")

"""StrictSerializer: LangGraph's serializer for values from other databases. Only allowed types are restored, and what
can't be restored is an error, not a silently different value."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ....contracts.errors import Corrupted
from ..internals import SAFE_MSGPACK_TYPES
from ..serde.values import TypeName
from . import old_json

# The environment variable in which LangGraph looks for the key of an EncryptedSerializer.
KEY = "LANGGRAPH_AES_KEY"
_OPTIONS = ormsgpack.OPT_NON_STR_KEYS
# The codes of LangGraph's msgpack whose data begins with a type's module and name.
_TYPED = range(6)
# Where LangGraph had this class in 2024. The name still leads to it.
_MOVED = frozenset({("langgraph.constants", "Send")})
_KINDS = ("null", "bytes", "bytearray", "json", "msgpack")


class StrictSerializer(SerializerProtocol):
    """Restores safe types, and those in `allowed`. `Corrupted` names any other."""

    def __init__(self, allowed: Collection[TypeName]) -> None:
        self._allowed = SAFE_MSGPACK_TYPES | _MOVED | set(allowed)
        self._inner = JsonPlusSerializer(allowed_msgpack_modules=(*_MOVED, *allowed))

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The value as LangGraph stores it."""
        return self._inner.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value. `Corrupted` if it would come back as something else."""
        kind, packed = data
        if "+" in kind:
            raise Corrupted(f"it is encrypted: set {KEY} to the key with which LangGraph encrypted it")
        if kind not in _KINDS:
            raise Corrupted(f"it holds a value of kind {kind!r}, which is not restored: only {', '.join(_KINDS)} are")
        look = {"msgpack": _types, "json": old_json.types_in}.get(kind)
        found = look(packed) if look else Counter[TypeName]()
        unknown = sorted(".".join(name) for name in found.keys() - self._allowed)
        if unknown:
            raise Corrupted(f"it holds a {unknown[0]}, which is not restored unless allow= or --allow names it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # LangGraph's, about the old place
            value = old_json.load(packed) if kind == "json" else self._inner.loads_typed(data)
        if kind == "msgpack" and found:  # LangGraph returns a value that can't be restored as its data
            again, repacked = self._inner.dumps_typed(value)
            made = Counter(name[-1] for name in _types(repacked).elements()) if again == "msgpack" else Counter[str]()
            wanted = Counter(name[-1] for name in found.elements())
            lost = sorted(".".join(name) for name in found if made[name[-1]] < wanted[name[-1]])
            if lost:
                raise Corrupted(f"it holds a {lost[0]} that can't be made from what was stored")
        return value


def _types(packed: bytes) -> Counter[TypeName]:
    """The types that LangGraph's msgpack names, and how often. Makes no objects of them."""
    found = Counter[TypeName]()

    def look(code: int, data: bytes) -> Any:
        inner = ormsgpack.unpackb(data, ext_hook=look, option=_OPTIONS)
        if code in _TYPED:
            found[str(inner[0]), str(inner[1])] += 1
        return 0

    ormsgpack.unpackb(packed, ext_hook=look, option=_OPTIONS)
    return found

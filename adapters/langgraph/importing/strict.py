"""StrictSerializer: LangGraph's serializer for values from other databases. Only allowed types are restored, and what
can't be restored is an error, not a silently different value."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ....contracts.errors import Corrupted
from ..internals import SAFE_MSGPACK_TYPES
from ..serde.named_types import named_types, not_made
from ..serde.values import TypeName
from . import old_json

# The environment variable in which LangGraph looks for the key of an EncryptedSerializer.
KEY = "LANGGRAPH_AES_KEY"
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
        look = {"msgpack": named_types, "json": old_json.types_in}.get(kind)
        found = look(packed) if look else Counter[TypeName]()
        unknown = sorted(".".join(name) for name in found.keys() - self._allowed)
        if unknown:
            raise Corrupted(f"it holds a {unknown[0]}, which is not restored unless allow= or --allow names it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # LangGraph's, about the old place
            value = old_json.load(packed) if kind == "json" else self._inner.loads_typed(data)
        if kind == "msgpack" and found and (lost := not_made(found, value, self._inner)):
            raise Corrupted(f"it holds a {lost} that can't be made from what was stored")
        return value

"""Wrapper: values of a graph in a form that our codec packs, and back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from ....contracts.builtin_types import class_of
from ....contracts.codec import try_pack
from ....contracts.errors import BadSetup, Corrupted, Unserializable
from .endless import is_endless, refusal
from .values import KINDS, TypeName, Values
from .wrapped import Wrapped


class Wrapper:
    """Lets LangGraph's serializer carry what our codec can't, value by value, so that lists of such values still share
    what they have in common.

    Strict by default: objects of types that are not allowed are refused when they are put, and never made when they
    are read. A user's own serializer decides for itself.
    """

    def __init__(self, allowed: Collection[TypeName] = (), *, serde: SerializerProtocol | None = None) -> None:
        if isinstance(serde, EncryptedSerializer):
            raise BadSetup(
                "this saver does not use an EncryptedSerializer, which would leave most of a state readable: give it "
                "codec=batonpass.Codec(encrypt=...), or set BATONPASS_ENCRYPT_KEYS"
            )
        self._values = Values(allowed, advice="give the class, or the graph, to BatonpassSaver(allow=[...])")
        self._own = serde
        self.serde: SerializerProtocol = serde or self._values.serde

    @property
    def allowed(self) -> frozenset[TypeName]:
        """The types that may be restored besides those that always may."""
        return self._values.declared

    @property
    def is_strict(self) -> bool:
        """Whether it is this class that says what may be restored."""
        return self._own is None

    def wrap(self, value: Any, path: str) -> Any:
        """The value, with `Wrapped` in place of what our codec can't pack. `Unserializable` if that could not come
        back."""
        if try_pack(value) is not None:
            return value
        if is_endless(value):
            raise refusal(path)
        try:
            return self._wrapped(value, path)
        except RecursionError:
            raise refusal(path) from None

    def _part(self, value: Any, path: str) -> Any:
        return value if try_pack(value) is not None else self._wrapped(value, path)

    def _wrapped(self, value: Any, path: str) -> Any:
        kind = class_of(value)
        if kind is list:
            return [self._part(item, f"{path}[{number}]") for number, item in enumerate(value)]
        if kind is tuple:
            return tuple(self._part(item, f"{path}[{number}]") for number, item in enumerate(value))
        if kind is dict:
            pairs = cast("dict[Any, Any]", value).items()
            return {self._part(key, path): self._part(item, f"{path}[{key!r}]") for key, item in pairs}
        if self._own is None:
            if isinstance(value, BaseException):  # as LangGraph stores a node's error
                return repr(value)
            made, data, types = self._values.whole(value, path)
            return Wrapped(made, data, tuple((str(name[0]), str(name[1])) for name in types))
        try:
            made, data = self._own.dumps_typed(value)
        except (TypeError, ValueError) as error:
            raise Unserializable(f"{path} can't be saved: {error}", path=path) from None
        return Wrapped(made, bytes(data))

    def unwrap(self, value: Any) -> Any:
        """The value that `wrap` was given."""
        kind = class_of(value)
        if kind is Wrapped:
            return self._restored(value)
        if kind is list:
            return [self.unwrap(item) for item in value]
        if kind is tuple:
            return tuple(self.unwrap(item) for item in value)
        if kind is dict:
            pairs = cast("dict[Any, Any]", value).items()
            return {self.unwrap(key): self.unwrap(item) for key, item in pairs}
        return value

    def _restored(self, value: Wrapped) -> Any:
        if self._own is not None:
            return self._own.loads_typed((value.kind, value.data))
        if value.kind not in KINDS:
            raise Corrupted(f"a stored LangGraph value is of kind {value.kind!r}, which a strict saver never writes")
        missing = self._values.missing(value.types)
        if missing:
            raise BadSetup(
                f"a stored state holds a {'.'.join(missing)}, which this saver may not restore: import it and give "
                "its class to BatonpassSaver(allow=[...]); if the class has moved, import it in its old module too"
            )
        return self._values.load(value.kind, value.data, value.types)

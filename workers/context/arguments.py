"""Arguments: the digest of what a step, effect, question or fan-out is called with, by which a replay knows it again.

What a state may hold counts as the store packs it: a tuple is not a list, and a date is not its text. Contracts count
as the JSON that they travel as, because a newer release has nothing else of their older versions. Arguments need not be
storable: of an object that is not, only its class counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from hashlib import blake2b
from typing import Any, TypeAlias, cast

from pydantic import BaseModel
from pydantic_core import to_json

from ...contracts.codec import pack, try_pack
from ...contracts.contract import Contract, State
from ...contracts.upcasting import before_upcast

Before: TypeAlias = Callable[[BaseModel], dict[str, Any] | None]
"""The values that an upcast contract was stored with."""


def digest_of(arguments: object) -> bytes:
    """Differs between arguments that the store can tell apart."""
    return _digest(_typed(arguments, _nothing))


def same(recorded: bytes, digest: bytes, arguments: object) -> bool:
    """Whether a record has these arguments, given by their digest, also if an older release has recorded it."""
    return recorded == digest or recorded in older_digests(arguments)


def older_digests(arguments: object) -> tuple[bytes, ...]:
    """The digests that these arguments may have if an older release has recorded them: one of the app, with older
    contracts, or one of Batonpass, which told less apart."""
    return tuple(_older(arguments))


def _older(arguments: object) -> Iterator[bytes]:
    for form in (_typed, _untyped):
        for before in (_before, _nothing):
            with suppress(Exception):  # some have no such form, so no record has it
                yield _digest(form(arguments, before))


def _digest(form: object) -> bytes:
    return blake2b(pack(form), digest_size=16).digest()


def _nothing(value: BaseModel) -> None:
    """It counts as it is now."""


def _before(value: BaseModel) -> dict[str, Any] | None:
    return before_upcast(value) if isinstance(value, Contract) else None


def _typed(value: object, before: Before) -> Any:
    """Arguments as lists of what can be packed, which begin with what each of them was."""
    if isinstance(value, BaseModel):
        return _model(value, before)
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return ["dict", *([_typed(key, before), _typed(item, before)] for key, item in pairs)]
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return [kind, *(_typed(item, before) for item in cast("Sequence[object]", value))]
    if isinstance(value, set | frozenset):
        kind = "set" if isinstance(value, set) else "frozenset"
        return [kind, *sorted(pack(_typed(item, before)) for item in cast("Set[object]", value))]
    return value if try_pack(value) is not None else ["object", _class_of(value)]


def _model(value: BaseModel, before: Before) -> Any:
    older = before(value)
    if isinstance(value, State):
        values = value.as_dict() if older is None else older
        packed = try_pack(values)  # a large state takes a tenth of the time so
        return ["state", _typed(values, before) if packed is None else packed]
    if older is not None:
        return ["json", to_json(older).decode()]
    with suppress(Exception):  # its own serializers may raise anything
        held = value.model_dump(warnings=False)
        if not isinstance(value, Contract) and (packed := try_pack(held)) is not None:
            return ["model", packed]
        text, ordered = value.model_dump_json(), _in_order(held)
        return ["json", text if ordered == held else to_json(ordered, fallback=str).decode()]
    fields = {name: item for name, item in value.__dict__.items() if name in type(value).model_fields}
    return ["fields", _typed({**fields, **(value.__pydantic_extra__ or {})}, before)]


def _in_order(held: Any) -> Any:
    """A model's values with sets as lists, because their order is another one in each process."""
    if isinstance(held, dict):
        return {key: _in_order(item) for key, item in cast("dict[object, object]", held).items()}
    if isinstance(held, set | frozenset):
        return sorted((_in_order(item) for item in cast("Set[object]", held)), key=lambda i: to_json(i, fallback=str))
    if isinstance(held, list | tuple):
        kind = list[object] if isinstance(held, list) else tuple[object, ...]
        return kind(_in_order(item) for item in cast("Sequence[object]", held))
    return held


def _untyped(value: object, before: Before) -> Any:
    """Arguments as they were recorded until each of them said what it was."""
    if isinstance(value, BaseModel):
        older = before(value)
        return value.model_dump_json() if older is None else to_json(older).decode()
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return [[_untyped(key, before), _untyped(item, before)] for key, item in pairs]
    if isinstance(value, list | tuple):
        return [_untyped(item, before) for item in cast("Sequence[object]", value)]
    if isinstance(value, set | frozenset):
        return sorted(pack(_untyped(item, before)) for item in cast("Set[object]", value))
    return value if try_pack(value) is not None else f"<{_class_of(value)}>"


def _class_of(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"

"""Arguments: the digest of what a step, effect, question or fan-out is called with, by which a replay knows it again.

Models count as their JSON, as everything that older releases have recorded: their workers may go on with the same job.
What JSON lacks counts as it is. Arguments need not be storable: of an object that is not, only its class counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from hashlib import blake2b
from typing import Any, TypeAlias, cast

from pydantic import BaseModel
from pydantic_core import to_json

from ...contracts.codec import pack, try_pack
from ...contracts.contract import Contract
from ...contracts.upcasting import before_upcast
from .ordering import in_order, json_before, json_of
from .stand_ins import held_by

Form: TypeAlias = Callable[[BaseModel], Any]
"""What a model counts as."""


def digest_of(arguments: object) -> bytes:
    """Differs between arguments that differ as JSON."""
    return _digest(arguments, _as_json)


def same(recorded: bytes, digest: bytes, arguments: object) -> bool:
    """Whether a record has these arguments, given by their digest, also if an older release has recorded it."""
    return recorded == digest or recorded in older_digests(arguments)


def older_digests(arguments: object) -> tuple[bytes, ...]:
    """The digests that these arguments may have if an older release has recorded them: one of the app, with older
    contracts, or one of Batonpass, which wrote sets in any order."""
    return tuple(_older(arguments))


def _older(arguments: object) -> Iterator[bytes]:
    for form in (_as_stored, _as_written, _as_before):
        with suppress(Exception):  # some have no such form, so no record has it
            yield _digest(arguments, form)


def _digest(arguments: object, form: Form) -> bytes:
    return blake2b(pack(_plain(arguments, form)), digest_size=16).digest()


def _plain(value: object, form: Form) -> Any:
    """Arguments reduced to what can be compared in another process: values by value, other objects by type."""
    if isinstance(value, BaseModel):
        return form(value)
    if isinstance(value, dict):
        return [[_plain(key, form), _plain(item, form)] for key, item in cast("dict[object, object]", value).items()]
    if isinstance(value, list | tuple):
        return [_plain(item, form) for item in cast("Sequence[object]", value)]
    if isinstance(value, set | frozenset):
        return sorted(pack(_plain(item, form)) for item in cast("Set[object]", value))
    return value if try_pack(value) is not None else f"<{type(value).__module__}.{type(value).__qualname__}>"


def _as_json(value: BaseModel) -> Any:
    with suppress(Exception):  # its own serializers may raise anything
        return json_of(in_order(value, _rank))
    with suppress(Exception):
        value.model_dump_json(warnings=False)  # what it makes once and keeps may be had of sets only
        return json_of(in_order(value, _rank, kept=True), kept=True)
    return _plain(held_by(value), _as_json)


def _as_ordered(value: BaseModel) -> Any:
    """Of a copy that has no sets any more."""
    with suppress(Exception):
        return json_of(value)
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def _rank(item: object) -> tuple[bytes, bytes]:
    """By what the items of a set are sorted. Older releases know the first part, in which some objects are equal."""
    written = b""
    if not isinstance(item, BaseModel) and try_pack(item) is None:
        with suppress(Exception):
            written = to_json(item)
    return pack(_plain(item, _as_ordered)), written


def _as_stored(value: BaseModel) -> Any:
    """With the values that an upcast contract was stored with."""
    older = before_upcast(value) if isinstance(value, Contract) else None
    if older is None:
        return _as_json(value)
    with suppress(ValueError):  # of a `State`, which may hold more than JSON does
        return to_json(older).decode()
    return _plain(older, _as_json)


def _as_written(value: BaseModel) -> str:
    older = before_upcast(value) if isinstance(value, Contract) else None
    return value.model_dump_json() if older is None else to_json(older).decode()


def _as_before(value: BaseModel) -> Any:
    with suppress(Exception):
        return json_before(in_order(value, _rank))
    with suppress(Exception):
        value.model_dump_json(warnings=False)
        return json_before(in_order(value, _rank, kept=True))
    return _plain(held_by(value), _as_before)

"""State: a flow's state as plain values, and back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from ....contracts.errors import Unserializable
from ..values.contract_versions import Mark, marks_inside
from ..values.values import Values, plain

_COPIES = 5


def dump_state(state: Any, values: Values, flow: str) -> tuple[Any, list[Mark]]:
    """The state's fields as plain values, and where contracts are in them that don't say so themselves.
    `Unserializable` if it would not come back equal.

    Methods that run in parallel share the state. If one of them is in the middle of a change, the state is saved as it
    is then.
    """
    what = f"state of flow {flow}"
    state = _copied(state, what)
    if not isinstance(state, BaseModel):
        return values.dump(state, what), []
    if _comes_back(plain, state, values):
        return plain(state), marks_inside(state)
    stored = values.dump({name: getattr(state, name) for name in type(state).model_fields}, what)
    if _comes_back(lambda _: stored, state, values):
        return stored, []
    raise Unserializable(
        f"{what} does not come back equal from its fields: keep plain values and models in it, no private attributes",
        path=what,
    )


def load_state(state: Any, stored: Any, values: Values) -> Any:
    """The stored state as an object like `state`, the flow's fresh one."""
    loaded = values.load(stored)
    if not isinstance(state, BaseModel):
        return loaded
    return type(state).model_validate(loaded, by_alias=False, by_name=True)


def _comes_back(form: Callable[[BaseModel], Any], state: BaseModel, values: Values) -> bool:
    """Whether a state in this form loads equal. False if JSON loses something: bytes, or a subclass in a field."""
    try:
        return bool(load_state(state, form(state), values) == state)
    except (ValueError, TypeError, AttributeError):
        return False


def _copied(state: Any, what: str) -> Any:
    for _ in range(_COPIES):
        try:
            return copy.deepcopy(state)
        except RuntimeError:  # a dict was changed by a parallel method while it was copied
            continue
        except TypeError as error:
            raise Unserializable(
                f"{what} has a value that can't be copied, and so can't be saved ({error}): keep such objects in "
                "attributes of the flow",
                path=what,
            ) from None
    raise Unserializable(f"{what} can't be saved, because a parallel method changes it all the time", path=what)

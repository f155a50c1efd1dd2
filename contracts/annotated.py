"""Annotated: which of the two contexts a function says that it takes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from .arity import signature

_NAMES = ("Context", "SyncContext")
_HOME = "batonpass.workers.context.context"


def annotated_context(fn: Callable[..., Any]) -> str | None:
    """The name of the context's class that annotates a function's second parameter. None if another class does, or
    nothing. What stands for another function may show annotations that are not its own, so it says nothing."""
    plain: Any = getattr(fn, "func", fn)  # a partial's function
    if not (inspect.isfunction(plain) or inspect.ismethod(plain)) or hasattr(plain, "__wrapped__"):
        return None
    annotations = [parameter.annotation for parameter in signature(fn).parameters.values()]
    if len(annotations) < 2:
        return None
    said = annotations[1]
    return _looked_up(said, getattr(plain, "__globals__", {})) if isinstance(said, str) else _ours(said)


def _looked_up(text: str, known: dict[str, Any]) -> str | None:
    """What an annotation names that Python has kept as text. It is not evaluated: many exist for type checkers only,
    and `bp.Context` would load what a declaration does not need."""
    module, _, name = text.rpartition(".")
    if not module:
        return _ours(known.get(name))
    return name if name in _NAMES and known.get(module) is sys.modules["batonpass"] else None


def _ours(annotation: Any) -> str | None:
    ours = isinstance(annotation, type) and annotation.__module__ == _HOME and annotation.__name__ in _NAMES
    return annotation.__name__ if ours else None

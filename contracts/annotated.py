"""Annotated: which of the two contexts a function says that it takes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from .arity import signature, takes_context

_PASSED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMES = ("Context", "SyncContext")
_HOME = "batonpass.workers.context.context"


def annotated_context(fn: Callable[..., Any]) -> str | None:
    """The name of the context's class that annotates a function's second parameter. None if another class does, or
    nothing, or if a worker does not pass it. What stands for another function may show annotations that are not its
    own, so it says nothing."""
    plain: Any = getattr(fn, "func", fn)  # a partial's function
    if not (inspect.isfunction(plain) or inspect.ismethod(plain)) or hasattr(plain, "__wrapped__"):
        return None
    passed = [each for each in signature(fn).parameters.values() if each.kind in _PASSED]
    if len(passed) < 2 or not takes_context(fn, 1):
        return None
    said = passed[1].annotation
    if not isinstance(said, str):
        return _ours(said)
    is_local = "<locals>" in plain.__qualname__  # what it names may be a local name, which nobody can look up
    return None if is_local else _looked_up(said, getattr(plain, "__globals__", {}))


def _looked_up(text: str, known: dict[str, Any]) -> str | None:
    """What an annotation names that Python has kept as text. It is not evaluated: many exist for type checkers only,
    and `bp.Context` would load what a declaration does not need."""
    module, _, name = text.rpartition(".")
    if not module:
        return _ours(known.get(name))
    return name if name in _NAMES and known.get(module) is sys.modules.get("batonpass", known) else None


def _ours(annotation: Any) -> str | None:
    ours = isinstance(annotation, type) and annotation.__module__ == _HOME and annotation.__name__ in _NAMES
    return annotation.__name__ if ours else None

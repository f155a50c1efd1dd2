"""Annotated: which of the two contexts a function says that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .arity import signature, takes_context
from .context_names import looked_up, ours

_PASSED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


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
        return ours(said)
    is_local = "<locals>" in plain.__qualname__  # what it names may be a local name, which nobody can look up
    return None if is_local else looked_up(said, getattr(plain, "__globals__", {}))

"""Arity: how many arguments a user's function takes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from .context_names import holds_ours

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def signature(fn: Callable[..., Any]) -> inspect.Signature:
    """A function's signature. Its annotations may name what only type checkers see: since Python 3.14 that is no error
    of the function's, but one when they are read."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(fn, annotation_format=Format.FORWARDREF)
    return inspect.signature(fn)


def takes(fn: Callable[..., Any], number: int) -> bool:
    """Whether a function can be called with so many positional arguments. A builtin that doesn't say, such as `dict`,
    gets one."""
    try:
        signature(fn).bind(*[None] * number)
    except ValueError:
        return number == 1
    except TypeError:
        return False
    return True


def takes_context(fn: Callable[..., Any], place: int) -> bool:
    """Whether a function that has so many parameters of its own before takes the context behind them. A parameter with
    a default is the user's (`depth=3`), unless it is named or annotated as one."""
    if not takes(fn, place + 1):
        return False
    try:
        found = [each for each in signature(fn).parameters.values() if each.kind in _POSITIONAL]
    except ValueError:
        return True
    if len(found) <= place:  # *args: a decorator's, around a function that may take it
        return place > 0
    meant = found[place]
    is_named = meant.name in ("ctx", "context")
    return meant.default is meant.empty or is_named or holds_ours(meant.annotation, _globals_of(fn))


def _globals_of(fn: Callable[..., Any]) -> dict[str, Any]:
    """What a function's annotations may name. An object's are those of its `__call__`."""
    plain: Any = inspect.unwrap(fn.func if isinstance(fn, partial) else fn)
    found: Any = plain if hasattr(plain, "__globals__") else type(plain).__call__
    return getattr(found, "__globals__", {})


def is_async(fn: Callable[..., Any]) -> bool:
    """Whether calling it gives what is to be awaited. An object is asked for its `__call__`. A plain wrapper is not
    looked through: it may run an async function by itself."""
    plain: Any = fn
    while isinstance(plain, staticmethod | partial):
        plain = plain.__func__ if isinstance(plain, staticmethod) else plain.func
    kind: type[Any] = plain.__class__
    return inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(kind.__call__)

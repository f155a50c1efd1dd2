"""Arity: how many arguments a user's function takes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any


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


def is_async(fn: Callable[..., Any]) -> bool:
    """Whether calling it gives what is to be awaited. An object is asked for its `__call__`. A plain wrapper is not
    looked through: it may run an async function by itself."""
    plain: Any = fn
    while isinstance(plain, staticmethod | partial):
        plain = plain.__func__ if isinstance(plain, staticmethod) else plain.func
    kind: type[Any] = plain.__class__
    return inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(kind.__call__)

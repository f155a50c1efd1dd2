"""Arity: how many arguments a user's function takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def takes(fn: Callable[..., Any], number: int) -> bool:
    """Whether a function can be called with so many positional arguments. A builtin that doesn't say, such as `dict`,
    gets one."""
    try:
        inspect.signature(fn).bind(*[None] * number)
    except ValueError:
        return number == 1
    except TypeError:
        return False
    return True

"""Understood: reading a stored record gives a value or one of our errors, whatever the record holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from .errors import BatonpassError, Corrupted

P = ParamSpec("P")
R = TypeVar("R")


def understood(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a reader raise `Corrupted` where the record has another form than it expects.

    `what` names the record, formatted with the reader's arguments: "checkpoint {0.id}".
    """

    def decorate(read: Callable[P, R]) -> Callable[P, R]:
        @wraps(read)
        def reading(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return read(*args, **kwargs)
            except BatonpassError:
                raise
            except Exception as error:  # a malformed record may fail in any way
                told = " ".join(str(error).split())[:200]
                raise Corrupted(
                    f"{what.format(*args, **kwargs)} is not what Batonpass writes ({type(error).__name__}: {told}): "
                    "it is damaged, or something else wrote it"
                ) from None

        return reading

    return decorate

"""Raised: looks at an error of anybody's code, which may do anything when it is looked at."""

from __future__ import annotations


def described(error: BaseException) -> str:
    """An error's class and text."""
    name = type(error).__name__
    try:
        said = str(error)
    except (Exception, SystemExit) as broken:
        said = f"(its text can't be read: {type(broken).__name__})"
    return f"{name}: {said}" if said else name

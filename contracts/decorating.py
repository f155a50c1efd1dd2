"""Decorating: an `@app.agent` that was not told its name or its contract says what to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from .errors import BadSetup

Decorator = TypeVar("Decorator", bound=Callable[..., Any])


def told(decorator: Decorator) -> Decorator:
    """A decorator of `App` that says in our words what Python would call a missing argument."""

    @wraps(decorator)
    def checked(app: object, *given: Any, **options: Any) -> Any:
        name = given[0] if given else options.get("name")
        if len(given) > 1 or not isinstance(name, str) or "accepts" not in options:
            raise BadSetup(_refused(f"@app.{decorator.__name__}", given, options))
        return decorator(app, *given, **options)

    return cast("Decorator", checked)


def _refused(verb: str, given: Sequence[Any], options: Mapping[str, Any]) -> str:
    name = given[0] if given else options.get("name")
    called = name if isinstance(name, str) else getattr(name, "__name__", "research")
    if len(given) > 1:
        why = "takes only its name as a positional argument"
    elif isinstance(name, str):
        why = "lacks accepts="
    else:
        why = "lacks its name" if "accepts" in options else "lacks its name and accepts="
    return f'{verb} {why}: write {verb}("{called}", accepts=Topic, ...), where Topic is the contract it accepts'

"""Context names: whether a parameter's annotation is one of the two contexts."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, get_args

_NAMES = ("Context", "SyncContext")
_HOME = "batonpass.workers.context.context"


def ours(annotation: Any) -> str | None:
    """The name of the context's class that an annotation is."""
    is_ours = isinstance(annotation, type) and annotation.__module__ == _HOME and annotation.__name__ in _NAMES
    return annotation.__name__ if is_ours else None


def looked_up(text: str, known: Mapping[str, Any]) -> str | None:
    """What an annotation names that Python has kept as text. It is not evaluated: many exist for type checkers only,
    and `bp.Context` would load what a declaration does not need."""
    module, _, name = text.rpartition(".")
    if not module:
        return ours(known.get(name))
    return name if name in _NAMES and known.get(module) is sys.modules.get("batonpass", known) else None


def holds_ours(annotation: Any, known: Mapping[str, Any]) -> bool:
    """Whether one of them is in an annotation, as in `Optional[Context]`. A name in text counts as what it is known as,
    or if only type checkers know it, as what it says."""
    text: Any = getattr(annotation, "__forward_arg__", annotation)
    if isinstance(text, str):
        return any(_is_ours(word, known) for word in re.findall(r"[\w.]+", text))
    return ours(annotation) is not None or any(holds_ours(part, known) for part in get_args(annotation))


def _is_ours(word: str, known: Mapping[str, Any]) -> bool:
    if word.partition(".")[0] in known:
        return looked_up(word, known) is not None
    return word.rpartition(".")[2] in _NAMES

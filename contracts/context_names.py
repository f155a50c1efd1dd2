"""Context names: whether a parameter's annotation is one of the two contexts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

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
    """Whether one of them is what an annotation stands for, as in `Optional[Context]`. A name in text counts as what it
    is known as, or if only type checkers know it, as what it says."""
    text: Any = getattr(annotation, "__forward_arg__", annotation)
    if isinstance(text, str):
        try:
            return any(_is_ours(ast.unparse(each), known) for each in _meant(ast.parse(text.strip(), mode="eval").body))
        except SyntaxError:
            return False
    of, args = get_origin(annotation), get_args(annotation)
    if of in (Union, UnionType, Annotated):
        return any(holds_ours(each, known) for each in (args[:1] if of is Annotated else args))
    return ours(annotation) is not None


def _meant(read: ast.expr) -> Iterator[ast.expr]:
    """The names that an annotation in text stands for."""
    if isinstance(read, ast.BinOp):
        yield from (*_meant(read.left), *_meant(read.right))
    elif isinstance(read, ast.Subscript):
        of = ast.unparse(read.value).rpartition(".")[2]
        parts = read.slice.elts if isinstance(read.slice, ast.Tuple) else [read.slice]
        for each in parts if of in ("Optional", "Union") else parts[: of == "Annotated"]:
            yield from _meant(each)
    elif isinstance(read, ast.Constant) and isinstance(read.value, str):  # quoted, in a text as a whole
        yield from _meant(ast.parse(read.value.strip(), mode="eval").body)
    elif isinstance(read, ast.Name | ast.Attribute):
        yield read


def _is_ours(word: str, known: Mapping[str, Any]) -> bool:
    if word.partition(".")[0] in known:
        return looked_up(word, known) is not None
    return word.rpartition(".")[2] in _NAMES

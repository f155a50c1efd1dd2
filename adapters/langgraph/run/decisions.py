"""Decisions: what LangChain's middleware (HumanInTheLoopMiddleware) accepts for the calls that it asks about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..serde.plain import readable

# The decisions that need only a word, and what the others need besides.
_WORDS = ("approve", "reject")
_MORE = [
    {"if": {"properties": {"type": {"const": kind}}}, "then": {"properties": {name: what}, "required": [name]}}
    for kind, name, what in (
        ("edit", "edited_action", {"type": "object", "required": ["name", "args"]}),
        ("respond", "message", {"type": "string"}),
    )
]


def kinds_of(question: Any) -> tuple[Any, ...]:
    """The kinds of decisions that it allows, for any of the calls. Empty if the question is not from it."""
    return tuple(dict.fromkeys(kind for allowed in _reviews(question) for kind in allowed))


def schema_of(question: Any) -> dict[str, Any] | None:
    """The schema of an answer: a decision for each call, or one word for all of them. The middleware raises on any
    other answer, in every attempt. None if the question is not from it.

    The examples begin an answer of each kind, because not every kind is just a word.
    """
    reviews = _reviews(question)
    if not reviews:
        return None
    each = [
        {"type": "object", "properties": {"type": {"enum": r}}, "required": ["type"], "allOf": _MORE} for r in reviews
    ]
    made = {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
    whole = {"type": "object", "properties": {"decisions": made}, "required": ["decisions"]}
    words = [word for word in _WORDS if all(word in allowed for allowed in reviews)]
    return {"if": {"type": "string"}, "then": {"enum": words}, "else": whole, "examples": _examples(question, reviews)}


def whole(answer: Any, question: Any) -> Any:
    """An answer. If it is one word for all calls of that middleware, written out as a decision for each."""
    word = isinstance(answer, str) and answer in _WORDS
    reviews = _reviews(readable(question)) if word else []
    return {"decisions": [{"type": answer} for _ in reviews]} if reviews else answer


def _reviews(question: Any) -> list[list[Any]]:
    """The kinds that it allows for each call that it asks about."""
    reviews = cast("Mapping[str, Any]", question).get("review_configs") if isinstance(question, Mapping) else None
    return [
        list(cast("Mapping[str, Any]", review).get("allowed_decisions", ()))
        for review in (cast("Sequence[Any]", reviews) if isinstance(reviews, list) else ())
        if isinstance(review, Mapping)
    ]


def _examples(question: Mapping[str, Any], reviews: list[list[Any]]) -> list[Any]:
    """An answer of each kind, with the calls as they are. A call that doesn't allow it gets its first kind."""
    asked = question.get("action_requests")
    calls = cast("Sequence[Any]", asked) if isinstance(asked, list) else ()
    if len(calls) != len(reviews) or not all(reviews) or not all(isinstance(call, Mapping) for call in calls):
        return []
    each = list(zip(calls, reviews, strict=True))
    return [
        {"decisions": [_decision(kind if kind in allowed else allowed[0], call) for call, allowed in each]}
        for kind in kinds_of(question)
    ]


def _decision(kind: Any, call: Mapping[str, Any]) -> dict[str, Any]:
    if kind == "edit":
        return {"type": kind, "edited_action": {"name": call.get("name"), "args": call.get("args")}}
    return {"type": kind} if kind == "approve" else {"type": kind, "message": ""}

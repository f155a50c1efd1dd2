"""Which functions get the context: those that take it, and none whose parameter is meant for something else."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional

import pytest

import batonpass as bp
from batonpass import Context as Ours
from batonpass.contracts.arity import takes_context

PAYLOAD: dict[str, Callable[..., Any]] = {
    "must be given": lambda payload, what: None,
    "named": lambda payload, ctx=None: None,
    "of a decorator": lambda *args: None,
    "and more": lambda payload, ctx, *more, depth=3: None,
}
WITHOUT: dict[str, Callable[..., Any]] = {
    "the payload alone": lambda payload: None,
    "a default": lambda payload, depth=3: None,
    "of a partial": functools.partial(lambda payload, model: None, model="m"),
    "by name alone": lambda payload, *, ctx=None: None,
    "of a builtin": dict,
}


class SearchContext:
    """Another's, whose name is alike."""


def annotated(annotation: Any) -> Callable[..., Any]:
    def fn(payload: Any, where: Any = None) -> None: ...

    fn.__annotations__["where"] = annotation
    return fn


AS_OPTIONAL: Any = Optional[bp.Context]  # noqa: UP045 - which is not the same object
OURS = [
    *(bp.Context, bp.SyncContext, bp.Context | None, AS_OPTIONAL, Annotated[bp.SyncContext | None, "here"]),
    *("bp.Context", "bp.SyncContext | None", "Optional[bp.Context]", "Ours | None", Optional["Ours"]),
    *("'bp.Context'", "Optional['bp.Context']", "Annotated['bp.Context | None', 'here']"),  # quoted, and kept as text
    *("Context | None", "batonpass.Context"),  # which are imported for type checkers only
]
OTHERS = [
    *(int, SearchContext, SearchContext | None, Literal["Context"], list[bp.Context], Callable[..., bp.Context]),
    *(Annotated[int, "the Context"], "SearchContext", "SearchContext | None", "pytest.Context", "int", "not a type"),
    *("Literal['Context']", "list[Context]", "Callable[[bp.Context], None]", "Annotated[int, Context]"),
    *("'SearchContext'", "list['bp.Context']", "Optional['not a type']"),
]


@pytest.mark.parametrize("fn", PAYLOAD.values(), ids=PAYLOAD)
def test_it_is_given(fn: Callable[..., Any]) -> None:
    assert takes_context(fn, 1)


@pytest.mark.parametrize("annotation", OURS, ids=str)
def test_it_is_given_to_what_is_annotated_so(annotation: Any) -> None:
    assert takes_context(annotated(annotation), 1)


@pytest.mark.parametrize("annotation", OTHERS, ids=str)
def test_others_of_a_name_alike_are_the_users(annotation: Any) -> None:
    assert not takes_context(annotated(annotation), 1)


@pytest.mark.parametrize("fn", WITHOUT.values(), ids=WITHOUT)
def test_it_is_not_given(fn: Callable[..., Any]) -> None:
    assert not takes_context(fn, 1)


@pytest.mark.parametrize(
    ("fn", "gets"),
    [
        (lambda: None, False),
        (lambda ctx: None, True),
        (lambda ctx=None: None, True),
        (lambda model="small": None, False),
        (lambda model="small", ctx=None: None, False),
        (lambda *args: None, False),
    ],
)
def test_factories(fn: Callable[..., Any], gets: bool) -> None:
    assert takes_context(fn, 0) is gets


async def test_a_default_stays() -> None:
    app = bp.App("desk")

    @app.agent("a", accepts=bp.State, returns=bp.State)
    def a(state: bp.State, depth: int = 3) -> bp.State:
        return bp.State(depth=depth)

    async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator):
        job = await coordinator.submit("a", bp.State(), returns=bp.State)
        assert dict(await job.result(timeout=30)) == {"depth": 3}

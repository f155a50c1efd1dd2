"""An agent whose function takes the other kind of context is refused where it is declared, not in a job's middle.

Here annotations are kept as text. tests/test_wrong_context_evaluated.py is for those that are evaluated."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import batonpass as bp
from batonpass import Context, SyncContext
from batonpass.workers.context.base import BaseContext

if TYPE_CHECKING:
    from nowhere import Context as Unseen  # type: ignore[import-not-found]


class Note(bp.Contract, name="wrong_context.note"):
    text: str


def plain(note: Note, ctx: bp.Context) -> Note:
    return note


def plain_by_name(note: Note, ctx: Context) -> Note:
    return note


async def waits(note: Note, ctx: bp.SyncContext) -> Note:
    return note


async def waits_by_name(note: Note, ctx: SyncContext) -> Note:
    return note


class Desk:
    def plain(self, note: Note, ctx: bp.Context) -> Note:
        return note

    async def fits(self, note: Note, ctx: bp.Context) -> Note:
        return note


def with_more(more: int, note: Note, ctx: bp.Context) -> Note:
    return note


def declare(fn: Callable[..., Any]) -> None:
    bp.App("wrong").agent("a", accepts=Note, returns=Note)(fn)


@pytest.mark.parametrize("fn", [plain, plain_by_name, Desk().plain, functools.partial(with_more, 1)])
def test_a_plain_def_that_expects_to_await(fn: Callable[..., Any]) -> None:
    with pytest.raises(
        bp.BadSetup,
        match=r"agent 'a': its function is a plain def, which gets a SyncContext, but its second parameter is "
        r"annotated as Context: annotate it as batonpass\.SyncContext, or make it an async def",
    ):
        declare(fn)


@pytest.mark.parametrize("fn", [waits, waits_by_name])
def test_an_async_def_that_expects_not_to(fn: Callable[..., Any]) -> None:
    with pytest.raises(bp.BadSetup, match=r"an async def, which gets a Context, but .*: annotate it as batonpass.Con"):
        declare(fn)


def base(note: Note, ctx: BaseContext) -> Note:
    return note


def unseen(note: Note, ctx: Unseen) -> Note:
    return note


def either(note: Note, ctx: bp.Context | bp.SyncContext) -> Note:
    return note


def only_by_name(note: Note, *, ctx: bp.Context | None = None) -> Note:
    return note


async def bound(note: Note, ctx: bp.SyncContext | None) -> Note:
    return note


def _nested() -> Callable[..., Any]:

    def nested(note: Note, ctx: Context) -> Note:
        return note

    return nested


def unannotated(note: Note, ctx):  # type: ignore[no-untyped-def]
    return note


def no_context(note: Note) -> Note:
    return note


async def inner(note: Note, ctx: bp.Context) -> Note:
    return note


@functools.wraps(inner)
def in_its_own_loop(note: Note, ctx: Any) -> Any:
    """Shows the annotations of what it wraps, and is not async."""
    raise NotImplementedError


class Called:
    def __call__(self, note: Note, ctx: bp.SyncContext) -> Note:
        return note


@pytest.mark.parametrize(
    "fn",
    [
        *(base, unseen, either, unannotated, no_context, inner, in_its_own_loop, Desk().fits, Called(), print),
        *(only_by_name, _nested(), functools.partial(bound, ctx=None)),
    ],
)
def test_all_others_are_taken(fn: Callable[..., Any]) -> None:
    declare(fn)


def test_nothing_is_loaded_for_it() -> None:
    """Declaring an app needs no event loop."""
    code = (
        "from __future__ import annotations\nimport sys\nimport batonpass as bp\n"
        "class Note(bp.Contract, name='n'): ...\n"
        "@bp.App('x').agent('a', accepts=Note, returns=Note)\n"
        "async def a(note: Note, ctx: bp.Context) -> Note: ...\n"
        "assert 'batonpass.workers.context.context' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

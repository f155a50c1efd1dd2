"""A saver's thread that is forked to a graph whose state, or what is in it, is generic: what stands for type variables
may be said in brackets, or by a class that binds a base's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NotRequired, TypedDict, TypeVar

import pytest
from langgraph.graph import START, StateGraph
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.run.declared import Another, as_declared

pytestmark = pytest.mark.capability("langgraph")
T = TypeVar("T")
U = TypeVar("U")


class Note(BaseModel):
    text: str


class State(BaseModel, Generic[T]):
    items: list[T] = []
    one: T | None = None
    plain: dict[str, Any] = {}
    text: str = ""


class NoteState(State[Note]):
    more: int = 0


class Page(TypedDict, Generic[T]):
    items: list[T]
    one: NotRequired[T]


class NotePage(Page[Note]):
    plain: NotRequired[dict[str, Any]]
    text: NotRequired[str]


class Pages(TypedDict, Generic[T, U]):
    page: Page[T]
    by_name: dict[str, U]


class NotePages(Pages[int, U]):
    of: U


class Rebound(Page[Note], Generic[T]):
    other: T


class Quoted(Page["list[Note]"]):
    n: NotRequired[int]


class Lists(Page[list[T]], Generic[T]):
    more: list[T]


class NoteLists(Lists[Note]):
    pass


class Rows(BaseModel, Generic[T]):
    """LangGraph finds no class in the type of `items`."""

    items: Sequence[T] = ()
    one: T | None = None
    plain: dict[str, Any] = {}
    text: str = ""


@dataclass
class Box(Generic[T]):
    one: T
    items: list[T] = field(default_factory=list[T])


@dataclass
class NoteBox(Box[Note]):
    plain: dict[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""


@dataclass
class OtherBox(Box[U], Generic[U, T]):
    other: T | None = None


@dataclass
class Further(NoteBox):
    n: int = 0


class Book(TypedDict):
    """It is generic only further in."""

    items: list[NotePage]
    one: Box[Note]
    plain: dict[str, Any]
    text: str


class Asked(bp.Contract, name="fork-generic.asked"):
    text: str


class Told(bp.Contract, name="fork-generic.told"):
    keys: list[str]


TEXT = {"text": "a"}
NOTE = Note(text="a")


@pytest.mark.parametrize(
    ("value", "hint", "made"),
    [
        ({"one": TEXT, "items": [TEXT], "plain": TEXT}, NoteBox, NoteBox(NOTE, [NOTE], TEXT)),
        ({"one": TEXT, "items": [TEXT], "n": 1}, Further, Further(NOTE, [NOTE], n=1)),
        ({"one": TEXT, "other": 1}, OtherBox[Note, int], OtherBox(NOTE, other=1)),
        ({"one": 1, "other": TEXT}, OtherBox[int, Note], OtherBox(1, other=NOTE)),
        ({"items": [TEXT], "plain": TEXT}, NotePage, {"items": [NOTE], "plain": TEXT}),
        ({"items": [TEXT], "other": 1}, Rebound[int], {"items": [NOTE], "other": 1}),
        ({"items": [[TEXT]]}, Quoted, {"items": [[NOTE]]}),
        ({"items": [[TEXT]], "more": [TEXT]}, NoteLists, {"items": [[NOTE]], "more": [NOTE]}),
        (
            {"page": {"items": [1]}, "by_name": {"a": TEXT}, "of": TEXT},
            NotePages[Note],
            {"page": {"items": [1]}, "by_name": {"a": NOTE}, "of": NOTE},
        ),
        ({"one": {"items": [TEXT]}}, Box[NotePage], Box({"items": [NOTE]})),
        ({"items": [TEXT]}, State[Note], State[Note](items=[NOTE])),
        ({"items": [TEXT]}, NoteState, NoteState(items=[NOTE])),
    ],
)
def test_what_a_base_binds_is_made(value: Any, hint: Any, made: Any) -> None:
    found = as_declared(value, hint)
    assert (found, type(found)) == (made, type(made))


@pytest.mark.parametrize(
    ("value", "hint"),
    [({"one": TEXT}, OtherBox), ({"page": {"items": [1]}, "by_name": {"a": TEXT}, "of": 1}, NotePages)],
)
def test_what_nothing_stands_for_is_left_out(value: Any, hint: Any) -> None:
    """It may have been an object."""
    with pytest.raises(Another):
        as_declared(value, hint)


ALL: dict[str, Any] = {"one": NOTE, "items": [NOTE], "plain": {"a": [1]}, "text": "new"}
PLAIN = {**ALL, "one": TEXT, "items": [TEXT]}


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        (State[Note], State[Note](**ALL)),
        (NoteState, NoteState(**ALL)),
        (Rows[Note], Rows[Note](**ALL)),
        (NotePage, ALL),
        (NoteBox, NoteBox(**ALL)),
        (Book, {**ALL, "items": [{"items": [NOTE]}], "one": Box(NOTE)}),
        # It isn't known what stands there. So it comes as it is kept, which is all that pydantic needs.
        (State, State(**PLAIN)),
    ],
)
async def test_a_generic_state_arrives(schema: Any, made: Any, store_url: str, thread: str) -> None:
    """Also what the graph's own saver couldn't restore, because LangGraph doesn't find its class: pydantic makes it."""
    seen: list[Any] = []
    begun = made if schema is Book else ALL

    def graph() -> Any:
        return StateGraph(schema).add_node("see", lambda state: seen.append(state)).add_edge(START, "see")

    app = bp.App("fork-generic")
    app.langgraph("sees", accepts=Asked, returns=Told, retries=1, leave=lambda _: Told(keys=[]))(graph)
    with BatonpassSaver.from_url(store_url, allow=[Note, Box]) as saver:
        graph().compile(checkpointer=saver).invoke({**begun, "text": "old"}, {"configurable": {"thread_id": thread}})
    async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator):
        last, *_ = await coordinator.timeline(thread)
        job = await coordinator.fork(last.id, agent="sees", payload=Asked(text="new"), returns=Told)
        await job.result(timeout=60)
    assert seen[1] == made

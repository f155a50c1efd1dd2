"""A saver's thread that is forked to a graph of the same state: all that an honest state has arrives, as declared."""

from __future__ import annotations

import datetime as dt
import operator
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypedDict, TypeVar

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.run.declared import Another, as_declared

if TYPE_CHECKING:
    from nowhere import Unknown  # type: ignore[import-not-found]

pytestmark = pytest.mark.capability("langgraph")
T = TypeVar("T")


class Note(BaseModel):
    text: str


class Longer(Note):
    more: int = 0


class Tags(BaseModel):
    tags: set[str] = set()
    pair: tuple[int, int] = (0, 0)
    said: list[AnyMessage] = []
    place: Path = Path("/")


class Named(BaseModel):
    name: str = Field(alias="theName")


class Colour(Enum):
    RED = "red"


class Word(StrEnum):
    A = "a"


class Pair(NamedTuple):
    x: int
    y: int


class Task(TypedDict):
    title: str
    status: Literal["todo", "done"]
    at: NotRequired[dt.datetime]
    steps: Sequence[str]
    price: Decimal


class Node(TypedDict):
    name: str
    note: NotRequired[Note]
    children: list[Node]


class Lines(TypedDict):
    lines: list[AnyMessage]


class Hidden(TypedDict):
    of: Unknown


class Text(TypedDict):
    text: str


class Doc(TypedDict):
    doc: Note
    page: NotRequired[int]


class Titled(TypedDict):
    doc: dict[str, str]
    title: str


class First(TypedDict):
    kind: Literal["one"]
    of: dict[str, str]


class Second(TypedDict):
    kind: Literal["two"]
    of: Note


class Either(TypedDict):
    inner: list[Either | Or]


class Or(TypedDict):
    inner: list[Either | Or]


class Page(TypedDict, Generic[T]):
    items: list[T]
    first: NotRequired[T | None]


@dataclass
class Box(Generic[T]):
    item: T


@dataclass
class Boxes(Box[T]):
    more: list[T]


class Reply(BaseModel, Generic[T]):
    of: T


@dataclass
class Replies(Generic[T]):
    one: T
    reply: Reply  # type: ignore[type-arg]


@dataclass
class Worker:
    note: Note
    client: Unknown | None = None


@dataclass
class Done:
    task: Task
    on: dt.date
    took: dt.timedelta
    seen: frozenset[str]
    colour: Colour
    nodes: list[Node]


@dataclass
class Twice:
    once: int
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        self.twice = self.once * 2


TASK = Task(title="a", status="todo", at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC), steps=["b"], price=Decimal("1.5"))
NODE = Node(name="a", children=[Node(name="b", children=[]), Node(name="c", note=Note(text="d"), children=[])])
SAID: list[Any] = [HumanMessage("hi", id="1"), AIMessage("", id="2", tool_calls=[{"name": "a", "args": {}, "id": "3"}])]


class Honest(TypedDict, total=False):
    task: Task
    tasks: Annotated[list[Task], operator.add]
    node: Node
    nodes: list[Node]
    lines: Lines
    hidden: Hidden
    history: Annotated[list[AnyMessage], add_messages]
    one: BaseMessage
    tags: Tags
    many: list[Tags]
    done: Done
    queue: deque[Note]
    by_name: dict[str, tuple[Note, int]]
    named: Named
    note: Annotated[NotRequired[Note | None], operator.or_]
    nothing: Note
    number: float
    colours: dict[Colour, int]


class All(Honest, total=False):
    """Also what no job's checkpoint could hold: LangGraph doesn't find these classes in what is declared."""

    text: str
    pair: Pair
    sequence: Sequence[Longer]


class Asked(bp.Contract, name="fork-declared.asked"):
    text: str


class Told(bp.Contract, name="fork-declared.told"):
    keys: list[str]


GIVEN: dict[str, Any] = {
    "task": TASK,
    "tasks": [TASK, {"title": 1}],
    "node": NODE,
    "nodes": [NODE, NODE],
    "lines": {"lines": SAID},
    "hidden": {"of": 1},
    "history": SAID,
    "one": SAID[1],
    "tags": Tags(tags={"a", "b"}, pair=(1, 2), said=SAID, place=Path("/a/b")),
    "many": [Tags(tags={"a"})],
    "done": Done(TASK, dt.date(2020, 1, 1), dt.timedelta(1, 2, 3), frozenset("ab"), Colour.RED, [NODE]),
    "queue": deque([Note(text="a")]),
    "by_name": {"a": (Note(text="b"), 1)},
    "named": Named(theName="a"),
    "note": Note(text="a"),
    "nothing": None,
    "number": 1,
    "colours": {Colour.RED: 1},
}
OBJECTS: list[type[Any]] = [Note, Longer, Tags, Named, Done, Colour, Pair]


async def test_all_that_an_honest_state_has_arrives(
    store_url: str, thread: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []

    def graph() -> Any:
        return StateGraph(All).add_node("see", lambda state: seen.append(state)).add_edge(START, "see")

    app = bp.App("fork-declared")
    app.langgraph("sees", accepts=Asked, returns=Told, retries=1, leave=lambda _: Told(keys=[]))(graph)
    with BatonpassSaver.from_url(store_url, allow=OBJECTS) as saver:
        odd = {"pair": Pair(1, 2), "sequence": [Longer(text="a")]}
        graph().compile(checkpointer=saver).invoke({**GIVEN, **odd}, {"configurable": {"thread_id": thread}})
    async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator):
        last, *_ = await coordinator.timeline(thread)
        job = await coordinator.fork(last.id, agent="sees", payload=Asked(text="new"), returns=Told)
        await job.result(timeout=60)
    before, after = seen
    assert {name: after.get(name) for name in GIVEN} == {name: before[name] for name in GIVEN}
    assert "takes no ['pair', 'sequence'] from the thread" in caplog.text


@pytest.mark.parametrize(
    ("value", "hint", "made"),
    [
        ({"side": "long"}, dict[str, int], {"side": "long"}),  # what is declared of plain values is often not quite so
        (["one"], list[int] | None, ["one"]),
        ({"a": "x"}, dict[str, list[Note]], {"a": "x"}),
        ({"title": 1, "more": 2}, Task, {"title": 1, "more": 2}),
        ((1, 2), Any, (1, 2)),
        ((1, 2), None, (1, 2)),
        ([{"text": "a"}], list, [{"text": "a"}]),
        (None, int, None),
        ("2020", dt.datetime | str, "2020"),
        ("2020-01-01T00:00:00+00:00", dt.datetime | int, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        ({"at": "2020"}, Task, {"at": "2020"}),
        ("a", Colour | Word, Word.A),
        ({"text": "a"}, str | Note | dict[str, str], Note(text="a")),
        ({"text": "a", "more": 1}, Note | Longer, Longer(text="a", more=1)),
        ({"other": "a"}, Note | dict[str, str], {"other": "a"}),
        ({"text": "a"}, NewType("Mine", Note), Note(text="a")),
        ([{"text": "a"}], TypeAliasType("Notes", list[Note]), [Note(text="a")]),
        ({"a": 1}, defaultdict[str, int], {"a": 1}),  # LangGraph keeps it as a dict, too
        ([1, [2]], tuple[int, set[int]], (1, {2})),
        ([1], Iterable[str], [1]),
        ("/a", PurePosixPath, PurePosixPath("/a")),
        (b"a", bytes, b"a"),
        ({"once": 1, "twice": 2}, Twice, Twice(1)),
        ({"note": {"text": "a"}, "client": None}, Worker, Worker(Note(text="a"))),
        ({"text": "a"}, dict | Note, Note(text="a")),
        ({"text": "a"}, dict[str, Any] | Note, Note(text="a")),
        ({}, dict[str, Any] | Tags, {}),
        ({"note": {"text": "a"}}, Text | Worker, Worker(Note(text="a"))),
        ([{"note": {"text": "a"}}, {"text": "b"}], list[Text | Worker], [Worker(Note(text="a")), {"text": "b"}]),
        ({"doc": {"text": "a"}}, Text | Doc, {"doc": Note(text="a")}),
        ({"doc": {"text": "a"}}, Titled | Doc, {"doc": Note(text="a")}),
        ({"doc": {"text": "a"}}, dict | Doc, {"doc": Note(text="a")}),
        ({"page": 1, "doc": {"text": "a"}}, Text | Doc, {"page": 1, "doc": Note(text="a")}),
        ({"page": "1", "doc": {"text": "a"}}, Text | Doc, {"page": "1", "doc": Note(text="a")}),
        ([{"text": "b"}, {"doc": {"text": "a"}}], list[Text | Doc], [{"text": "b"}, {"doc": Note(text="a")}]),
        ([{"doc": {"text": "a"}}], list[Text] | list[Doc], [{"doc": Note(text="a")}]),
        ({"a": {"text": "a"}}, dict[str, dict[str, Any]] | dict[str, Note], {"a": Note(text="a")}),
        ({"kind": "two", "of": {"text": "a"}}, First | Second, {"kind": "two", "of": Note(text="a")}),
        ({"kind": "one", "of": {"text": "a"}}, Second | First, {"kind": "one", "of": {"text": "a"}}),
        ([1], set[int] | list[int], [1]),
        ({"items": [{"text": "a"}]}, Page[Note], {"items": [Note(text="a")]}),
        ({"items": [], "first": {"text": "a"}}, Page[Note], {"items": [], "first": Note(text="a")}),
        ({"items": [], "first": {"text": "a"}}, Page[int] | Page[Note], {"items": [], "first": Note(text="a")}),
        ({"one": 1, "reply": {"of": "a"}}, Replies[int], Replies(1, Reply(of="a"))),
        ({"item": {"text": "a"}}, Box[Note], Box(Note(text="a"))),
        ({"item": {"items": [{"text": "a"}]}}, Box[Page[Note]], Box({"items": [Note(text="a")]})),
        ({"item": {"text": "a"}, "more": [{"text": "b"}]}, Boxes[Note], Boxes(Note(text="a"), [Note(text="b")])),
        ({"item": 1}, Box, Box(1)),
    ],
)
def test_what_is_declared_is_made(value: Any, hint: Any, made: Any) -> None:
    found = as_declared(value, hint)
    assert (found, type(found)) == (made, type(made))


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("long", Task),
        ("one", int),
        ("1", int),
        ("one", Annotated[int, operator.add]),
        ("one", int | None),
        ("one", list[str]),
        (1, dt.datetime | None),
        ("tomorrow", dt.datetime),
        ("c", Literal["a", "b"]),
        ({"txet": "a"}, Note),
        ({"txet": "a"}, Tags),
        ({"text": "a", "more": 1}, Note),
        ([{"txet": "a"}], list[Note]),
        ([{"txet": "a"}], list[Note | None]),
        ({"note": {"txet": "a"}}, Node),
        ({"on": 1}, Done),
        ("blue", Colour),
        ("f", Callable[[], None]),
        ({"note": {"text": "a"}, "client": {"url": "b"}}, Worker),
        ({"note": {"text": "a"}, "client": [1]}, Text | Worker),
        ({"of": {"a": 1}}, Hidden),
        ({"item": {"text": "a"}}, Box),
        ({"items": [{"text": "a"}]}, Page),
    ],
)
def test_what_it_can_not_be_is_left_out(value: Any, hint: Any) -> None:
    with pytest.raises(Another):
        as_declared(value, hint)


def test_type_variables_may_be_local() -> None:
    Local = TypeVar("Local")

    class Few(TypedDict, Generic[Local]):
        items: list[Local]

    assert as_declared({"items": [{"text": "a"}]}, Few[Note]) == {"items": [Note(text="a")]}


@pytest.mark.parametrize(("name", "hint"), [("children", Node), ("inner", Either), ("inner", Either | Or)])
def test_no_value_is_too_deep(name: str, hint: Any) -> None:
    deep: Any = {}
    for _ in range(2000):
        deep = {name: [deep]}
    with pytest.raises(Another):
        as_declared(deep, hint)

"""Objects of classes in `allow=` that LangGraph's serializer would change are refused. `@bp.state_type` keeps them."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections import Counter, deque
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, field_serializer, model_validator

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver

from .test_serde import through

pytestmark = [
    pytest.mark.capability("langgraph"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # of defaults that are not validated
]


class Aliased(BaseModel):
    name: str = Field(default="", alias="fullName")


class Masked(BaseModel):
    token: str

    @field_serializer("token")
    def mask(self, token: str) -> str:
        return "***"


class Counted(BaseModel):
    visits: int

    @model_validator(mode="after")
    def count(self) -> Counted:
        self.visits += 1
        return self


class Line(BaseModel):
    text: str


class Marked(Line):
    mark: int


class Page(BaseModel):
    lines: list[Line]
    about: dict[str, Line] = {}


class Talk(BaseModel):
    said: list[BaseMessage]


@dataclasses.dataclass
class Run:
    page: Any
    number: int = dataclasses.field(default=0, init=False)


class Pair(NamedTuple):
    one: Any
    other: Any


class Usual(BaseModel):
    model_config = ConfigDict(extra="allow")
    number: float = 0
    anything: Any = None
    own: str = Field(default="", exclude=True)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)
    _seen: dict[str, int] = PrivateAttr(default_factory=dict[str, int])


class Secretive(BaseModel):
    secret: SecretStr | None


class Entity(BaseModel):
    """The same as another with its id."""

    id: int
    name: str = Field(default="", alias="fullName")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entity) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)


@dataclasses.dataclass
class Order:
    id: int
    notes: Aliased | None = dataclasses.field(default=None, compare=False)


class Shade(Enum):
    DARK = "dark"


class Unvalidated(BaseModel):
    """Pydantic leaves defaults as they are written."""

    model_config = ConfigDict(use_enum_values=True)
    shade: Shade = Shade.DARK
    folder: Path = cast("Path", "abc")
    odd: set[float] = {float("nan")}
    price: Decimal = cast("Decimal", 0.1)
    tags: set[str] = cast("set[str]", ["a"])
    line: Line = cast("Line", {"text": "a"})
    lines: list[Line] = cast("list[Line]", [{"text": "a"}])
    on: date = cast("date", "2026-01-01")


class Presumed(BaseModel):
    line: Line = Marked(text="a", mark=1)
    alias: Aliased = Aliased(fullName="Ann")


class Plain(Enum):
    ON = "on"


class Switch(BaseModel):
    state: Plain = cast("Plain", "on")


def nested(kind: Any, deep: int) -> Any:
    value: Any = None
    for _ in range(deep):
        value = kind(value, 1)
    return value


CLASSES = [Entity, Order, Plain, Presumed, Switch]
CLASSES += [Unvalidated, Shade, Aliased, Masked, Counted, Line, Marked, Page, Talk, Run, Pair, Usual]


def used() -> Usual:
    """A model with what it keeps to itself."""
    made = Usual(own="mine")
    made._seen["a"] = 1  # pyright: ignore[reportPrivateUsage]
    return made


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (Aliased(fullName="Ann"), ".name"),
        (Masked(token="t"), ".token"),
        (Counted(visits=1), ".visits"),
        (Page(lines=[Line(text="a"), Marked(text="b", mark=1)]), ".lines[1]"),
        (Page(lines=[], about={"x": Marked(text="b", mark=1)}), ".about['x']"),
        (Talk(said=[HumanMessage("a")]), ".said[0]"),
        (Run(Line(text="a")), ""),
        (Pair(1, Counted(visits=1)), ".other.visits"),
        (Entity(id=7, fullName="Ann"), ".name"),
        (Presumed(alias=Aliased()), ".line"),
        (Presumed(line=Line(text="a")), ".alias.name"),
        ([Entity(id=7, fullName="Ann")], "[0].name"),
        (Page.model_construct(lines=[], about={"x": Entity(id=7, fullName="Ann")}), ".about['x']"),
        (Order(1, Aliased(fullName="Ann")), ".notes.name"),
        (Unvalidated(price=Decimal("0.1")).model_copy(update={"line": {"text": "b"}}), ".line"),
        (deque([Line(text="a"), Masked(token="t")]), "[1].token"),
    ],
    ids=repr,
)
def test_what_would_be_changed_is_refused(value: Any, where: str, thread: str) -> None:
    with (
        BatonpassSaver.from_url("memory://", allow=CLASSES) as saver,
        pytest.raises(bp.Unserializable, match="state_type") as told,
    ):
        through(saver, thread, value)
    assert told.value.path == f"state['x']{where}"


@pytest.mark.parametrize(
    "value",
    [
        Usual(number=float("nan")),
        Usual(anything=(1, {2: [3]}), more=(4,)),  # type: ignore[call-arg]
        Usual(anything=Counter("aab")),
        Usual.model_construct(number=1),
        Page(lines=[Line(text="a")], about={"x": Line(text="b")}),
        Pair((1, 2), Line(text="a")),
        Send("node", {"run": Masked(token="t")}),
        used(),
        Unvalidated(),
        Switch(),
        nested(Pair, 300),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_other_objects_are_kept(value: Any, thread: str) -> None:
    """A model leaves out itself its private attributes and excluded fields: often caches, locks and connections."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    with BatonpassSaver.from_url("memory://", allow=CLASSES) as saver:
        checkpoint: Any = {**empty_checkpoint(), "channel_values": {"x": value}, "channel_versions": {"x": 1}}
        found = saver.get_tuple(saver.put(config, checkpoint, {}, {"x": 1}))
    assert found is not None
    assert type(found.checkpoint["channel_values"]["x"]) is type(value)


def test_a_secret_in_an_allowed_model_is_no_news(thread: str, caplog: pytest.LogCaptureFixture) -> None:
    with BatonpassSaver.from_url("memory://", allow=[Secretive]) as saver, caplog.at_level(logging.WARNING):
        back = through(saver, thread, Secretive(secret=SecretStr("s")))
    assert back.secret.get_secret_value() == "s"
    assert caplog.messages == []


@bp.state_type("saver_changed.aliased")
class KeptAliased(Aliased):
    pass


@bp.state_type("saver_changed.masked")
class KeptMasked(Masked):
    _seen: int = PrivateAttr(0)


def test_a_state_type_is_kept_as_it_is(thread: str, saver: BatonpassSaver) -> None:
    masked = KeptMasked(token="t")
    masked._seen = 3  # pyright: ignore[reportPrivateUsage]
    for number, value in enumerate((KeptAliased(fullName="Ann"), masked)):
        assert through(saver, f"{thread}{number}", value) == value


class Noted(BaseModel):
    """A graph's state whose messages are of their base class, as is usual."""

    said: Annotated[list[BaseMessage], add_messages] = []
    count: int = 0


def test_the_input_of_a_graph_and_of_a_node_is_not_compared() -> None:
    """LangGraph reads it back only after a crash, and then as all savers do. A refusal stopped most such graphs."""

    def counts(state: Noted) -> Any:
        return Send("looks", Noted(said=state.said, count=1))

    builder = StateGraph(Noted)
    builder.add_node("counts", lambda state: {"count": state.count + 1})
    builder.add_node("looks", lambda state: {"said": [HumanMessage("seen")]})
    builder.add_edge(START, "counts")
    builder.add_conditional_edges("counts", counts, ["looks"])
    with BatonpassSaver.from_url("memory://", allow=[builder]) as saver:
        graph = builder.compile(checkpointer=saver)
        end = graph.invoke(Noted(said=[HumanMessage("hi")]), {"configurable": {"thread_id": "t"}})
        assert [type(message) for message in end["said"]] == [HumanMessage, HumanMessage]
        config: Any = {"configurable": {"thread_id": "u"}}
        graph.update_state(config, Noted(said=[HumanMessage("hi")]), as_node="__input__")
        assert [message.content for message in graph.invoke(None, config)["said"]] == ["hi", "seen"]

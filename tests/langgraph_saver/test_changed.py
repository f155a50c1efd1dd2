"""Objects of classes in `allow=` that LangGraph's serializer would change are refused. `@bp.state_type` keeps them."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections import Counter, deque
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.types import Send
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, field_serializer, model_validator

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver

from .test_serde import through

pytestmark = pytest.mark.capability("langgraph")


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


CLASSES = [Aliased, Masked, Counted, Line, Marked, Page, Talk, Run, Pair, Usual]


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
        (deque([Line(text="a"), Masked(token="t")]), "[1].token"),
        (Send("node", {"run": Masked(token="t")}), ".arg['run'].token"),
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
        Send("node", used()),
        used(),
    ],
    ids=repr,
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

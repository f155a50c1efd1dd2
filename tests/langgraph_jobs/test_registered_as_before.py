"""Objects of registered classes that stay in the form that older releases write and read."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, ToolMessage
from pydantic import BaseModel, Field, PrivateAttr

import batonpass as bp
from batonpass.adapters.langgraph.serde.registered import RESTORED
from batonpass.adapters.langgraph.serde.values import Values

pytestmark = pytest.mark.capability("langgraph")
VALUES = Values({(__name__, "Source"), (__name__, "Hits")})


class Source(BaseModel):
    url: str


class Report(bp.Contract, name="langgraph_registered.report"):
    confidence: float = 0
    sources: list[Source] = Field(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=Lock)


class Hits(BaseModel):
    """A class that is not registered, so that its parts are written with it."""

    hits: list[Report]


@bp.state_type("langgraph_registered.chunk")
@dataclass
class Chunk:
    held: Any

    def __post_init__(self) -> None:
        self._lock = Lock()


class Name(str):
    pass


class Scored(bp.Contract, name="langgraph_registered.scored"):
    score: float = 0


@pytest.mark.parametrize(
    "value",
    [
        Report(),
        Report(sources=[Source(url="u")]),
        Hits(hits=[Report(), Report(confidence=0.5)]),
        Chunk(np.array([0.1, 0.2])),
        Chunk({"in": [OrderedDict(a=1), defaultdict(list, a=[1]), Name("a")]}),
    ],
)
def test_registered_objects_that_our_codec_can_not_pack_stay_in_the_form_of_older_releases(value: Any) -> None:
    """Clients, locks and caches in them are not saved, as in those of classes that are not registered."""
    for each in (value, [HumanMessage("a"), value]):
        kind, data, types = VALUES.seal(each, "state")
        assert (kind, data) == VALUES.serde.dumps_typed(each)
        assert type(VALUES.open([kind, data, types])) is type(each)


def test_a_default_that_comes_back_as_it_is_validated_stays_in_the_form_of_older_releases() -> None:
    _, _, types = VALUES.seal(Scored(), "state")
    assert RESTORED not in types


class Tags:
    """A class whose load= puts what it holds in order."""

    def __init__(self, held: list[str]) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tags) and self.held == other.held

    __hash__ = object.__hash__


bp.state_type("langgraph_registered.tags", Tags, dump=lambda tags: tags.held, load=lambda held: Tags(sorted(held)))


def test_what_a_class_makes_of_its_own_objects_is_not_compared() -> None:
    """BatonpassSaver keeps them, too."""
    [tags] = VALUES.open(VALUES.seal([Tags(["b", "a"])], "state"))
    assert tags == Tags(["a", "b"])


@dataclass
class Talk:
    messages: list[Any]


class Status(StrEnum):
    OPEN = "open"


bp.state_type("langgraph_registered.status", Status)


def test_messages_in_objects_come_back_as_they_do_elsewhere() -> None:
    """Those of retrievers hold documents, which LangGraph's serializer makes dicts of."""
    found = ToolMessage("found", tool_call_id="1", artifact=[Document(page_content="rain")])
    back = Values({(__name__, "Talk")}).open(Values({(__name__, "Talk")}).seal(Talk([found]), "state"))
    assert [type(each) for each in back.messages] == [ToolMessage]
    assert back.messages[0].artifact[0]["page_content"] == "rain"


def test_registered_members_of_enums_may_be_keys_beside_objects() -> None:
    assert VALUES.open(VALUES.seal({Status.OPEN: Source(url="u")}, "state")) == {"open": Source(url="u")}

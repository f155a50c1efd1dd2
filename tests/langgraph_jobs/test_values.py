"""What a graph's channels hold is kept as plain values, and comes back as it was."""

from __future__ import annotations

import re
import sys
from collections import deque
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from threading import Event, Thread
from typing import Any, Generic, NotRequired, TypedDict, TypeVar

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Send
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.langgraph.serde.allowlist import types_of
from batonpass.adapters.langgraph.serde.plain import messages_as_dicts, messages_from_dicts
from batonpass.adapters.langgraph.serde.values import Values
from batonpass.contracts.codec import pack, unpack

T = TypeVar("T")


class Item(BaseModel):
    name: str


@dataclass
class Point:
    x: int
    item: Item


class Colour(StrEnum):
    RED = "red"


class Other(BaseModel):
    name: str


@bp.state_type("langgraph_values.size")
@dataclass(frozen=True)
class Size:
    width: int


class Order(bp.Contract, name="langgraph_values.order"):
    number: int


@dataclass
class Tree(Generic[T]):
    of: list[T]
    below: Tree[list[T]] | None = None  # in ever other brackets


@dataclass
class Grove(Tree[Item]):
    pass


class Boxed(BaseModel, Generic[T]):
    of: T


class Nested:
    """As `type Nested = list[Nested] | Item` of Python 3.12."""

    @property
    def __value__(self) -> Any:
        each: Any = self
        return list[each] | Item


NESTED: Any = Nested()


class Deep(TypedDict):
    of: dict[str, NESTED]


class Held(TypedDict):
    box: Boxed[Item]
    tree: NotRequired[Tree[Colour]]


VALUES = Values({(__name__, name) for name in ("Item", "Point", "Colour")})


@pytest.mark.parametrize(
    "value",
    [
        {"a": (1, [b"x", None])},
        [AIMessage("hi", tool_calls=[{"name": "count", "args": {"word": "x"}, "id": "1"}]), Item(name="x")],
        {"nested": [Point(1, Item(name="x"))], "colours": {Colour.RED}},
        [Send("work", {"item": Item(name="x")}), deque([Decimal("1.5")])],
        re.compile("a+", re.IGNORECASE),
        [Size(2), Send("work", Size(3)), Point(1, Item(name="x"))],
        {"order": Order(number=4)},
    ],
)
def test_values_come_back_as_they_were(value: Any) -> None:
    restored = VALUES.open(unpack(pack(VALUES.seal(value, "state"))))
    assert restored == value
    assert type(restored) is type(value)


_DECLARED = [(Grove, {"Item"}), (Boxed[Item], {"Item"}), (Held, {"Item", "Colour"}), (Deep, {"Item"})]


@pytest.mark.parametrize(("schema", "names"), _DECLARED)
def test_what_stands_for_a_type_variable_is_declared(schema: type[Any], names: set[str]) -> None:
    """LangGraph doesn't find it, so that nodes could not return it."""
    assert names <= {name for module, name, *_ in types_of([schema]) if module == __name__}
    state = {"items": [Item(name="x")]}
    values = Values(types_of([schema]))
    assert values.open(unpack(pack(values.seal(state, "state")))) == state


def test_what_a_node_beside_changes_meanwhile_is_no_error() -> None:
    box: dict[str, Any] = {str(number): [number] for number in range(2000)}
    stop = Event()

    def change() -> None:
        while not stop.is_set():
            for number in range(100):
                box[f"more {number}"] = number
            for number in range(100):
                del box[f"more {number}"]

    beside, before = Thread(target=change), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    beside.start()
    try:
        for _ in range(60):
            VALUES.seal([box], "state")
    finally:
        stop.set()
        beside.join()
        sys.setswitchinterval(before)


def test_messages_are_restored_from_what_is_shown() -> None:
    messages = [
        HumanMessage("hi", id="1", name="Ada"),
        AIMessage([{"type": "text", "text": "x"}], response_metadata={"model": "m"}),
        ToolMessage("4", tool_call_id="2", artifact={"kept": True}, status="error"),
    ]
    told = messages_as_dicts(messages)
    assert told is not None
    assert messages_from_dicts(unpack(pack(told))) == messages


def test_a_type_that_is_gone_is_named_at_load() -> None:
    sealed = VALUES.seal([Item(name="x")], "state")
    with pytest.raises(bp.Corrupted, match=r"holds a .*\.Item, which the graph does not declare any more"):
        Values(()).open(sealed)


def test_an_old_name_that_leads_to_a_declared_class_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "Thing", Item, raising=False)
    assert VALUES.missing([(__name__, "Thing")]) is None
    liar = type("Item", (), {"__module__": __name__})
    monkeypatch.setattr(sys.modules[__name__], "Thing", liar)
    assert VALUES.missing([(__name__, "Thing")]) == (__name__, "Thing")


@pytest.mark.parametrize("value", [Other(name="x"), [{"deep": Other(name="x")}], object(), ValueError("x"), Item])
def test_what_could_not_be_restored_is_refused(value: Any) -> None:
    with pytest.raises(bp.Unserializable, match="state"):
        VALUES.seal(value, "state")


@pytest.mark.parametrize("kind", [object, [("x", "i4"), ("y", "f8")]])
def test_arrays_that_would_come_back_empty_or_without_their_fields_are_refused(kind: Any) -> None:
    numpy = pytest.importorskip("numpy")
    with pytest.raises(bp.Unserializable, match=r"state\[0\] is an array of .*, which could not be restored"):
        VALUES.seal([numpy.zeros(2, dtype=kind)], "state")


@pytest.mark.parametrize(
    ("artifact", "where"),
    [(object(), ""), ({"rows": [1, object()]}, "['rows'][1]"), (Point(1, object()), ".item")],  # type: ignore[arg-type]
)
def test_what_the_serializer_does_not_take_is_found_within_messages(artifact: Any, where: str) -> None:
    message = ToolMessage("found", tool_call_id="1", artifact=artifact)
    with pytest.raises(bp.Unserializable) as told:
        VALUES.seal({"messages": [HumanMessage("hi"), message]}, "state")
    assert told.value.path == f"state['messages'][1].artifact{where}"
    assert str(told.value).startswith(f"{told.value.path} can't be saved: Type is not msgpack serializable: object")


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("json", b'{"lc": 2, "type": "constructor", "id": ["os", "getcwd"], "kwargs": {}}'),
        ("pickle", b"cos\ngetcwd\n(tR."),
        ("other", b""),
    ],
)
def test_a_kind_that_is_never_written_is_not_read(kind: str, data: bytes) -> None:
    with pytest.raises(bp.Corrupted, match=f"of kind '{kind}', which is never written"):
        Values([]).open([kind, data, []])

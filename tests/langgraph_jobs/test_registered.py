"""Objects of classes that were registered with functions of their own, in the state of a graph."""

from __future__ import annotations

import operator
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, ClassVar, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, Field, PrivateAttr, field_serializer, model_validator

import batonpass as bp
from batonpass.adapters.langgraph.serde.registered import RESTORED
from batonpass.adapters.langgraph.serde.values import Values
from batonpass.adapters.langgraph.serde.wrapped import Wrapped
from batonpass.contracts import state_types
from batonpass.contracts.alike import alike
from batonpass.contracts.codec import pack, unpack
from batonpass.contracts.shapes import Custom
from batonpass.langgraph import BatonpassSaver

from ..apps.kit import checkpoints, question
from ..apps.langgraph_app import Topic, in_order
from ..apps.langgraph_kit import failure, only, result

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.usefixtures("log")]


class Price:
    """A class that tells nobody what it holds."""

    def __init__(self, text: str) -> None:
        self.of = Fraction(text)

    def __str__(self) -> str:
        return str(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Price) and self.of == other.of

    def __hash__(self) -> int:
        return hash(self.of)


bp.state_type("langgraph_registered.price", Price, dump=str, load=Price)


@dataclass
class Row:
    price: Price


class Prices(TypedDict, total=False):
    text: str
    price: Price
    row: Row
    seen: Annotated[list[Any], operator.add]
    total: Any


class Order(bp.Contract, name="langgraph_registered.order"):
    number: int


class Total(bp.Contract, name="langgraph_registered.total"):
    total: Fraction
    text: str


def find(state: Prices) -> Any:
    return Command(update={"price": Price("1/3"), "row": Row(Price("1/5"))})


def halve(state: Prices) -> Any:
    return {"price": Price(str(state["price"].of / 2))}


def again(state: Prices) -> Any:
    return {"price": Price(str(state["price"].of * 4))}


def look(state: Any) -> Any:
    return {"seen": [state["price"], Row(state["price"])]}


def ask(state: Prices) -> Any:
    agreed = interrupt({"price": state["price"], "row": state["row"]})
    prices = [each.of for each in state["seen"] if isinstance(each, Price)]
    return {"text": agreed, "total": Price(str(sum(prices, state["row"].price.of)))}


def desk() -> Any:
    """Prices in what nodes write, in a subgraph, in what edges send, and in a question."""
    made = StateGraph[Any, None, Any, Any](Prices)
    made.add_node("find", find)
    made.add_node("inner", in_order({"halve": halve, "again": again}, Prices).compile())
    made.add_node("look", look)
    made.add_node("ask", ask)
    made.add_edge(START, "find")
    made.add_edge("find", "inner")
    made.add_conditional_edges("inner", lambda state: [Send("look", {"price": state["price"]})] * 2, ["look"])
    made.add_edge("look", "ask")
    return made


async def test_a_job_keeps_them_wherever_they_are(store_url: str) -> None:
    app = only(desk, returns=Total)
    async with bp.connect(store_url) as coordinator:
        async with app.worker(coordinator):
            job = await coordinator.submit("a", Topic(text="rain"))
            assert await question(job) == {"price": "2/3", "row": {"price": "1/5"}}
        async with only(desk, returns=Total).worker(coordinator):
            await job.answer("yes")
            assert await job.result(timeout=20) == Total(total=Fraction(23, 15), text="yes")
        shown = [each.state.get("price") for each in await checkpoints(coordinator, job)]
    assert shown == [None, "1/3", "2/3", "2/3", "2/3", "2/3"]


def test_a_saver_keeps_them_in_objects_and_in_what_is_sent() -> None:
    graph = desk().compile(checkpointer=BatonpassSaver.from_url("memory://", allow=[desk()]))
    config: Any = {"configurable": {"thread_id": "1"}}
    asked = graph.invoke({"text": "rain"}, config)["__interrupt__"]
    assert [each.value for each in asked] == [{"price": Price("2/3"), "row": Row(Price("1/5"))}]
    assert graph.invoke(Command(resume="yes"), config)["total"] == Price("23/15")
    assert graph.get_state(config).values["seen"] == [Price("2/3"), Row(Price("2/3"))] * 2


VALUES = Values({(__name__, "Row")})


def test_a_process_without_the_class_says_which_one_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = unpack(pack(VALUES.seal([Row(Price("1/2"))], "state")))
    monkeypatch.delitem(state_types._by_name, "langgraph_registered.price")
    with pytest.raises(bp.BadSetup, match=r"holds a 'langgraph_registered.price', but .*: import the module that"):
        VALUES.open(sealed)


def test_a_release_that_can_not_restore_them_does_not_take_bytes_for_them() -> None:
    """It looks for all types that a stored value names."""
    kind, _, types = VALUES.seal([Row(Price("1/2"))], "state")
    assert (kind, types) == ("msgpack", sorted([(__name__, "Row"), RESTORED]))


def test_what_a_timeline_shows_of_them_is_what_is_dumped() -> None:
    kind, data, _ = VALUES.seal([Row(Price("1/2"))], "state")
    assert str(Wrapped(kind, data).value[0]["price"]) == "1/2"


class Sub(Row):
    pass


class Secret(BaseModel):
    """A model that does not show all that it holds."""

    price: float
    key: str = Field(default="", exclude=True)
    _seen: int = PrivateAttr(0)

    @field_serializer("price")
    def rounded(self, price: float) -> str:
        return f"{price:.1f}"


@bp.state_type("langgraph_registered.kept")
class Kept(Secret):
    pass


@bp.state_type("langgraph_registered.counted")
@dataclass
class Counted:
    price: float
    count: int = field(init=False, default=0)


@bp.state_type("langgraph_registered.pair")
@dataclass
class Pair:
    one: int
    other: int


class Amount(float):
    pass


class Label(str):
    pass


bp.state_type("langgraph_registered.amount", Amount, dump=float, load=Amount)
bp.state_type("langgraph_registered.label", Label, dump=str, load=Label)


def kept() -> Kept:
    made = Kept(price=1.234, key="k")
    made._seen = 7
    return made


def counted() -> Counted:
    made = Counted(1.5)
    made.count = 2
    return made


@pytest.mark.parametrize("value", [kept(), counted(), Amount(1.5), Label("a"), Order(number=1)])
def test_registered_objects_stay_as_they_are(value: Any) -> None:
    """LangGraph's serializer makes them anew from what they show."""
    around = {"in": [value, [value, Send("look", {"price": value})]], "row": Row(value)}
    assert alike(VALUES.open(unpack(pack(VALUES.seal(around, "state")))), around)
    assert alike(VALUES.open(unpack(pack(VALUES.seal(value, "state")))), value)


@bp.state_type("langgraph_registered.size")
class Size(Enum):
    """Members whose values LangGraph's serializer makes lists of."""

    A4 = (210, 297)


@pytest.mark.parametrize("value", [Size.A4, [Size.A4]])
def test_registered_members_of_enums_stay_as_they_are(value: Any) -> None:
    assert VALUES.open(VALUES.seal(value, "state")) == value


def test_registered_objects_that_are_only_sent_stay_as_they_are() -> None:
    [back] = VALUES.open(VALUES.seal([Send("look", {"in": kept()})], "state"))
    assert alike(back.arg, {"in": kept()})


def test_what_older_releases_can_read_is_written_as_they_do() -> None:
    """Most registered objects come back from their fields."""
    _, _, types = VALUES.seal([Pair(1, 2), Order(number=1)], "state")
    assert RESTORED not in types


class Made(BaseModel):
    """Counts how often it is made from its fields."""

    times: ClassVar[int] = 0
    of: Any

    @model_validator(mode="after")
    def count(self) -> Made:
        Made.times += 1
        return self


class Holding(TypedDict, total=False):
    text: str
    held: Made


async def times_made(held: Any, nodes: str) -> int:
    """How often an object is made again in a graph that goes on with so many nodes."""

    def make(state: Holding) -> Any:
        return {"held": Made(of=held)}

    def step(state: Holding) -> Any:
        return {"text": f"{state['text']}!"}

    Made.times = 0
    await result(lambda: in_order({"make": make, **dict.fromkeys(nodes, step)}, Holding), returns=Topic)
    return Made.times


@pytest.mark.parametrize("held", [1, Price("1/2")])
async def test_objects_that_nobody_changes_are_compared_once(held: Any) -> None:
    """In each superstep, validators ran again, and a long list took several times as long as it takes to write it."""
    assert await times_made(held, "abc") == await times_made(held, "abcdefghi")


def test_what_a_node_changed_in_place_is_compared_again() -> None:
    value: list[Any] = [kept(), Row(Price("1/2"))]
    sealed = VALUES.seal(value, "state")
    assert VALUES.seal(value, "state", sealed) == sealed
    value[0].price = 2.345
    assert alike(VALUES.open(VALUES.seal(value, "state", sealed)), value)


@pytest.mark.parametrize(
    ("value", "where"), [(Secret(price=1.234), r"\.price"), ({"row": Sub(Price("1"))}, r"\['row'\]")]
)
def test_other_objects_that_would_come_back_changed_are_refused(value: Any, where: str) -> None:
    """Jobs went on with what came back, if their worker died or they asked something."""
    with pytest.raises(bp.Unserializable, match=rf"state{where} (would come back as something else|is a .*Sub)"):
        Values({(__name__, "Row"), (__name__, "Secret")}).seal(value, "state")


@bp.state_type("langgraph_registered.open")
class Open(Secret):
    held: Any


def test_a_registered_object_that_can_not_be_kept_is_refused_with_the_reason() -> None:
    value = {"in": [Row(Price("1")), Open(price=1.234, held=OrderedDict(a=1))]}
    why = r"state\['in'\]\[1\]\.price would .* its class is registered, .* but state\['in'\]\[1\]\.held .*OrderedDict"
    with pytest.raises(bp.Unserializable, match=why):
        VALUES.seal(value, "state")


def test_one_in_a_model_that_is_not_registered_says_which_to_register() -> None:
    with pytest.raises(bp.Unserializable, match=r"state\.of would .*: register .* those of the models around it"):
        Values({(__name__, "Made")}).seal(Made(of=kept()), "state")


def test_a_number_that_would_come_back_as_another_is_refused() -> None:
    """LangGraph's own savers refuse it, too: most are numpy's, which nodes go on to use as such."""
    kind = type("float64", (float,), {})
    with pytest.raises(bp.Unserializable, match=r"state\['mean'\] can't be saved: .*float64"):
        VALUES.seal({"mean": kind(1.5)}, "state")


class Masked(str):
    """A text that does not show itself."""

    def __str__(self) -> str:
        return "***"


class Level(int):
    def __int__(self) -> int:
        return 0


@pytest.mark.parametrize("around", [[], [HumanMessage("a")], [Pair(1, 2)]])
def test_a_text_that_shows_another_is_stored_as_it_is(around: list[Any]) -> None:
    back = VALUES.open(VALUES.seal([Masked("secret"), {Masked("key"): Level(7)}, *around], "state"))
    assert alike(back[:2], ["secret", {"key": 7}])


class Broken(Price):
    pass


def _refuse(value: Any) -> Any:
    raise ValueError(f"not {value}")


bp.state_type("langgraph_registered.broken", Broken, dump=_refuse, load=Broken)


async def test_a_dump_that_raises_is_told_with_the_place() -> None:
    def find(state: Any) -> Any:
        return {"seen": [Row(Broken("1/2"))]}

    error = await failure(lambda: in_order({"find": find}, Prices))
    assert "what a node wrote to 'seen'[0].price" in str(error)
    assert "dump= of its class raised ValueError: not 1/2" in str(error)


def test_a_load_that_raises_is_an_error_and_not_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = VALUES.seal([Price("1/2")], "state")
    changed = state_types.StateType("langgraph_registered.price", Price, Custom(str, _refuse))
    monkeypatch.setitem(state_types._by_name, changed.name, changed)
    with pytest.raises(bp.BadSetup, match=r"'langgraph_registered.price' does not fit .*: ValueError: not 1/2"):
        VALUES.open(sealed)

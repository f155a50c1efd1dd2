"""What changed in place since the last put is noticed, though what did not change is not packed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.internals import is_visible
from batonpass.adapters.langgraph.record.changes import RememberedList, changes_since, remember
from batonpass.contracts import packing

pytestmark = pytest.mark.capability("langgraph")


def messages(count: int) -> list[AnyMessage]:
    """Messages of which each is as large as a part of a state."""
    return [AIMessage(f"{n} " * 300, id=str(n), additional_kwargs={"n": {"deep": [n]}}) for n in range(count)]


def put(saver: BatonpassSaver, config: Any, values: dict[str, Any]) -> Any:
    checkpoint: Any = {**empty_checkpoint(), "channel_values": values, "channel_versions": dict.fromkeys(values, 1)}
    return saver.put(config, checkpoint, {"source": "loop"}, {})


def _extra(message: Any) -> None:
    message.__pydantic_extra__["more"] = 1


@dataclass
class Odd:
    """Our codec does not know it: LangGraph's serializer carries it."""

    x: int


@pytest.fixture
def allowing(url: str) -> Iterator[BatonpassSaver]:
    with BatonpassSaver.from_url(url, allow=[Odd]) as made:
        yield made


CHANGES: list[Callable[[list[Any]], object]] = [
    lambda held: setattr(held[3], "content", "changed"),
    lambda held: held[3].additional_kwargs["n"]["deep"].append(1),
    lambda held: held[3].additional_kwargs.update(more=1),
    lambda held: held[3].tool_calls.append({"name": "t", "args": {}, "id": "x", "type": "tool_call"}),
    lambda held: _extra(held[3]),
    lambda held: held.pop(3),
    lambda held: held.insert(0, HumanMessage("new", id="n")),
    lambda held: held.__setitem__(3, HumanMessage(held[3].content, id=held[3].id)),
    lambda held: held.reverse(),
    lambda held: held.clear(),
    lambda held: held.append(HumanMessage("new", id="n")),
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("also_new", [False, True])
def test_every_change_is_seen(
    change: Callable[[list[Any]], object], also_new: bool, saver: BatonpassSaver, thread: str
) -> None:
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    held: list[Any] = messages(40)
    for _ in range(3):  # so that the last is compared with what was seen
        held = [*held, AIMessage("more " * 100, id=str(len(held)))]
        config = put(saver, config, {"messages": held, "plain": {"a": [1]}})
    change(held)
    if also_new:
        held = [*held, AIMessage("and more", id="last")]
    config = put(saver, config, {"messages": held, "plain": {"a": [1]}})
    found = saver.get_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == held
    saver._shared.renew()
    [latest] = saver.list({"configurable": {"thread_id": thread}}, limit=1)
    assert latest.checkpoint["channel_values"] == {"messages": held, "plain": {"a": [1]}}


_PAGES = {key: key * 3000 for key in "abc"}
_CALL: Any = {"name": "look", "args": {"at": 1, "again": False}, "id": "c", "type": "tool_call"}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (_PAGES, dict(reversed(_PAGES.items()))),
        ([_PAGES, _PAGES], [dict(reversed(_PAGES.items())), _PAGES]),
        ({"in": _PAGES}, {"in": dict(reversed(_PAGES.items()))}),
        ([_PAGES, [1, 0]], [_PAGES, [True, 0]]),
        ([_PAGES, [1, 0]], [_PAGES, [1, 0.0]]),
        (_PAGES | {"n": 2}, _PAGES | {"n": 2.0}),
        (
            [HumanMessage("x" * 9000, id="h"), AIMessage("", id="a", tool_calls=[_CALL])],
            [
                HumanMessage("x" * 9000, id="h"),
                AIMessage("", id="a", tool_calls=[_CALL | {"args": {"at": True, "again": 0}}]),
            ],
        ),
        (
            [HumanMessage("x" * 9000, additional_kwargs={"a": 1, "b": 2})],
            [HumanMessage("x" * 9000, additional_kwargs={"b": 2, "a": 1})],
        ),
    ],
    ids=["keys", "keys in a list", "keys in a dict", "bool", "float", "float in a dict", "a call", "keys of a message"],
)
def test_a_change_to_what_is_equal_is_seen(first: Any, then: Any, saver: BatonpassSaver, thread: str) -> None:
    """Whether it was depended on the size of the state, and on the process."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    for number, held in enumerate([first, then, first, then]):
        config = put(saver, config, {"held": held, "number": number})
        found = saver.get_tuple(config)
        assert found is not None
        assert repr(found.checkpoint["channel_values"]["held"]) == repr(held)


def test_what_did_not_change_is_not_packed_again(
    saver: BatonpassSaver, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    held = messages(60)
    for _ in range(3):
        held = [*held, AIMessage("more " * 100, id=str(len(held)))]
        config = put(saver, config, {"messages": held})
    sizes: list[int] = []
    pack = packing.Writer.pack

    def counted(self: packing.Writer, value: Any) -> bytes:
        data = pack(self, value)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(packing.Writer, "pack", counted)
    put(saver, config, {"messages": [*held, AIMessage("the last", id="last")]})
    assert sum(sizes) < 4000


@pytest.mark.parametrize("value", [[object()], [{"a": object()}], [1, [AIMessage("x")]], object()])
def test_what_could_change_unseen_is_not_taken_for_unchanged(value: Any) -> None:
    seen = remember(value)
    assert seen is None or not seen.unchanged(value)


def test_a_gone_channel_needs_the_whole_state() -> None:
    assert changes_since({"a": remember(1), "b": remember([2])}, {"a": 1}) is None
    assert changes_since({"a": remember(1), "b": remember([2])}, {"a": 1, "b": [2, 3], "c": 4}) == (
        {"c": 4},
        {"b": [3]},
    )
    assert isinstance(remember([1]), RememberedList)


def test_what_a_user_has_is_nobody_elses(saver: BatonpassSaver, thread: str) -> None:
    """Neither what was put, nor what was read before, nor another state of the same list."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    held = messages(40)
    more: list[AnyMessage] = []
    for number in range(3):
        more.append(AIMessage("last", id=str(number)))
        config = put(saver, config, {"messages": [*held, *more]})

    def read(by_list: bool) -> Any:
        return next(saver.list({"configurable": {"thread_id": thread}})) if by_list else saver.get_tuple(config)

    for by_list in (False, True):
        read(by_list).checkpoint["channel_values"]["messages"][1].additional_kwargs["n"]["deep"].append("mine")
        again = read(by_list)
        assert again.checkpoint["channel_values"]["messages"][1].additional_kwargs["n"] == {"deep": [1]}
    states = [
        each.checkpoint["channel_values"]["messages"] for each in saver.list({"configurable": {"thread_id": thread}})
    ]
    states[0][1].additional_kwargs["n"]["deep"].append("mine")
    states[0][2].content = "mine"
    assert states[1][:40] == held


@pytest.mark.parametrize("goes", [False, True], ids=["", "one goes"])
@pytest.mark.parametrize("read", [False, True], ids=["put", "read"])
@pytest.mark.parametrize("size", [1, 40])
@pytest.mark.parametrize("delta", [False, True], ids=["", "delta"])
def test_a_channel_without_a_new_version_is_as_it_was(
    goes: bool, read: bool, size: int, delta: bool, allowing: BatonpassSaver, thread: str
) -> None:
    """A reducer that changes its argument does so while the checkpoint before is being put. A graph that continues from
    that checkpoint would make the change twice. The same with values that our codec can't pack, and in a checkpoint
    that has the whole value of a delta channel, and shares most with the one before it that had."""
    saver = allowing
    at: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    values: dict[str, Any] = {"box": {"a": [1]}, "list": messages(size), "odd": [Odd(1)], "set": {1}, "gone": 1}
    versions: dict[str, Any] = dict.fromkeys(values, saver.get_next_version(None, None))

    def step(*new: str, **whole: Any) -> Any:
        versions.update({name: saver.get_next_version(versions.get(name), None) for name in (*new, *whole)})
        now = {**values, **whole}
        checkpoint: Any = {**empty_checkpoint(), "channel_values": now, "channel_versions": dict(versions)}
        return saver.put(at, checkpoint, {"source": "loop"}, {name: versions[name] for name in (*new, *whole)})

    def told() -> Any:
        found = saver.get_tuple(at)
        assert found is not None
        return found.checkpoint["channel_values"]

    whole: dict[str, Any] = {"lines": _DeltaSnapshot(["a line"])} if delta else {}
    for number in range(3):
        values["list"] = [*values["list"], HumanMessage("more", id=str(len(values["list"])))]
        values["odd"] = [*values["odd"], Odd(-number)]
        at = step("list", "odd", **({} if number else whole))
    before = told()
    assert before == values
    if read:
        saver._shared.renew()
        told()
    if goes:
        del values["gone"], versions["gone"], before["gone"]
    values["box"]["a"].append(2)
    values["list"].append(HumanMessage("early", id="early"))
    values["odd"].append(Odd(2))
    values["set"] = {1, 2}
    at = step("set", **whole)
    assert told() == {**before, "set": {1, 2}, **whole}
    at = step("box", "list", "odd")
    assert told() == values
    saver._shared.renew()
    assert told() == values


def test_the_module_says_which_channels_are_the_users() -> None:
    visible = [
        name for name in ("messages", "__start__", "branch:to:x", "__pregel_tasks", "__previous__") if is_visible(name)
    ]
    assert visible == ["messages", "__previous__"]

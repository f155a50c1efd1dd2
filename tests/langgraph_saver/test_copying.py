"""Values that are handed out again and again: equal each time, and no two readers share an object."""

from __future__ import annotations

from copy import deepcopy
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from pydantic import PrivateAttr

from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.serde.copying import ListTemplate, NoCopy, ValueTemplate
from tests.langgraph_saver.graphs import delta


class Noted(HumanMessage):
    _note: str = PrivateAttr(default="mine")


def _messages() -> list[Any]:
    call = {"name": "look", "args": {"at": ["x", {"deep": 1}]}, "id": "c1", "type": "tool_call"}
    return [
        HumanMessage("hello", id="1", additional_kwargs={"cost": Decimal("0"), "tags": []}),
        AIMessage([{"type": "text", "text": "hi"}], id="2", tool_calls=[call], usage_metadata=_usage()),
        ToolMessage("found", tool_call_id="c1", artifact={"rows": [1, 2]}),
        {"plain": [1, None, "x"]},
    ]


def _usage() -> Any:
    return {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


def test_a_list_is_repeated_in_full_and_in_part() -> None:
    repeated = ListTemplate(_messages())
    assert repeated.first(4) == _messages()
    assert [type(each) for each in repeated.first(4)] == [HumanMessage, AIMessage, ToolMessage, dict]
    assert repeated.first(2) == _messages()[:2]
    assert [each.model_fields_set for each in repeated.first(3)] == [each.model_fields_set for each in _messages()[:3]]


def test_what_one_reader_changes_no_other_sees() -> None:
    kept = ValueTemplate(_DeltaSnapshot(_messages()))
    one = kept.again().value
    one[0].content = "changed"
    one[0].additional_kwargs["tags"].append("changed")
    one[1].tool_calls[0]["args"]["at"][1]["deep"] = 2
    one[1].content[0]["text"] = "changed"
    one[1].response_metadata["changed"] = True
    one[2].artifact["rows"].clear()
    one[3]["plain"].clear()
    one.clear()
    assert kept.again() == _DeltaSnapshot(_messages())


def test_what_its_giver_changes_later_is_not_seen() -> None:
    given = _messages()
    kept = ValueTemplate(given)
    given[0].additional_kwargs["tags"].append("changed")
    given[1].tool_calls.clear()
    given.pop()
    assert kept.again() == _messages()


@pytest.mark.parametrize("value", [object(), [object()], Noted(content="x"), {"in": {1, 2}}])
def test_what_can_not_be_copied_is_said(value: object) -> None:
    with pytest.raises(NoCopy):
        ValueTemplate(value)


def test_a_history_read_twice_is_of_different_objects(saver: BatonpassSaver, thread: str) -> None:
    graph, config = delta(saver), {"configurable": {"thread_id": thread}}
    for turn in range(7):
        graph.invoke({"lines": [f"turn {turn}"]}, config)
    found: Any = saver.get_tuple(config)  # type: ignore[arg-type]

    def read() -> Any:
        return saver.get_delta_channel_history(config=found.config, channels=["lines"])["lines"]

    first = read()
    before = deepcopy(first)
    first["seed"].value.append("changed")
    again = read()
    assert again == before
    again["seed"].value.append("changed")
    assert read() == before

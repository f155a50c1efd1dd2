"""LangChain's messages in any state come back equal where LangChain is installed, and get lost nowhere."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from langchain_core import messages as lc

import batonpass as bp
from batonpass.contracts.alike import alike
from batonpass.contracts.codec import pack, unpack

CALL: Any = {"name": "count", "args": {"word": "x"}, "id": "1", "type": "tool_call"}
OPENAI_CALL = {"id": "1", "type": "function", "function": {"name": "count", "arguments": "{}"}}
MESSAGES: list[lc.BaseMessage] = [
    lc.HumanMessage("hi", id="1", name="Ada"),
    lc.HumanMessage([{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "data:"}}]),
    lc.HumanMessage("x", additional_kwargs={"a": (1, {2})}, own_field=[1]),
    lc.AIMessage("", tool_calls=[CALL], usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    lc.AIMessage("x", response_metadata={"model": "m", "finish": None}),
    lc.AIMessage.model_construct(content="x", tool_calls=[], additional_kwargs={"tool_calls": [OPENAI_CALL]}),
    lc.ToolMessage("4", tool_call_id="2", artifact={"kept": (1, b"x")}, status="error"),
    lc.SystemMessage("s"),
    lc.RemoveMessage(id="x"),
    lc.ChatMessage(role="critic", content="c"),
    lc.FunctionMessage(name="f", content="x"),
    lc.AIMessageChunk(content="a", tool_call_chunks=[{"name": "c", "args": "{", "id": "1", "index": 0}]),
    *(
        lc.HumanMessageChunk(content="a"),
        lc.SystemMessageChunk(content="a"),
        lc.ToolMessageChunk(content="a", tool_call_id="1"),
    ),
    *(lc.ChatMessageChunk(role="r", content="a"), lc.FunctionMessageChunk(name="f", content="a")),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_comes_back(message: lc.BaseMessage) -> None:
    again = unpack(pack({"messages": [message]}))["messages"][0]
    assert alike(again, message)
    assert (repr(again), again.model_dump()) == (repr(message), message.model_dump())


def test_defaults_take_no_room_and_are_not_shared() -> None:
    assert len(pack(lc.HumanMessage("hello"))) < 60
    first, second = unpack(pack([lc.AIMessage("a"), lc.AIMessage("b")]))
    first.tool_calls.append(CALL)
    first.additional_kwargs["x"] = 1
    assert (second.tool_calls, second.additional_kwargs) == ([], {})


def test_what_is_in_a_message_is_found() -> None:
    with pytest.raises(bp.Unserializable) as refused:
        pack({"messages": [lc.ToolMessage("x", tool_call_id="1", artifact=[object()])]})
    assert refused.value.path == "state['messages'][0]['artifact'][0]"


def test_a_message_of_ones_own_class_is_refused() -> None:
    class Own(lc.HumanMessage):
        pass

    with pytest.raises(bp.Unserializable, match=r"Own is neither a plain type nor a registered one"):
        pack(Own(content="x"))


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("", "HumanMessage hello"),
        ("sys.modules['langchain_core'] = None", "UnknownValue langchain_core.HumanMessage {'content': 'hello'} True"),
    ],
    ids=["with LangChain", "without LangChain"],
)
def test_a_process_that_imported_no_adapter_reads_it(before: str, told: str) -> None:
    data = pack(lc.HumanMessage("hello"))
    program = f"""
import sys
import batonpass as bp
from batonpass.contracts.codec import pack, unpack
assert not any(name.startswith(("langchain", "langgraph")) for name in sys.modules)
{before}
data = bytes.fromhex({data.hex()!r})
value = unpack(data)
if isinstance(value, bp.UnknownValue):
    print("UnknownValue", value.type_name, value.value, pack(value) == data)
else:
    print(type(value).__name__, value.content)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == told

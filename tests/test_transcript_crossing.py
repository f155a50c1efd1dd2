"""A conversation that goes from framework to framework: what each one is told, and what is counted as lost."""

from __future__ import annotations

from typing import Any

import pytest
from autogen_agentchat.messages import (
    MultiModalMessage,
    SelectorEvent,
    StopMessage,
    TextMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    RequestUsage,
    UserMessage,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import ValidationError

import batonpass as bp
from batonpass.adapters.autogen import AutoGenAdapter
from batonpass.adapters.autogen.transcript.messages import to_autogen
from batonpass.adapters.crewai import CrewAIAdapter
from batonpass.adapters.crewai.transcript.messages import to_crewai
from batonpass.adapters.langgraph import LangGraphAdapter
from batonpass.adapters.langgraph.transcript.messages import to_langchain
from batonpass.contracts.codec import pack, unpack
from batonpass.contracts.state_types import UnknownValue
from batonpass.contracts.transcript import (
    Blob,
    Data,
    Message,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
    Work,
)
from batonpass.contracts.transcript_loops import UNFINISHED, whole
from batonpass.contracts.transcript_losses import Losses
from batonpass.coordinator.transcripts import Saved

from .portable import from_autogen, from_crewai, from_langchain

CONVERSATION: list[BaseMessage] = [
    SystemMessage("be terse", id="s-1"),
    HumanMessage("write about streams", id="h-1", name="ann"),
    AIMessage(
        "two searches",
        id="a-1",
        name="researcher",
        tool_calls=[
            {"id": "tc1", "name": "search", "args": {"q": "streams"}, "type": "tool_call"},
            {"id": "tc2", "name": "search", "args": {"q": "pubsub"}, "type": "tool_call"},
        ],
        usage_metadata={"input_tokens": 12, "output_tokens": 3, "total_tokens": 15},
        response_metadata={"model_name": "m"},
    ),
    ToolMessage("consumer groups", tool_call_id="tc1", name="search", id="t-1", artifact={"rows": 3}),
    ToolMessage("boom", tool_call_id="tc2", name="search", id="t-2", status="error"),
    AIMessage("one of two answered", id="a-2", name="researcher"),
]


def test_crewai_is_told_the_whole_conversation() -> None:
    losses = Losses()
    assert to_crewai(from_langchain(CONVERSATION), losses) == [
        {"role": "system", "content": "be terse"},
        {"role": "user", "content": "write about streams", "name": "ann"},
        {
            "role": "assistant",
            "content": "two searches",
            "name": "researcher",
            "tool_calls": [
                {"id": "tc1", "type": "function", "function": {"name": "search", "arguments": '{"q": "streams"}'}},
                {"id": "tc2", "type": "function", "function": {"name": "search", "arguments": '{"q": "pubsub"}'}},
            ],
        },
        {"role": "tool", "content": "consumer groups", "tool_call_id": "tc1", "name": "search"},
        {"role": "tool", "content": "boom", "tool_call_id": "tc2", "name": "search"},
        {"role": "assistant", "content": "one of two answered", "name": "researcher"},
    ]
    assert losses.counts == {
        "id": 6,
        "usage": 1,
        "langchain response_metadata": 1,
        "langchain artifact": 1,
        "result's failed": 2,
    }
    assert "id 6 (first at messages[0]), " in str(losses)


def test_autogen_is_told_the_whole_conversation() -> None:
    losses = Losses()
    told = to_autogen(from_langchain(CONVERSATION), losses, system=False)
    calls = [
        FunctionCall(id="tc1", name="search", arguments='{"q": "streams"}'),
        FunctionCall(id="tc2", name="search", arguments='{"q": "pubsub"}'),
    ]
    assert told == [
        UserMessage(content="write about streams", source="ann"),
        AssistantMessage(content=calls, thought="two searches", source="researcher"),
        FunctionExecutionResultMessage(content=[_executed("consumer groups", "tc1", failed=False)]),
        FunctionExecutionResultMessage(content=[_executed("boom", "tc2", failed=True)]),
        AssistantMessage(content="one of two answered", source="researcher"),
    ]
    assert losses.counts == {
        "system message": 1,
        "id": 5,
        "usage": 1,
        "text": 1,
        "langchain response_metadata": 1,
        "langchain artifact": 1,
    }


def _executed(content: str, call_id: str, *, failed: bool) -> FunctionExecutionResult:
    return FunctionExecutionResult(content=content, name="search", call_id=call_id, is_error=failed)


def test_langchain_is_told_of_autogens_parallel_results_one_by_one() -> None:
    both = [_executed("consumer groups", "tc1", failed=False), _executed("boom", "tc2", failed=True)]
    calls = [FunctionCall(id=call, name="search", arguments='{"q": 1}') for call in ("tc1", "tc2")]
    given: list[Any] = [
        AssistantMessage(content=calls, source="researcher"),
        FunctionExecutionResultMessage(content=both),
    ]
    losses = Losses()
    ai, first, second = to_langchain(from_autogen(given), losses)
    assert isinstance(ai, AIMessage)
    assert isinstance(first, ToolMessage)
    assert isinstance(second, ToolMessage)
    assert [call["args"] for call in ai.tool_calls] == [{"q": 1}, {"q": 1}]
    assert (first.content, first.tool_call_id, first.status) == ("consumer groups", "tc1", "success")
    assert (second.content, second.tool_call_id, second.status) == ("boom", "tc2", "error")
    assert not losses


def test_arguments_that_are_no_json_stay_as_they_came() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"q": '}}
    [message] = from_crewai([{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert message.calls == [ToolCall(id="c", name="search", raw='{"q": ')]
    ai = to_langchain([message])[0]
    assert isinstance(ai, AIMessage)
    assert ai.invalid_tool_calls[0]["args"] == '{"q": '
    assert to_autogen([message])[0].content == [FunctionCall(id="c", name="search", arguments='{"q": ')]


PNG = Blob(mime="image/png", data=b"\x89PNG")


@pytest.mark.parametrize(
    ("write", "part", "written", "lost"),
    [
        (to_crewai, PNG, [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}], {}),
        (to_crewai, Thought(text="hm"), "", {"thought": 1}),
        (to_crewai, Data(value={"a": 1}), [{"type": "text", "text": '{"a":1}'}], {"data": 1}),
        (to_autogen, Thought(text="hm"), "", {}),
        (to_autogen, Data(value={"a": 1}), '{"a":1}', {"data": 1}),
        (to_autogen, Blob(mime="image/png", url="https://x/y"), "[image/png: https://x/y]", {"blob": 1}),
        (to_autogen, Blob(mime="audio/wav", data=b"1234"), "[audio/wav: 4 bytes]", {"blob": 1}),
    ],
)
def test_what_has_no_counterpart_becomes_text_or_a_counted_loss(
    write: Any, part: Any, written: Any, lost: dict[str, int]
) -> None:
    losses = Losses()
    [message] = write([Message(role="assistant", author="a", parts=[part])], losses)
    assert (message["content"] if isinstance(message, dict) else message.content) == written
    assert losses.counts == lost


def test_a_message_that_was_edited_is_written_as_edited() -> None:
    given = [HumanMessage([{"type": "text", "text": "old", "cache_control": {"type": "ephemeral"}}], id="h")]
    [message] = from_langchain(given)
    [same] = to_langchain([message])
    assert same == given[0]
    [edited] = to_langchain([message.model_copy(update={"parts": [Text(text="new")]})])
    assert edited == HumanMessage("new", id="h")


# Tool loops


def call(*ids: str) -> Message:
    return Message(role="assistant", parts=[ToolCall(id=each, name="look") for each in ids])


def result(*ids: str) -> Message:
    return Message(role="tool", parts=[ToolResult(call_id=each, content=[Text(text=f"r-{each}")]) for each in ids])


def said(text: str) -> Message:
    return Message(role="user", parts=[Text(text=text)])


def test_a_call_without_a_result_is_closed_with_a_failed_one() -> None:
    losses = Losses()
    messages = whole([said("hi"), call("1", "2"), result("2")], losses)
    closed = ToolResult(call_id="1", name="look", content=[Text(text=UNFINISHED)], failed=True)
    assert messages == [said("hi"), call("1", "2"), result("2"), Message(role="tool", parts=[closed])]
    assert losses.counts == {"unfinished call": 1}


def test_results_move_up_behind_their_call() -> None:
    losses = Losses()
    assert whole([call("1"), said("and?"), result("1")], losses) == [call("1"), result("1"), said("and?")]
    assert losses.counts == {"place of a result": 1}


def test_a_result_without_a_call_becomes_a_text() -> None:
    losses = Losses()
    assert whole([result("1"), said("hi")], losses) == [said("Result of a tool: r-1"), said("hi")]
    assert losses.counts == {"result without a call": 1}


def test_ids_that_models_use_again_belong_to_the_nearest_call() -> None:
    losses = Losses()
    messages = [call("1"), result("1"), call("1"), result("1")]
    assert whole(messages, losses) == messages
    assert not losses


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(*[st.builds(make, st.sampled_from("123")) for make in (call, result, said)]), max_size=8))
def test_every_call_has_its_results_right_behind_it(messages: list[Message]) -> None:
    made = whole(messages, Losses())
    open_calls: list[str] = []
    for message in made:
        if message.role == "tool":
            for each in message.results:
                open_calls.remove(each.call_id)
        else:
            assert not open_calls
            open_calls = [each.id or "" for each in message.calls]
    assert not open_calls
    kept = [message for message in messages if message.role != "tool"]
    told = [m for m in made if m.role != "tool" and not m.text.startswith("Result of a tool")]
    assert told == kept
    assert whole(made, again := Losses()) == made
    assert not again


# The models


def test_parts_that_do_not_fit_the_role_are_refused() -> None:
    for role, part in (("user", ToolCall(name="x")), ("user", ToolResult()), ("tool", Text(text="x"))):
        with pytest.raises(ValidationError, match=f"a message of role {role!r} has a {part.kind}"):
            Message.model_validate({"role": role, "parts": [part]})
    with pytest.raises(ValidationError, match="one of both"):
        Blob(mime="image/png")


def test_a_transcript_is_stored_as_plain_values_and_as_json() -> None:
    transcript = Transcript(messages=[Message(role="user", parts=[PNG])], variables={"n": 1}, agent="a")
    assert Transcript.load(unpack(pack(transcript.dump()))) == transcript
    assert Transcript.model_validate_json(transcript.model_dump_json()) == transcript
    said = transcript.dump()
    for wrong in (3, {}, {**said, "v": 2}, {**said, "messages": [{"role": "king"}]}):
        with pytest.raises(bp.Corrupted, match="a stored transcript"):
            Transcript.load(wrong)


# States


def test_messages_that_a_graph_keeps_as_objects_are_read_as_well() -> None:
    told = [{"type": "human", "content": "write about streams", "id": "h-1", "name": "ann"}]
    unknown = UnknownValue(
        "langchain_core.HumanMessage", pack({"content": "write about streams", "id": "h-1", "name": "ann"})
    )
    for messages in (told, [CONVERSATION[1]], [unknown]):
        losses = Losses()
        read = LangGraphAdapter.read_transcript(Saved("langgraph", {"n": 1, "messages": messages}, None), losses)
        assert read == Transcript(messages=from_langchain(CONVERSATION[1:2]), variables={"n": 1})
        assert not losses


def test_a_teams_thread_is_read_message_by_message() -> None:
    spoken: list[Any] = [
        TextMessage(source="user", content="go"),
        ThoughtEvent(source="one", content="hm"),
        ToolCallRequestEvent(source="one", content=[FunctionCall(id="c", name="look", arguments="{}")]),
        ToolCallExecutionEvent(source="one", content=[_executed("r", "c", failed=True)]),
        TextMessage(source="one", content="said", models_usage=RequestUsage(prompt_tokens=3, completion_tokens=1)),
        MultiModalMessage(source="one", content=["see"]),
        SelectorEvent(source="manager", content="two"),
        StopMessage(source="two", content="enough"),
    ]
    losses = Losses()
    native = {"stop": None, "asks": None}
    saved = Saved("autogen", {"messages": [message.dump() for message in spoken]}, native)
    read = AutoGenAdapter.read_transcript(saved, losses)
    assert [(message.role, message.author, message.parts) for message in read.messages] == [
        ("user", "user", [Text(text="go")]),
        ("assistant", "one", [Thought(text="hm"), ToolCall(id="c", name="look")]),
        ("tool", "one", [ToolResult(call_id="c", name="search", content=[Text(text="r")], failed=True)]),
        ("assistant", "one", [Text(text="said")]),
        ("assistant", "one", [Text(text="see")]),
        ("assistant", "two", [Text(text="enough")]),
    ]
    assert read.messages[3].usage == Usage(input=3, output=1)
    assert losses.counts == {"autogen SelectorEvent": 1}
    assert [(work.kind, work.name) for work in read.pending] == [("turn", "next")]
    assert [work.name for work in read.completed] == ["one", "one", "two"]


def test_a_flows_state_and_methods_are_read() -> None:
    native = {"v": 1, "entries": [{"method": "start", "result": 3}], "asked": {"review#0": "x"}}
    read = CrewAIAdapter.read_transcript(Saved("crewai", {"n": 1}, native), Losses())
    assert read == Transcript(
        variables={"n": 1},
        completed=[Work(kind="method", name="start", output=3)],
        pending=[Work(kind="question", name="review#0")],
    )


def test_what_a_task_ended_with_is_told_once() -> None:
    def told(raw: str) -> list[str]:
        messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "all done \n"}]
        native = {"v": 1, "outputs": {"k#0": {"task": "t", "agent": "writer", "messages": messages}}}
        read = CrewAIAdapter.read_transcript(Saved("crewai", {"tasks": {"t": {"raw": raw}}}, native), Losses())
        return [message.text for message in read.messages]

    assert told("all done") == ["go", "all done \n"]
    assert told("ALL DONE") == ["go", "all done \n", "ALL DONE"]  # a guardrail has changed it

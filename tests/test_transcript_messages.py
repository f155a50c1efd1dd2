"""Messages go into the portable transcript and come back as they were. What has no counterpart there is counted."""

from __future__ import annotations

import base64
import json
from io import BytesIO
from typing import Any

import pytest
from autogen_core import FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core import messages as lc
from PIL import Image as Picture

from batonpass.adapters.autogen.transcript.messages import AUTOGEN, to_autogen, write_messages
from batonpass.adapters.crewai.transcript.messages import to_crewai
from batonpass.adapters.langgraph.transcript.messages import to_langchain
from batonpass.contracts.codec import pack, unpack
from batonpass.contracts.transcript import Blob, Data, Message, Text, Thought, ToolCall, ToolResult, Transcript, Usage
from batonpass.contracts.transcript_losses import Losses

from .portable import from_autogen, from_crewai, from_langchain

few = settings(max_examples=150, deadline=None)
text = st.text(max_size=12)
word = st.text("abcdefgh-_", min_size=1, max_size=8)
maybe = st.none() | word
count = st.integers(0, 5000)
plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(word, plain, max_size=3)
picture = st.binary(max_size=20)


def whole(messages: list[Message]) -> list[Message]:
    """Each message with calls is followed by their results, as in a real conversation."""
    found: list[Message] = []
    for message in messages:
        found.append(message)
        for number, call in enumerate(message.calls):
            said = ToolResult(
                call_id=call.id or "", name=call.name, content=[Text(text=f"r{number}")], failed=number % 2 == 1
            )
            found.append(Message(role="tool", id=f"r-{call.id}", parts=[said]))
    return found


# LangChain's messages

blocks = st.one_of(
    text.filter(bool),
    st.builds(lambda said: {"type": "text", "text": said}, text),
    st.builds(lambda said: {"type": "text", "text": said, "cache_control": {"type": "ephemeral"}}, text),
    st.builds(lambda said: {"type": "reasoning", "reasoning": said}, text),
    st.builds(lambda said: {"type": "thinking", "thinking": said, "signature": "s"}, text),
    st.builds(lambda url: {"type": "image_url", "image_url": {"url": f"https://x/{url}"}}, word),
    st.builds(lambda url: {"type": "image_url", "image_url": f"data:image/png;base64,{url}"}, word),
    st.builds(lambda b: {"type": "image", "base64": base64.b64encode(b).decode(), "mime_type": "image/png"}, picture),
    st.builds(lambda b: {"type": "image", "source": {"type": "base64", "data": b}}, word),
    st.builds(lambda url: {"type": "file", "url": url, "mime_type": "application/pdf"}, word),
    st.builds(lambda value: {"type": "server_tool_use", "input": value}, plain),
)
content = text | st.lists(blocks, max_size=3)
common: dict[str, Any] = {
    "id": maybe,
    "name": maybe,
    "additional_kwargs": st.dictionaries(st.just("extra"), plain, max_size=1),
    "response_metadata": st.dictionaries(word, plain, max_size=2),
}
lc_calls = st.lists(
    st.fixed_dictionaries({"id": word, "name": word, "args": arguments, "type": st.just("tool_call")}), max_size=3
)
lc_wrong = st.lists(
    st.fixed_dictionaries(
        {"id": maybe, "name": maybe, "args": st.none() | text, "error": maybe, "type": st.just("invalid_tool_call")}
    ),
    max_size=2,
)
usage_metadata = st.none() | st.builds(
    lambda i, o, more: {"input_tokens": i, "output_tokens": o, "total_tokens": i + o + len(more), **more},
    count,
    count,
    st.just({}) | st.just({"input_token_details": {"cache_read": 3}}),
)
lc_ai = st.builds(
    lc.AIMessage,
    content=content,
    tool_calls=lc_calls,
    invalid_tool_calls=lc_wrong,
    usage_metadata=usage_metadata,
    **common,
)
lc_message = st.one_of(
    st.builds(lc.HumanMessage, content=content, **common),
    st.builds(lc.SystemMessage, content=content, **common),
    st.builds(lc.ChatMessage, content=content, role=word, **common),
    lc_ai,
    st.builds(
        lc.ToolMessage,
        content=content,
        tool_call_id=word,
        status=st.sampled_from(["success", "error"]),
        artifact=plain,
        **common,
    ),
)


@few
@given(lc_message)
def test_every_langchain_message_comes_back_equal(message: lc.BaseMessage) -> None:
    [portable] = from_langchain([message])
    stored = Transcript.load(unpack(pack(Transcript(messages=[portable]).dump())))
    # A single message may be a call without its result, which writing a whole conversation would close.
    again = to_langchain(stored.messages)
    if portable.role == "tool":
        assert stored.messages == [portable]
    else:
        assert again[0] == message


@few
@given(st.lists(lc_message.filter(lambda message: not isinstance(message, lc.ToolMessage)), max_size=3))
def test_langchain_conversations_with_tools_come_back_equal(messages: list[lc.BaseMessage]) -> None:
    conversation = whole(from_langchain(messages))
    losses = Losses()
    there = to_langchain(conversation, losses)
    assert from_langchain(there) == conversation
    assert not losses


# CrewAI's

parts = st.one_of(
    st.builds(lambda said: {"type": "text", "text": said}, text),
    st.builds(lambda url: {"type": "image_url", "image_url": {"url": f"https://x/{url}"}}, word),
    st.builds(lambda url: {"type": "image_url", "image_url": {"url": f"https://x/{url}", "detail": "low"}}, word),
    st.builds(lambda data: {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}, word),
    st.builds(lambda value: {"type": "strange", "strange": value}, plain),
)
openai_content = text | st.lists(parts, max_size=3)
as_json = arguments.map(json.dumps) | arguments.map(lambda value: json.dumps(value, indent=1)) | text
openai_calls = st.lists(
    st.builds(
        lambda id, name, args: {"id": id, "type": "function", "function": {"name": name, "arguments": args}},
        word,
        word,
        as_json,
    ),
    min_size=1,
    max_size=3,
)
openai_message = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "system", "developer"]), "content": openai_content}, optional={"name": word}
    ),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": st.none() | openai_content},
        optional={"name": word, "tool_calls": openai_calls, "cache_breakpoint": st.booleans()},
    ),
    st.fixed_dictionaries({"role": st.just("assistant"), "tool_calls": openai_calls}),
)


@few
@given(openai_message)
def test_every_crewai_message_comes_back_equal(message: dict[str, Any]) -> None:
    assert to_crewai(from_crewai([message]))[0] == message


@few
@given(st.lists(st.tuples(word, st.none() | word, openai_content), min_size=1, max_size=3, unique_by=lambda t: t[0]))
def test_crewai_tool_loops_come_back_equal(results: list[tuple[str, str | None, Any]]) -> None:
    calls = [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}} for id, _, _ in results]
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": calls}]
    for id, name, said in results:
        messages.append({"role": "tool", "tool_call_id": id, "content": said, **({"name": name} if name else {})})
    losses = Losses()
    assert to_crewai(from_crewai(messages), losses) == messages
    assert not losses


# AutoGen's


def image(colour: tuple[int, int, int]) -> Image:
    buffer = BytesIO()
    Picture.new("RGB", (2, 2), colour).save(buffer, format="PNG")
    return Image.from_base64(base64.b64encode(buffer.getvalue()).decode())


byte = st.integers(0, 255)
function_calls = st.lists(
    st.builds(FunctionCall, id=word, name=word, arguments=as_json), min_size=1, max_size=3, unique_by=lambda c: c.id
)
user_content = text | st.lists(text | st.builds(image, st.tuples(byte, byte, byte)), max_size=3)
autogen_message = st.one_of(
    st.builds(SystemMessage, content=text),
    st.builds(UserMessage, content=user_content, source=word),
    st.builds(AssistantMessage, content=text | function_calls, thought=st.none() | text, source=word),
)


@few
@given(st.lists(autogen_message, max_size=3))
def test_autogen_conversations_with_tools_come_back_equal(messages: list[Any]) -> None:
    conversation: list[Any] = []
    for message in messages:
        conversation.append(message)
        if isinstance(message, AssistantMessage) and isinstance(message.content, list):
            executed = [
                FunctionExecutionResult(content="r", name=call.name, call_id=call.id, is_error=[None, True, False][n])
                for n, call in enumerate(message.content)
            ]
            conversation.append(FunctionExecutionResultMessage(content=executed))
    losses = Losses()
    again = to_autogen(from_autogen(conversation), losses)
    assert [each.model_dump() for each in again] == [each.model_dump() for each in conversation]
    assert not losses


# Portable messages

part = st.one_of(
    st.builds(Text, text=text.filter(bool)),
    st.builds(Blob, mime=st.sampled_from(["image/png", "audio/wav", "application/pdf", ""]), data=picture),
    st.builds(Blob, mime=st.sampled_from(["image/png", ""]), url=word.map("https://x/".__add__)),
    st.builds(Data, value=plain),
)
thought = st.builds(Thought, text=text)
call = st.builds(ToolCall, id=word, name=word, arguments=arguments)
said_usage = st.none() | st.builds(Usage, input=count, output=count)
portable = st.one_of(
    st.builds(
        Message, role=st.sampled_from(["user", "system"]), parts=st.lists(part, max_size=3), author=maybe, id=maybe
    ),
    st.builds(
        Message,
        role=st.just("assistant"),
        parts=st.builds(
            lambda said, calls: [*said, *calls],
            st.lists(part | thought, max_size=3),
            st.lists(call, max_size=2, unique_by=lambda c: c.id),
        ),
        author=maybe,
        id=maybe,
        usage=said_usage,
    ),
)
THERE_AND_BACK: dict[str, Any] = {
    "langchain": (to_langchain, from_langchain),
    "crewai": (to_crewai, from_crewai),
    "autogen": (write_messages, lambda written: [AUTOGEN.read(fields) for fields in written]),
}


@pytest.mark.parametrize("framework", THERE_AND_BACK)
@few
@given(messages=st.lists(portable, max_size=3))
def test_what_no_loss_is_reported_of_comes_back(framework: str, messages: list[Message]) -> None:
    there, back = THERE_AND_BACK[framework]
    conversation = whole(messages)
    losses = Losses()
    came = back(there(conversation, losses))
    bare = [message.model_copy(update={"native": {}}) for message in came]
    if not losses:
        assert [said(message) for message in bare] == [said(message) for message in conversation]


def said(message: Message) -> Any:
    """What a message says. A name that a framework insists on is no loss."""
    return message.role, message.parts, message.id or "", message.usage

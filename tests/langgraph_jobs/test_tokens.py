"""What a graph's models stream is on the job's stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from ..apps.langgraph_kit import graph
from .test_stream import streamed

pytestmark = pytest.mark.capability("langgraph")


class Telling(BaseChatModel):
    """A scripted model that streams if it is told to, as those of the providers do."""

    contents: list[Any]
    streaming: bool = False

    @property
    def _llm_type(self) -> str:
        return "telling"

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for content in self.contents:
            yield ChatGenerationChunk(message=AIMessageChunk(content=content))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="".join(self.contents)))])


def saying(*contents: Any, **options: Any) -> Telling:
    return Telling(contents=list(contents), **options)


async def test_they_are_told_apart_and_come_in_order() -> None:
    async def awaited(state: Any) -> Any:
        return {"notes": [(await saying("so ", "it ", "", "is", streaming=True).ainvoke("?")).text]}

    def threaded(state: Any) -> Any:
        return {"notes": ["".join(part.text for part in saying("by ", "hand").stream("?"))]}

    parts, notes = await streamed(lambda: graph(awaited, threaded))
    assert notes == ["so it is", "by hand"]
    assert [part["chunk"] for part in parts] == ["so ", "it ", "is", "by ", "hand"]
    assert [part["agent"] for part in parts] == ["awaited"] * 3 + ["threaded"] * 2


async def test_of_content_blocks_their_text() -> None:
    def node(state: Any) -> Any:
        model = saying([{"type": "text", "text": "in "}], [{"type": "text", "text": "blocks"}], streaming=True)
        return {"notes": [str(model.invoke("?").text)]}

    parts, notes = await streamed(lambda: graph(node))
    assert ([part["chunk"] for part in parts], notes) == (["in ", "blocks"], ["in blocks"])


async def test_a_named_agent_speaks_under_its_name() -> None:
    def node(state: Any) -> Any:
        model = saying("hi", streaming=True).with_config(metadata={"lc_agent_name": "clerk"})
        return {"notes": [model.invoke("?").text]}

    parts, _ = await streamed(lambda: graph(node))
    assert parts == [{"agent": "clerk", "chunk": "hi"}]


async def test_those_that_do_not_stream_or_that_nobody_should_hear_are_left_alone() -> None:
    def node(state: Any) -> Any:
        unheard = saying("un", "heard", streaming=True).with_config(tags=["nostream"])
        return {"notes": [saying("not ", "streamed").invoke("?").text, unheard.invoke("?").text]}

    parts, notes = await streamed(lambda: graph(node))
    assert (parts, notes) == ([], ["not streamed", "unheard"])

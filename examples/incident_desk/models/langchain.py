"""The triage agent's model, as LangChain's chat model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from . import prose
from .endpoint import endpoint, needs_extra


def chat_model() -> BaseChatModel:
    """The endpoint's model, else the offline one."""
    real = endpoint()
    if real is None:
        return OfflineChatModel()
    make = needs_extra("langchain_openai", "ChatOpenAI")
    model: BaseChatModel = make(model=real.model, base_url=real.base_url, api_key=real.api_key)
    return model


class OfflineChatModel(BaseChatModel):
    """Rules in a chat model's place: asks for the tools that have not answered yet, then sums their answers up."""

    @property
    def _llm_type(self) -> str:
        return "batonpass-offline"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        offered = [tool["function"]["name"] for tool in kwargs.get("tools", [])]
        results = [(str(m.name), json.loads(str(m.content))) for m in messages if isinstance(m, ToolMessage)]
        calls = prose.next_calls(offered, results)
        turn = sum(isinstance(m, AIMessage) for m in messages)
        answer = AIMessage(
            content="" if calls else prose.summary(results),
            tool_calls=[
                {"name": name, "args": args, "id": f"call-{turn}-{n}", "type": "tool_call"}
                for n, (name, args) in enumerate(calls)
            ],
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])

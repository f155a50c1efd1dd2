"""The review team's model, as AutoGen's chat completion client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from . import prose
from .endpoint import endpoint, needs_extra

_INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, family=ModelFamily.UNKNOWN, structured_output=True
)


def review_client() -> ChatCompletionClient:
    """The endpoint's model, else the offline one."""
    real = endpoint()
    if real is None:
        return OfflineClient()
    make = needs_extra("autogen_ext.models.openai", "OpenAIChatCompletionClient")
    client: ChatCompletionClient = make(
        model=real.model, base_url=real.base_url, api_key=real.api_key, model_info=_INFO
    )
    return client


class OfflineClient(ChatCompletionClient):
    """Rules in a model's place: checks the draft's figures, or fills in the typed report where one is asked for."""

    component_type = "replay"
    component_provider_override = "batonpass.examples.incident_desk.models.autogen.OfflineClient"
    component_config_schema = BaseModel

    def __init__(self) -> None:
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        json_output: bool | type[BaseModel] | None = None,
        **_: Any,
    ) -> CreateResult:
        said = [(m.source, str(m.content)) for m in messages if isinstance(m, UserMessage | AssistantMessage)]
        text = prose.report(said) if json_output else prose.verdict(said)
        return CreateResult(finish_reason="stop", content=text, usage=self._usage, cached=False)

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        json_output: bool | type[BaseModel] | None = None,
        **_: Any,
    ) -> AsyncGenerator[str | CreateResult, None]:
        yield await self.create(messages, json_output=json_output)

    async def close(self) -> None:
        """Nothing is open."""

    def actual_usage(self) -> RequestUsage:
        return self._usage

    def total_usage(self) -> RequestUsage:
        return self._usage

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()) -> int:
        return sum(len(str(message.content)) for message in messages) // 4

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()) -> int:
        return 100_000

    @property
    def capabilities(self) -> ModelInfo:
        return _INFO

    @property
    def model_info(self) -> ModelInfo:
        return _INFO

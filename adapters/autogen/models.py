"""JournaledModel: a member's model, which is not asked again what it answered before a crash."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, ModelInfo, RequestUsage

from .journal import current

# How many messages of a request tell it from others, beside their number: a whole context may be long.
_LAST = 3


class JournaledModel(ChatCompletionClient):
    """Another model's client, as one member calls it."""

    def __init__(self, caller: str, inner: ChatCompletionClient) -> None:
        self._caller = caller
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        journal = current.get()
        if journal is None:
            return await self._inner.create(messages, **options)

        async def ask() -> dict[str, Any]:
            result = await self._inner.create(messages, **options)
            journal.spend(result.usage)
            return result.model_dump(mode="json")

        return CreateResult.model_validate(await journal.call(self._caller, _request(messages), ask))

    async def create_stream(self, messages: Sequence[LLMMessage], **options: Any) -> AsyncGenerator[str | CreateResult]:
        """The parts and the result; of a recorded answer only the result."""
        journal = current.get()
        if journal is None:
            async for part in self._inner.create_stream(messages, **options):
                yield part
            return
        digest, answer = journal.recall(self._caller, _request(messages))
        if answer is not None:
            yield CreateResult.model_validate(answer)
            return
        async for part in self._inner.create_stream(messages, **options):
            if isinstance(part, CreateResult):
                journal.spend(part.usage)
                await journal.record(self._caller, digest, part.model_dump(mode="json"))
            yield part

    async def close(self) -> None:
        await self._inner.close()

    def actual_usage(self) -> RequestUsage:
        return self._inner.actual_usage()

    def total_usage(self) -> RequestUsage:
        return self._inner.total_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        return self._inner.count_tokens(messages, **options)

    def remaining_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        return self._inner.remaining_tokens(messages, **options)

    @property
    def capabilities(self) -> Any:
        return self._inner.capabilities  # pyright: ignore[reportDeprecated]

    @property
    def model_info(self) -> ModelInfo:
        return self._inner.model_info


def _request(messages: Sequence[LLMMessage]) -> list[Any]:
    return [len(messages), *(message.model_dump(mode="json") for message in messages[-_LAST:])]

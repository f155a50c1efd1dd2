"""JournaledModel: a model that doesn't answer a question again that it answered before a crash.

A member's model is identified by its member's name. Models that the team's own code calls (a `selector_func`, an
agent's list of them) are identified by their class.
"""

from __future__ import annotations

import inspect
from asyncio import get_running_loop
from collections.abc import AsyncGenerator, Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from types import SimpleNamespace
from typing import Any

from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, ModelInfo, RequestUsage
from pydantic import BaseModel

from .journal import current, each_within, within

# How many messages at its end identify a request, together with their number: a whole context may be long.
_LAST = 3
_WATCHED = "watched_by_batonpass"

# Whether a call is recorded already: a client may call another one, or its base class.
_asking: ContextVar[bool] = ContextVar("batonpass_autogen_asking", default=False)


class JournaledModel(ChatCompletionClient):
    """Another model's client, as one member calls it. `last` is how many messages of a request are compared."""

    def __init__(self, caller: str, inner: ChatCompletionClient, last: int = _LAST) -> None:
        self._caller = caller
        self._inner = inner
        self._last = last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def create(self, messages: Sequence[LLMMessage], *rest: Any, **options: Any) -> CreateResult:
        journal = current.get()
        if journal is None:
            return await self._inner.create(messages, *rest, **options)

        async def ask() -> dict[str, Any]:
            with within(_asking, True):
                result = await self._inner.create(messages, *rest, **options)
            journal.spend(result.usage)
            return result.model_dump(mode="json")

        return CreateResult.model_validate(await journal.call(self._caller, self._request(messages), ask))

    async def create_stream(
        self, messages: Sequence[LLMMessage], *rest: Any, **options: Any
    ) -> AsyncGenerator[str | CreateResult]:
        """The parts and the result. Only the result if the answer was recorded."""
        journal = current.get()
        if journal is None:
            async for part in self._inner.create_stream(messages, *rest, **options):
                yield part
            return
        digest, answer = journal.recall(self._caller, self._request(messages))
        if answer is not None:
            yield CreateResult.model_validate(answer)
            return
        with journal.asking(self._caller):
            async for part in each_within(_asking, True, self._inner.create_stream(messages, *rest, **options)):
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

    def _request(self, messages: Sequence[LLMMessage]) -> list[Any]:
        return [len(messages), *(message.model_dump(mode="json") for message in messages[-self._last :])]


def watch_models(kind: type[Any] = ChatCompletionClient) -> None:
    """Change every class of clients, each once: in a turn, the turn's journal answers for them."""
    if _WATCHED not in vars(kind) and kind is not JournaledModel:
        setattr(kind, _WATCHED, True)
        for name, watched in (("create", _watched), ("create_stream", _watched_stream)):
            function = vars(kind).get(name)
            if inspect.isfunction(function) and not getattr(function, "__isabstractmethod__", False):
                setattr(kind, name, watched(function))
    for each in kind.__subclasses__():
        watch_models(each)


def _of_turn(client: Any, messages: Sequence[Any], **originals: Callable[..., Any]) -> Any:
    """What answers for a client that a turn's own code calls: the journal, or the class's own functions. Those answer
    if no turn runs in this event loop (a tool's thread may have its own loop), if the call is part of one that is
    recorded already, or if the request can't be told from others."""
    original: Any = SimpleNamespace(**{name: function.__get__(client) for name, function in originals.items()})
    journal = current.get()
    if journal is None or journal.loop is not get_running_loop() or _asking.get():
        return original
    if not all(isinstance(message, BaseModel) for message in messages):
        return original
    return JournaledModel(journal.own(client), original, len(messages))


def _watched(create: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(create)
    async def watched(client: Any, messages: Sequence[LLMMessage], *rest: Any, **options: Any) -> CreateResult:
        result: CreateResult = await _of_turn(client, messages, create=create).create(messages, *rest, **options)
        return result

    return watched


def _watched_stream(create_stream: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(create_stream)
    async def watched(
        client: Any, messages: Sequence[LLMMessage], *rest: Any, **options: Any
    ) -> AsyncGenerator[str | CreateResult]:
        model = _of_turn(client, messages, create_stream=create_stream)
        async for part in model.create_stream(messages, *rest, **options):
            yield part

    return watched

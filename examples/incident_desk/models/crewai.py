"""The crew's model, as CrewAI's LLM."""

from __future__ import annotations

from typing import Any

from crewai import BaseLLM
from pydantic import BaseModel

from . import prose
from .endpoint import endpoint, needs_extra


def crew_model() -> BaseLLM:
    """The endpoint's model, else the offline one."""
    real = endpoint()
    if real is None:
        return OfflineLLM(model="batonpass-offline")
    make = needs_extra("crewai", "LLM")
    model: BaseLLM = make(model=f"openai/{real.model}", base_url=real.base_url, api_key=real.api_key)
    return model


class OfflineLLM(BaseLLM):
    """Rules in a model's place: lists the facts of its prompt, or writes them up where a typed answer is asked for."""

    def call(
        self,
        messages: str | list[Any],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Any = None,
        from_agent: Any = None,
        response_model: type[BaseModel] | None = None,
    ) -> str:
        prompt = messages if isinstance(messages, str) else "\n".join(str(m["content"]) for m in messages)
        return prose.post_mortem(prompt) if response_model else prose.facts(prompt)

    def get_input_tokens_count(
        self,
        messages: str | list[Any],
        tools: list[dict[str, Any]] | None = None,
        response_model: type[BaseModel] | None = None,
    ) -> int:
        """CrewAI's own estimate, without the warning that it is one."""
        return len(str(messages)) // 4

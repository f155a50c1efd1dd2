"""Tokens: passes what a graph's models stream on to the job's stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langgraph.constants import TAG_NOSTREAM


class StreamedTokens(BaseCallbackHandler):
    """LangChain calls this for each token of a model that streams, anywhere in the graph. Those that don't are left
    alone: LangGraph's own handler would have all of them stream."""

    run_inline = True  # in the order in which the tokens come

    def __init__(self, write: Callable[[Any], None]) -> None:
        self._write = write
        self._speakers: dict[UUID, str] = {}

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[Any]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Note who speaks: the agent that the model belongs to, or the node."""
        self.on_llm_start(serialized, [], run_id=run_id, **kwargs)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """The same of a model that does not chat. `nostream` is LangGraph's tag for a model that users don't hear."""
        if TAG_NOSTREAM not in (tags or ()):
            about = metadata or {}
            self._speakers[run_id] = about.get("lc_agent_name") or about.get("langgraph_node", "")

    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """Send a token. Some models give content blocks in its place: their text is in the chunk."""
        text = token if chunk is None else chunk.text
        if text and isinstance(text, str) and run_id in self._speakers:
            self._write({"agent": self._speakers[run_id], "chunk": text})

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A model has answered."""
        self._speakers.pop(run_id, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A model has failed."""
        self._speakers.pop(run_id, None)

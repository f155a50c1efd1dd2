"""Tokens: passes what a graph's models stream on to the job's stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.utils.utils import LC_ID_PREFIX
from langgraph.constants import TAG_NOSTREAM

# How LangGraph's own agents call the node of their model. The node that the agent is tells them apart.
_OF_AGENTS = ("agent", "model")


class StreamedTokens(BaseCallbackHandler):
    """LangChain calls this for each token of a model that streams, anywhere in the graph. Those that don't are left
    alone: LangGraph's own handler would have all of them stream."""

    run_inline = True  # in the order in which the tokens come

    def __init__(self, write: Callable[[Any], None], lease: int) -> None:
        self._write = write
        self._lease = lease
        self._answers: dict[UUID, dict[str, Any]] = {}

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
            path = str(about.get("langgraph_checkpoint_ns", ""))
            # LangChain gives the message this id, too, unless the provider has one for it.
            self._answers[run_id] = {
                "agent": about.get("lc_agent_name") or _speaker(path, about.get("langgraph_node", "")),
                "message": f"{LC_ID_PREFIX}-{run_id}",
                "path": path,
                "lease": self._lease,
            }

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
        if text and isinstance(text, str) and run_id in self._answers:
            self._write({**self._answers[run_id], "chunk": text})

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A model has answered."""
        self._answers.pop(run_id, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A model has failed."""
        self._answers.pop(run_id, None)


def _speaker(path: str, node: str) -> str:
    steps = path.split("|")
    return steps[-2].partition(":")[0] if node in _OF_AGENTS and len(steps) > 1 else node

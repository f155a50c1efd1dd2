"""Usage: counts what a graph's models use towards the job's budget."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from ....coordinator.session import Session


class CountingUsage(BaseCallbackHandler):
    """LangChain calls this for each model answer, anywhere in the graph."""

    run_inline = True  # counted before the superstep is saved

    def __init__(self, session: Session) -> None:
        self._session = session

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count the tokens that the provider has reported."""
        for generations in response.generations:
            for made in generations:
                if isinstance(made, ChatGeneration) and isinstance(made.message, AIMessage):
                    usage = made.message.usage_metadata
                    self._session.spend(tokens=usage["total_tokens"] if usage else 0)

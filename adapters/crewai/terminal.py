"""Terminal: CrewAI asks people by reading stdin. A worker has nobody at its stdin, so that would block for ever."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from crewai.core.providers.human_input import SyncHumanInputProvider, get_provider, reset_provider, set_provider
from crewai.flow.flow_config import flow_config

from ...contracts.errors import BadSetup
from .stop import Stop


class _NobodyThere(SyncHumanInputProvider):
    """Ends the run instead of reading stdin, for `Task(human_input=True)` and `flow.ask()`."""

    def __init__(self, stop: Stop, agent: str) -> None:
        self._stop = stop
        self._agent = agent

    def handle_feedback(self, formatted_answer: Any, context: Any) -> Any:
        self._end("a task with human_input=True")

    async def handle_feedback_async(self, formatted_answer: Any, context: Any) -> Any:
        self._end("a task with human_input=True")

    def request_input(self, message: str, flow: Any, metadata: Any = None) -> Any:
        self._end("flow.ask()")

    def _end(self, what: str) -> None:
        with self._stop.on_error():
            raise BadSetup(
                f"agent {self._agent!r}: {what} reads the terminal, and a worker has nobody there. "
                "Use a flow with @human_feedback: it suspends the job until job.answer()"
            )


@contextmanager
def no_terminal(stop: Stop, agent: str, flow: Any = None) -> Generator[None]:
    """Where the user set no provider, one that ends the run with an error that says what to do."""
    nobody = _NobodyThere(stop, agent)
    asking = flow if flow_config.input_provider is None and getattr(flow, "input_provider", nobody) is None else None
    if asking is not None:
        asking.input_provider = nobody
    token = set_provider(nobody) if type(get_provider()) is SyncHumanInputProvider else None
    try:
        yield
    finally:
        if token is not None:
            reset_provider(token)
        if asking is not None:
            asking.input_provider = None

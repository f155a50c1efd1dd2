"""Feedback: `@human_feedback` under a job. The question suspends the job, and `job.answer()` gives the feedback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from crewai.flow.async_feedback import ConsoleProvider, HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.persistence import FlowPersistence
from pydantic import BaseModel

from ....contracts.handoff import Answer

# The method call ("review#0") in which the code runs. CrewAI tells a provider only the method.
current_call: ContextVar[str] = ContextVar("batonpass_crewai_call")


def words(value: Any) -> str:
    """An answer as text, which is what CrewAI takes. Values that are not a text become JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


class Feedback:
    """Replaces every feedback provider. It has the answer that resumed the job, and saves a method's output before
    anybody is asked about it. Then it asks the user's own provider, but instead of reading the terminal it suspends the
    job."""

    def __init__(self, answer: Answer | None, save: Callable[[str, str, Any], Awaitable[None]]) -> None:
        self._answer = answer
        self._save = save

    def behind(self, resolve: Callable[..., Any]) -> Callable[..., Any]:
        """The function from which CrewAI gets its provider, changed to return ours."""

        def provider(definition: Any) -> Any:
            own = resolve(definition)
            return _Provider(self, None if isinstance(own, ConsoleProvider) else own)

        return provider

    def answered(self, call: str) -> str | None:
        """The person's answer to this call's question, if the job was resumed with it."""
        if self._answer is None or self._answer.question.get("call") != call:
            return None
        return words(self._answer.value)

    async def ask(self, own: Any, context: PendingFeedbackContext, flow: Any) -> str:
        """The person's words. `HumanFeedbackPending` if the job has to wait for them."""
        call = current_call.get()
        answer = self.answered(call)
        if answer is not None:
            return answer
        await self._save(call, context.method_name, context.method_output)
        if own is None:
            raise HumanFeedbackPending(context)
        said = await asyncio.to_thread(own.request_feedback, context, flow)
        return str(await said if asyncio.iscoroutine(said) else said)


class _Provider:
    def __init__(self, feedback: Feedback, own: Any) -> None:
        self._feedback = feedback
        self._own = own

    def request_feedback(self, context: PendingFeedbackContext, flow: Any) -> Awaitable[str]:
        return self._feedback.ask(self._own, context, flow)


def question(context: PendingFeedbackContext, call: str) -> dict[str, Any]:
    """What the job asks, as plain values. `call` says which call of the method the answer is for."""
    asked = context.to_dict()
    return {
        "message": asked["message"],
        "output": asked["method_output"],
        "method": asked["method_name"],
        "emit": asked["emit"],
        "call": call,
    }


class Nowhere(FlowPersistence):
    """Where a pending flow is saved: nowhere, because our checkpoint has it. CrewAI's default is a file in the user's
    home."""

    persistence_type: str = "Nowhere"

    def init_db(self) -> None: ...
    def save_state(self, flow_uuid: str, method_name: str, state_data: dict[str, Any] | BaseModel) -> None: ...
    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        return None

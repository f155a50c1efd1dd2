"""A worked example of an adapter: agents of Pydantic AI (`pip install pydantic-ai-slim`), resumed between any two
steps.

Its factory returns a `pydantic_ai.Agent`. A step is a model's answer, or the tools that it asked for. The messages so
far are the whole state: a run that is given messages goes on where they end, asks the model or calls the tools.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent as AI
from pydantic_ai import CallToolsNode, ModelRequestNode
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

import batonpass as bp
from batonpass.adapter import Finished, Outcome, Session, Snapshot, built, enter, fit_text, leave


class PydanticAIAdapter:
    """Runs agents of kind "pydantic-ai"."""

    async def run(self, agent: bp.Agent[Any], payload: bp.Contract, session: Session, context: Any) -> Outcome:
        """Run the agent from its last saved message to its output."""
        async with built(agent, context) as made:
            ai: AI[Any, Any] = made
            past, prompt = _past(session), None
            if not past:
                prompt = await enter(agent, payload, context, payload.model_dump_json)
            async with ai.iter(prompt, message_history=past) as run:
                async for node in run:
                    said = run.all_messages()
                    if isinstance(node, ModelRequestNode):
                        said = [*said, node.request]  # what the tools gave: the run takes it in when it asks
                    if isinstance(node, ModelRequestNode | CallToolsNode) and len(said) > len(past):
                        past = said
                        await session.asave(_snapshot(said))
            assert run.result is not None
            output = run.result.output
            return Finished(await leave(agent, output, context, lambda contract: _fitted(contract, output)))


def _past(session: Session) -> list[ModelMessage]:
    if session.checkpoint is None:
        return []
    return ModelMessagesTypeAdapter.validate_python(session.checkpoint.state["messages"])


def _snapshot(said: list[ModelMessage]) -> Snapshot:
    # Lists and texts as they will come back: a state has to be equal after a restore.
    messages = ModelMessagesTypeAdapter.dump_python(said, mode="json")
    return Snapshot(step=said[-1].kind, state={"messages": messages}, framework="pydantic-ai")


def _fitted(contract: type[bp.Contract], output: Any) -> bp.Contract:
    """An output of the contract's type is the result; a text is read as one."""
    return output if isinstance(output, contract) else fit_text(contract, str(output))

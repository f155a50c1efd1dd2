"""A worked example of an adapter: agents of Pydantic AI (`pip install pydantic-ai-slim`), resumed between any two
steps.

Its factory returns a `pydantic_ai.Agent`. A step is a model's answer, or the tools that it asked for. The messages so
far are the whole state: a run that is given messages goes on where they end, asks the model or calls the tools. If a
tool needs an approval (`requires_approval=True`), the job asks people: `True` approves, anything else is told to the
model as the reason why not. Conversations of other agents are taken over as texts. (An agent that begins with one, or
remembers one, gets its `instructions`, but not its `system_prompt`: so does Pydantic AI.)
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent as AI
from pydantic_ai import CallToolsNode, DeferredToolRequests, DeferredToolResults, ModelRequestNode, ToolDenied
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
    repair_messages,
)

import batonpass as bp
from batonpass.adapter import Finished, Losses, Outcome, Saved, Session, Snapshot, Suspended, built, enter, fit, leave

_ROLES = {"user-prompt": "user", "text": "assistant"}


class PydanticAIAdapter:
    """Runs agents of kind "pydantic-ai"."""

    remembers = True  # it reads session.remembered, so its agents may have memory="job" or "thread"

    async def run(self, agent: bp.Agent[Any], payload: bp.Contract, session: Session, context: Any) -> Outcome:
        """Run the agent from its last saved message to its output."""
        async with built(agent, context) as made:
            ai: AI[Any, Any] = made
            past, prompt, spent = _past(session), None, 0
            if session.checkpoint is None:
                prompt = await enter(agent, payload, context, payload.model_dump_json)
            async with ai.iter(prompt, message_history=past, deferred_tool_results=_answered(session)) as run:
                async for node in run:
                    said = run.all_messages()
                    if isinstance(node, ModelRequestNode):
                        said = [*said, node.request]  # what the tools gave: the run takes it in when it asks
                    if isinstance(node, ModelRequestNode | CallToolsNode) and len(said) > len(past):
                        session.spend(tokens=run.usage.total_tokens - spent)
                        past, spent = said, run.usage.total_tokens
                        await session.asave(_snapshot(said))
            assert run.result is not None
            output = run.result.output
            if isinstance(output, DeferredToolRequests):
                return _asked(output, past)
            return Finished(await leave(agent, output, context, lambda contract: fit(contract, output)))

    @staticmethod
    def read_transcript(saved: Saved, losses: Losses) -> bp.Transcript:
        """The texts of the conversation, for agents of other frameworks. (`saved.earlier` is among them.)"""
        messages = list[bp.Message]()
        for part in (part for message in saved.state["messages"] for part in message["parts"]):
            role, text = _ROLES.get(part["part_kind"]), part.get("content")
            if role is None or not isinstance(text, str):
                losses.add(part["part_kind"])
            else:
                messages.append(bp.Message.model_validate({"role": role, "parts": [{"kind": "text", "text": text}]}))
        return bp.Transcript(messages=messages)

    @staticmethod
    def write_transcript(transcript: bp.Transcript, losses: Losses) -> list[dict[str, Any]]:
        """The messages with which an agent takes over a conversation. Counts what is left out."""
        told: list[ModelMessage] = []
        for at, message in enumerate(transcript.messages):
            for part in message.parts:
                if part.kind != "text" or message.role not in _ROLES.values():
                    losses.add(part.kind, f"messages[{at}]")
            if message.text and message.role == "user":
                told.append(ModelRequest([UserPromptPart(message.text)]))
            elif message.text and message.role == "assistant":
                told.append(ModelResponse([TextPart(message.text)]))
        return _dumped(told)


def _past(session: Session) -> list[ModelMessage]:
    if session.checkpoint is not None:
        return _loaded(session.checkpoint.state["messages"])
    # The last visit may have ended in the middle, with calls that have no results.
    past = repair_messages(_loaded(session.remembered.state["messages"])) if session.remembered else []
    if session.news is not None:
        past += _loaded(PydanticAIAdapter.write_transcript(session.news, Losses()))
        session.heard = True
    return past


def _asked(output: DeferredToolRequests, said: list[ModelMessage]) -> Suspended:
    if output.calls:
        raise bp.BadSetup(f"{output.calls[0].tool_name!r} runs elsewhere: let a tool ask for its result with ctx.ask")
    question = [{"tool": call.tool_name, "arguments": call.args_as_dict()} for call in output.approvals]
    return Suspended(question, _snapshot(said, asked=[call.tool_call_id for call in output.approvals]))


def _answered(session: Session) -> DeferredToolResults | None:
    native: Any = session.checkpoint.native if session.checkpoint else None
    if not native or session.answer is None:
        return None
    asked, value = native["asked"], session.answer.value
    return DeferredToolResults(approvals={call: True if value is True else ToolDenied(str(value)) for call in asked})


def _snapshot(said: list[ModelMessage], asked: list[str] | None = None) -> Snapshot:
    step, native = ("asks", {"asked": asked}) if asked else (said[-1].kind, None)
    return Snapshot(step=step, state={"messages": _dumped(said)}, framework="pydantic-ai", native=native)


def _dumped(said: list[ModelMessage]) -> list[dict[str, Any]]:
    # Lists and texts as they will come back: a state has to be equal after a restore.
    dumped: list[dict[str, Any]] = ModelMessagesTypeAdapter.dump_python(said, mode="json")
    return dumped


def _loaded(dumped: list[dict[str, Any]]) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_python(dumped)

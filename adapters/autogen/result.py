"""Result: how a contract goes into a team, and how its result comes out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from autogen_agentchat.base import Handoff, TaskResult
from autogen_agentchat.messages import BaseChatMessage, HandoffMessage, StructuredMessage, TextMessage, ThoughtEvent

from ...contracts.contract import Contract, convert
from ...contracts.errors import BadSetup, ContractViolation
from ...contracts.masked import Masked
from ...contracts.transcript import Transcript
from ..borders import fit_text, only_text_field
from .folding import Dump
from .progress import Progress
from .team import Adopted, Message
from .transcript.messages import to_autogen


def default_task(
    payload: Contract, team: Adopted, inherited: Transcript | None, left: Progress | None
) -> str | HandoffMessage:
    """The payload as one text: its only required text field if nothing else is set, else all of it as JSON.

    The conversation that the job has brought along goes into each assistant's model context. The message that can carry
    it is a handoff.
    """
    field = only_text_field(type(payload))
    plain = field is not None and payload.model_dump(exclude_defaults=True).keys() <= {field}
    text = str(getattr(payload, field or "")) if plain else payload.model_dump_json()
    if inherited is None:
        return text
    context = to_autogen(inherited.messages, system=False)
    to = team.addressee(left.messages if left else ())
    return HandoffMessage(source="user", target=to, content=text, context=context)


def as_dumps(agent: str, task: Any) -> list[Dump]:
    """The team's first messages as dumps, from a text, a message, or several messages."""
    if isinstance(task, str):
        task = TextMessage(content=task, source="user")
    messages: list[Any] = [task] if isinstance(task, BaseChatMessage) or not hasattr(task, "__iter__") else [*task]
    dumps = [message.dump() for message in messages if isinstance(message, BaseChatMessage)]
    if not dumps or len(dumps) != len(messages):
        raise BadSetup(f"enter= of agent {agent!r} gave {messages!r}: return a text or AutoGen's chat messages")
    return dumps


def task_result(team: Adopted, progress: Progress, unread: Sequence[Dump] = ()) -> TaskResult:
    """The team's thread over all turns of this visit, and why it stopped. `leave=` also gets a task that ended the run
    before a member read it. AutoGen's own run also returns what was only streamed: what was said inside a society, and
    whom a selector chose."""
    dumps = [*progress.messages, *unread][progress.since :]
    return TaskResult(messages=[team.message(dump) for dump in dumps], stop_reason=progress.stop)


def default_result(agent: str, result: TaskResult, contract: type[Contract]) -> Contract:
    """The content of the last structured message, else the text of the last message. Of a handoff, what the agent said
    up to it."""
    spoken = [message for message in result.messages if isinstance(message, BaseChatMessage)]
    if not spoken:
        raise ContractViolation(f"the team of agent {agent!r} stopped before anybody spoke: {result.stop_reason}")
    structured: list[Any] = [message for message in spoken if isinstance(message, StructuredMessage)]
    if structured:
        try:
            return convert(contract, structured[-1].content)
        except Masked:
            raise
        except ContractViolation:
            if structured[-1] is spoken[-1]:
                raise
    last = spoken[-1]
    if isinstance(last, HandoffMessage):
        back = reversed(result.messages[: result.messages.index(last)])
        return fit_text(contract, own_words(last, back))
    return fit_text(contract, last.to_text())


def own_words(handoff: HandoffMessage, back: Iterable[Message]) -> str:
    """What an agent said up to its handoff: the handoff's own text is mostly AutoGen's standard sentence. `back` has
    the messages before it, the last one first."""
    words: list[str] = []
    for message in takewhile(lambda each: each.source == handoff.source, back):
        if isinstance(message, ThoughtEvent) or (
            isinstance(message, BaseChatMessage) and not isinstance(message, HandoffMessage)
        ):
            words.insert(0, message.to_text())
    if not words or handoff.content != Handoff(target=handoff.target).message:
        words.append(handoff.content)
    return "\n".join(words)

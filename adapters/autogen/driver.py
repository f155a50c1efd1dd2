"""Driver: takes a team from turn to turn, with one checkpoint after each, until it ends or asks a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from autogen_agentchat.messages import BaseChatMessage, HandoffMessage, TextMessage
from autogen_agentchat.teams import GraphFlow

from ...contracts.checkpoint import Snapshot
from ...contracts.handoff import Answer
from ...contracts.inbox import AskTerms
from ...contracts.outcome import Suspended
from ...contracts.versions import Outgrown
from ...coordinator.session import Session
from .folding import Dump
from .private import participants
from .progress import Progress, answer_text
from .result import own_words
from .team import Adopted, Message
from .turn import Turns

ONE_TURN = "Maximum number of turns 1 reached."  # how AutoGen says that a stepped team could continue


async def drive(team: Adopted, progress: Progress, session: Session, turns: Turns) -> Suspended | None:
    """Run the team to its end, which `progress` then describes, or until it asks a person. Returns the question."""
    if progress.asks is not None:
        if session.answer is None:
            return _suspended(progress)
        if progress.take(session.answer, _reply(team, progress.asks["question"], session.answer)):
            return _suspended(progress, progress.snapshot(f"ask {progress.asks['question']['to']}"))
    await team.load(progress)
    while progress.stop is None:
        session.check()
        suspended = await _turn(team, progress, turns, session)
        if suspended is not None:
            return suspended
    return None


async def _turn(team: Adopted, progress: Progress, turns: Turns, session: Session) -> Suspended | None:
    begun = len(progress.messages)
    await turns.begin(begun)
    start = [cast(BaseChatMessage, team.message(dump)) for dump in progress.pending]
    if start and not progress.joins:
        # AutoGen asks about the task alone, before anybody speaks.
        if progress.unread:
            progress.checked, progress.judged = [len(progress.messages) + progress.unread], {}
        progress.stop = await team.check(progress, start[progress.unread :], len(progress.checked) - 1)
        if progress.stop is not None:
            return None
    team.answers = progress.answers
    reason = await turns.run(start)
    if team.asked:
        return await _suspend_for_proxies(team, progress)
    for name in progress.answers.keys() - team.taken - progress.answered.keys():
        raise Outgrown(
            f"agent {team.agent!r}: the person's answer to {name!r} was not asked for again: its factory's team is not "
            "the one that asked. Put that back, and redrive the job"
        )

    await team.capture(progress)
    said = [team.message(dump) for dump in progress.messages[begun + len(start) :]]
    progress.pending, progress.answers, progress.answered = [], {}, {}
    progress.turns += 1
    if start and not progress.joins:
        progress.checked.append(begun + len(start))
    progress.checked.append(len(progress.messages))
    speakers = dict.fromkeys(message.source for message in said if isinstance(message, BaseChatMessage))
    step = "+".join(speakers) if team.stepped else team.team.name
    out = _handoffs_out(team, said)
    ends = next((f"Handoff to {handoff.target}." for handoff in out if handoff.target in team.outside), None)
    if progress.joins:
        progress.joined[len(progress.checked) - 2] = len(start)
        said = [*start, *said]
    stop = await _why_stop(team, progress, reason, said)
    progress.joins = False
    if asks := [_question(team, progress, handoff) for handoff in out if handoff.target not in team.outside]:
        progress.stop = ends
        progress.suspend(asks, handoff=True, ended=stop is not None)
        return _suspended(progress, progress.snapshot(step))
    progress.stop = stop or ends
    await session.asave(progress.snapshot(step))
    return None


async def _why_stop(team: Adopted, progress: Progress, reason: str | None, said: Sequence[Message]) -> str | None:
    if reason != ONE_TURN or not team.stepped:
        return reason or "The team has stopped."
    number = len(progress.checked) - 2
    stop = await team.check(progress, team.counted(said, progress.joined.get(number, 0)), number)
    if stop is None and team.max_turns is not None and progress.turns >= team.max_turns:
        stop = f"Maximum number of turns {team.max_turns} reached."
    return stop


def _handoffs_out(team: Adopted, said: list[Message]) -> list[HandoffMessage]:
    """The handoffs that ended a turn, if their targets are not in the team. A turn of a graph may be several nodes'."""
    spoken = [message for message in said if isinstance(message, BaseChatMessage)]
    last = spoken[-1:]
    if isinstance(team.team, GraphFlow):
        nodes = {member.name for member in participants(team.team)}
        last = [*{message.source: message for message in spoken if message.source in nodes}.values()]
    return [message for message in last if isinstance(message, HandoffMessage) and message.target not in team.names]


def _question(team: Adopted, progress: Progress, handoff: HandoffMessage) -> dict[str, Any]:
    ids = [dump["id"] for dump in progress.messages]
    back = (team.message(dump) for dump in reversed(progress.messages[: ids.index(handoff.id)]))
    return {"from": handoff.source, "to": handoff.target, "text": own_words(handoff, back)}


async def _suspend_for_proxies(team: Adopted, progress: Progress) -> Suspended:
    """Wait for the people behind proxies, one after the other. The turn runs again when all their answers are there,
    with the answers that its other members have given."""
    await team.keep_answers(progress)
    last = team.message([*progress.messages, *progress.pending][-1])
    asks = [{"from": last.source, "to": proxy, "text": last.to_text()} for proxy in sorted(team.asked)]
    progress.suspend(asks, handoff=False)
    return _suspended(progress, progress.snapshot(f"ask {asks[0]['to']}"))


def _suspended(progress: Progress, last: Snapshot | None = None) -> Suspended:
    """The open question, assigned to the person whom the team addresses: the target of a handoff, or a proxy."""
    assert progress.asks is not None, "only a team that asks is suspended"
    question = progress.asks["question"]
    return Suspended(question, last, AskTerms(assignee=question["to"]))


def _reply(team: Adopted, question: dict[str, Any], answer: Answer) -> list[Dump]:
    """A person's answer as the message with which a stopped team continues. A swarm must be told who is next."""
    text = answer_text(answer)
    if question["from"] in team.in_swarms:
        return [HandoffMessage(source=question["to"], target=question["from"], content=text).dump()]
    return [TextMessage(source=question["to"], content=text).dump()]

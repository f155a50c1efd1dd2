"""Outcomes: commits how a run ended, in one write that ends the delivery."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ...contracts.agent import Agent
from ...contracts.checkpoint import Snapshot
from ...contracts.contract import Contract, ContractRef, contract_ref, dump_payload
from ...contracts.duration import seconds_of
from ...contracts.errors import (
    Ambiguous,
    BatonpassError,
    ChildrenFailed,
    ContractViolation,
    Corrupted,
    NotDone,
    OverBudget,
    Refused,
    StepMismatch,
    Unanswered,
    UndeclaredHandoff,
    UnknownAgent,
)
from ...contracts.handoff import Envelope, Handoff
from ...contracts.job import CHILDREN, FailureReason
from ...contracts.outcome import Asleep, Finished, Rejected, Suspended
from ...contracts.raised import described, place_of
from ...contracts.retry import policy_for
from ...coordinator.blobs import seal_blob
from ...coordinator.book import Book
from ...coordinator.calls.jobs import seal_result
from ...coordinator.commands import SPENT, Command, Complete, Fail, Sleep
from ...coordinator.questions import suspending
from ..context.asking import asked_as
from ..doubt import in_doubt, not_named
from ..session import LeaseSession
from ..single import leaves
from .error_place import raised_in
from .refused_handoffs import Held, Onward, OverLimit, refusal
from .transcript import onward_transcript

# The reasons for errors that would come back with every attempt. The first that fits counts.
_LASTING: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], FailureReason], ...] = (
    ((OverLimit, OverBudget), "chain_guard"),
    (ContractViolation, "contract"),
    (UnknownAgent, "unknown_agent"),
    (Corrupted, "corrupted"),
    (Unanswered, "unanswered"),
    (Ambiguous, "ambiguous"),
    (ChildrenFailed, CHILDREN),
    ((Refused, StepMismatch), "refused"),
)
# The reasons for which a hop's attempts have run out.
ATTEMPTS_OVER: tuple[FailureReason, ...] = ("attempts", "permanent", "out_of_time")
# Characters of an error's text to keep, with the job and in an event for each attempt.
_LONGEST = 10_000


def ending(
    agent: Agent[Any], session: LeaseSession, outcome: Finished | Suspended | Rejected | Asleep
) -> Command[None]:
    """The command that commits an outcome without a handoff, checked against the agent's declaration."""
    if isinstance(outcome, Rejected):
        return Fail(session.fence, _writable(outcome.reason), "rejected", None, "rejected", _spent(session))
    final = session.seal(outcome.final) if outcome.final else None
    if isinstance(outcome, Suspended):
        return suspending(session.fence, outcome.question, asked_as(agent, outcome.terms), agent.kind, final)
    if isinstance(outcome, Asleep):
        return Sleep(session.fence, outcome.delay, final)
    return Complete(session.fence, _result(agent, outcome, session), final)


def handing_off(
    book: Book,
    agent: Agent[Any],
    envelope: Envelope,
    session: LeaseSession,
    handoff: Handoff[Any],
    last: Snapshot | None,
) -> Generator[Command[Any], Any, Command[None]]:
    """The command that commits a handoff, checked against the agent's declaration. `Held` if the guard refuses it.
    Yields the lookups it needs."""
    final = session.seal(last) if last else None
    sent = yield from onward(book, agent, envelope, session, handoff, final.id if final else session.tip_id, last)
    if why := refusal(sent.envelope, session):
        raise Held(why, sent)
    return (yield from sent.command(book, session, final))


def onward(
    book: Book,
    agent: Agent[Any],
    envelope: Envelope,
    session: LeaseSession,
    handoff: Handoff[Any],
    tip: str,
    final: Snapshot | None,
) -> Generator[Command[Any], Any, Onward]:
    """What a handoff sends, checked against the agent's declaration."""
    declared = agent.hands_to.get(handoff.to)
    if declared is None:
        declares = ", ".join(map(repr, agent.hands_to)) or "nobody"
        raise UndeclaredHandoff(f"agent {agent.name!r} handed off to {handoff.to!r}: it declares {declares}")
    _fits(agent, handoff.payload, declared)
    contract, data = yield from book.address(handoff.to, handoff.payload)
    transcript, about = None, None
    if handoff.transcript:
        transcript, about = yield from onward_transcript(book, session, handoff.to, final)
    to = Envelope(
        contract=contract,
        payload=data,
        path=(*envelope.path, handoff.to),
        sender=agent.name,
        checkpoint=tip or None,
        trace=session.own_trace or session.trace,
        transcript=transcript,
        guard=envelope.guard,
        spent=session.budget.spent,
        born=session.budget.born,
        effects=envelope.effects,
    )
    return Onward(to, about or {})


def _result(agent: Agent[Any], outcome: Finished, session: LeaseSession) -> bytes:
    if agent.returns is None:
        allowed = ", ".join(agent.hands_to)
        kind = type(outcome.result).__name__
        raise ContractViolation(
            f"agent {agent.name!r} returned {kind}, but it only hands off (to {allowed}): declare returns="
        )
    assert isinstance(outcome.result, Contract)
    contract = _fits(agent, outcome.result, agent.returns)
    data = dump_payload(outcome.result)
    spent = session.budget.spent
    return seal_result(contract, data, spent, spent - session.budget.born if spent else spent)


def _spent(session: LeaseSession) -> bytes:
    """What to record as spent for a job that ends without a result. Empty if nothing was."""
    told = session.budget.at_the_end
    return seal_blob(told, path=SPENT) if any(told) else b""


def _fits(agent: Agent[Any], payload: object, declared: type[Contract]) -> ContractRef:
    accepted = contract_ref(declared)
    if type(payload) is not declared:
        given = contract_ref(type(payload)) if isinstance(payload, Contract) else type(payload).__name__
        if given != accepted:
            raise ContractViolation(f"agent {agent.name!r} gave {given}, but it declares {accepted}")
    return accepted


def failing(agent: Agent[Any] | None, session: LeaseSession, error: BaseException) -> Fail:
    """The command for an attempt that raised: retry it, unless retrying can't help."""
    text = _told(agent, error)
    reason, pause = lasting(error), 0.0
    policy = policy_for(agent.retries, error) if agent else None
    if reason is None and agent is not None and policy is None:
        reason = "permanent"
    elif reason is None and (policy is None or session.attempt >= policy.attempts):
        reason = "attempts"
    elif reason is None and policy is not None:
        pause = policy.pause(session.attempt, error)
        if policy.within is not None and session.failing_for + pause > seconds_of(policy.within):
            reason = "out_of_time"
    if reason in (*ATTEMPTS_OVER, "contract") and in_doubt(session):
        reason = "ambiguous"  # no fallback may do it again
    if reason is not None:
        text = "; ".join([text, *not_named(session, text)])
        return Fail(session.fence, text, reason, spent=_spent(session))
    return Fail(session.fence, text, "", int(pause * 1000))


def decisive(error: BaseException) -> BaseException:
    """Of several tasks' errors in a group the one that would come back with every attempt. Else the error itself."""
    return next((each for each in leaves(error) if lasting(each)), error)


def _told(agent: Agent[Any] | None, error: BaseException) -> str:
    """An error as text. Ours say what to do. For others it helps to know where in the agent's code they came from."""
    if says_what_to_do(error):
        return _writable(str(error))
    places = (place_of(error), raised_in(agent, error) if agent else None)
    text, place = _writable(described(error)), ", ".join(filter(None, places))
    return f"{text} ({_writable(place)})" if place else text


def says_what_to_do(error: BaseException) -> bool:
    """Whether an error's text is meant to be read alone. `NotDone` is ours, but raised by the agent's code, about
    whatever has failed there."""
    return isinstance(error, BatonpassError) and not isinstance(error, NotDone)


def _writable(text: str) -> str:
    """An error's text in a form that can be stored. It may hold anything: half a surrogate pair (in a file name)
    becomes an escape."""
    return shortened(text).encode("utf-8", "backslashreplace").decode()


def shortened(text: str, most: int = _LONGEST) -> str:
    """Of a very long text only the start and the end."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


def lasting(error: BaseException) -> str | None:
    """Why an error would come back with every attempt. None if it might not."""
    return next((reason for kinds, reason in _LASTING if isinstance(error, kinds)), None)

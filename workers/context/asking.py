"""Asking: the logic of `ctx.ask`. No I/O."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from ...contracts.agent import Agent
from ...contracts.checkpoint import Snapshot
from ...contracts.contract import Contract, convert
from ...contracts.duration import Duration
from ...contracts.errors import BadSetup, ContractViolation, Unanswered
from ...contracts.inbox import MISSING, AskTerms
from ...coordinator.calls.inbox import plain_answer
from ...coordinator.calls.inputs import bounded, milliseconds
from ..journal import named
from ..session import LeaseSession
from .counted import counted, is_counted, news
from .effects import Act, Commit, Record
from .steps import Pause, Steps

_log = logging.getLogger("batonpass.worker")
_PREFIX = "unanswered/"
# In its place for one that ended the job, perhaps not the last one: a redrive asks it again.
_AGAIN = "ask-again/"
# How the agents of each framework ask.
_OWN_WAYS = {
    "langgraph": "a node asks by interrupt(question)",
    "crewai": "a flow asks by @human_feedback, a task by human_input=True",
    "autogen": "a team asks by a handoff to the user",
}
_LEAST = 0.001


class Asking(Pause):
    """The agent asks."""

    def __init__(self, question: Any, key: str, digest: bytes, terms: AskTerms, steps: Steps) -> None:
        super().__init__(question)
        self.question = question
        self.key = key
        self.terms = terms
        self._digest = digest
        self._steps = steps

    def snapshot(self) -> Snapshot:
        """What is committed with the question: the steps recorded until now, and which call asked."""
        return self._steps.snapshot("ask", (self.key, self._digest))


def elsewhere(kind: str) -> BadSetup:
    """Why `ctx.ask` is refused in a framework's agent, and what to use instead."""
    way = _OWN_WAYS.get(kind, "it asks in its framework's own way")
    return BadSetup(
        f"ctx.ask() is for plain functions, and this is an agent of {kind}: {way}. "
        "For a timeout=, default= or escalate= declare the agent with asks=bp.Asks(...)"
    )


def terms_of(
    answer: type[Contract] | None,
    timeout: Duration | None = None,
    default: Any = MISSING,
    assignee: str | None = None,
    escalate: str | Sequence[tuple[str, Duration]] | None = None,
    **unknown: object,
) -> AskTerms:
    """The terms from the options of `ctx.ask`. `BadSetup` if they contradict each other or are unknown."""
    for name in unknown:
        raise BadSetup(f"ctx.ask() has no option {name}=: it has answer, timeout, default, assignee and escalate")
    if timeout is None and (default is not MISSING or escalate):
        raise BadSetup("default= and escalate= need a timeout=")
    steps = [(escalate, timeout or 0)] if isinstance(escalate, str) else _steps(escalate or ())
    plain = default if default is MISSING else plain_answer(default)
    if answer is not None and default is not MISSING:
        convert(answer, plain)
    return AskTerms(
        answer=answer,
        assignee=_name(assignee or ""),
        timeout=0 if timeout is None else milliseconds(timeout, "timeout", least=_LEAST),
        escalation=tuple((_name(name), milliseconds(wait, "escalate", least=_LEAST)) for name, wait in steps),
        default=plain,
    )


def _steps(given: Any) -> list[tuple[str, Duration]]:
    try:
        return [(name, wait) for name, wait in given]
    except (TypeError, ValueError):
        raise BadSetup(f"escalate={given!r}, but it must be a name, or a list of pairs of a name and a time") from None


def asked_as(agent: Agent[Any], terms: AskTerms) -> AskTerms:
    """The terms of a framework agent's question, from the agent's declaration. `BadSetup` if they contradict each
    other."""
    given = agent.asks
    if given is None:
        return terms
    try:
        own = terms_of(None, given.timeout, given.default, given.assignee, given.escalate)
    except BadSetup as error:
        raise BadSetup(f"agent {agent.name!r}, asks=: {error}") from None
    times = {"timeout": own.timeout, "escalation": own.escalation, "default": own.default}
    return replace(terms, assignee=own.assignee or terms.assignee, **times)


def check_answered(agent: Agent[Any], session: LeaseSession) -> None:
    """Raise `Unanswered` for a framework's agent that would only ask again."""
    if session.unanswered and agent.kind != "function":
        raise Unanswered(f"nobody answered job {session.job_id} in time: it asked {session.asked!r}")


def _name(assignee: str) -> str:
    if "\n" in bounded(assignee, "assignee"):
        raise BadSetup(f"the assignee {assignee!r} has more than one line")
    return assignee


def asking(
    steps: Steps, session: LeaseSession, question: Any, terms: AskTerms, key: str | None
) -> Generator[Act, Any, Any]:
    """Handle a question and return its answer.

    Raises `Asking` if a person has to be asked, and `Unanswered` if nobody answered in time. Without a `key`, the hop's
    questions are counted.
    """
    if key is None:
        known, again = steps.asks = steps.asks or _earlier(steps, session)
        full, digest = yield from counted(steps, "ask", question, known, session, optional=again | steps.since)
        if full not in known:
            steps.losses.act_on(steps.losses.told())
            if records := news(steps, session):
                yield Record(records)
        recorded = steps.recorded(full)
    else:
        full, digest, recorded = steps.begin("ask", key, question)
    if recorded is not None:
        return _received(session, terms, recorded.result)
    try:
        if session.journal.get(_PREFIX + full):
            raise _unanswered(session, full, question)
        if not steps.asking or steps.asking[0] != full or not _is_over(session):
            yield from _keeping(steps, session)
            raise steps.paused(Asking(question, full, digest, terms, steps))
        if session.answer is None:
            yield from _keeping(steps, session)
            raise _unanswered(session, full, question)
        try:
            value = _received(session, terms, session.answer.value)
        except ContractViolation as error:  # from a client that could not check it, or for another version
            about = f"job {session.job_id} hop {session.hop} {session.agent}"
            _log.warning("%s: the answer to its question %r is not used, and it asks again: %s", about, full, error)
            raise steps.paused(Asking(question, full, digest, replace(terms, error=str(error)), steps)) from None
        yield from _keeping(steps, session)
        return value
    finally:
        steps.leave("ask")


def _is_over(session: LeaseSession) -> bool:
    """Whether the question that suspended the job is answered, or nobody did in time."""
    return session.answer is not None or session.unanswered


def _earlier(steps: Steps, session: LeaseSession) -> tuple[dict[str, bytes | None], set[str]]:
    """The counted questions that earlier runs have asked, with their digests, and which of them others need not wait
    for. (To ask another one ends a run.)"""
    over = {full: digest for full, digest in steps.digests().items() if is_counted(full, "ask")}
    over |= _recorded(session, _PREFIX)
    if steps.asking and _is_over(session) and is_counted(steps.asking[0], "ask"):
        over.setdefault(*steps.asking)
    again = _recorded(session, _AGAIN)
    return again | over, again.keys() - over


def _recorded(session: LeaseSession, prefix: str) -> dict[str, bytes | None]:
    """The counted questions that nobody has answered: with `_AGAIN` those that may read otherwise when they are asked
    again, so that others need not wait for them."""
    return {
        full: digest if isinstance(digest, bytes) else None
        for full, digest in named(session.journal, prefix).items()
        if digest and is_counted(full, "ask")
    }


def _keeping(steps: Steps, session: LeaseSession) -> Generator[Act, Any, None]:
    """Record how the question that suspended the job ended: the next suspension forgets it."""
    if steps.asking and _is_over(session):
        (full, digest), steps.asking = steps.asking, None
        if session.answer is not None:
            yield Commit(full, digest, session.answer.value)
        else:
            yield Record({_PREFIX + full: digest or True, _AGAIN + full: None})


def asked_again(session: LeaseSession, key: str) -> dict[str, Any]:
    """What is recorded so that a redrive asks the question with this key (of `Unanswered`) again. Older releases ask
    what has no record at all."""
    before = _PREFIX + key.removeprefix(_AGAIN)
    return {before: None, key: session.journal.get(before) or True}


def _received(session: LeaseSession, terms: AskTerms, value: Any) -> Any:
    return value if terms.answer is None else session.book.said(terms.answer, value)


def _unanswered(session: LeaseSession, full: str, question: Any) -> Unanswered:
    return Unanswered(f"nobody answered job {session.job_id} in time: it asked {question!r}", key=_AGAIN + full)


def unanswered(session: LeaseSession) -> list[str]:
    """The questions that ended without an answer, by key."""
    return [*named(session.journal, _PREFIX)]

"""BaseContext: what the contexts of async and sync code share, without I/O."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from datetime import datetime
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from ...contracts.agent import Agent, name_of
from ...contracts.contract import Contract
from ...contracts.duration import Duration, seconds_of
from ...contracts.errors import BadSetup, UndeclaredHandoff
from ...contracts.fanout import Failures, Wait, fan_out
from ...contracts.guard import Guard, Spent
from ...contracts.handoff import Handoff
from ...contracts.inbox import AskTerms
from ...contracts.job import Lease
from ...coordinator.calls.inputs import milliseconds
from ..doubt import about_of, known_in, start_of
from ..parts import found
from ..session import LeaseSession
from .asking import asking, elsewhere
from .effects import Act, Arguments, Unsure, effecting
from .fan_out import Joining, joining
from .sleeping import sleep
from .steps import Pause, Recorded, Steps

if TYPE_CHECKING:
    from ...contracts.transcript import Transcript

P = TypeVar("P", bound=Contract)


class Rejecting(BaseException):
    """Control flow: the agent rejects this job. `known` are the keys of the effects of which its code was told before:
    what is cut off by this may have happened, and nobody was told."""

    def __init__(self, reason: str, known: Collection[str] = ()) -> None:
        super().__init__(reason)
        self.known = frozenset(known)


class BaseContext:
    """What both contexts offer without I/O."""

    _part = ""  # of the agent, whose code got this context by `batonpass.current()`

    def __init__(
        self,
        session: LeaseSession,
        agent: Agent[Any],
        payload: Contract,
        resources: Any,
        steps: Steps | None = None,
    ) -> None:
        self._session = session
        self._agent = agent
        self.payload = payload
        self.resources = resources
        self._made = steps
        self._making = Lock()

    @property
    def _steps(self) -> Steps:
        """Made on first use, because most agents record nothing. And once, although nodes may run in several threads: a
        `cached_property` has no lock since Python 3.12."""
        if self._made is None:
            with self._making:
                self._made = self._made or self._new_steps()
        return self._made

    def _new_steps(self) -> Steps:
        timeout = inf if self._agent.timeout is None else seconds_of(self._agent.timeout)
        steps = Steps(self._session, own_state=self._agent.kind == "function", timeout=timeout)
        self._session.under_way, self._session.told = steps.effects, steps.told
        self._session.lost = steps.losses.again
        return steps

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self._session.job_id

    @property
    def lease(self) -> Lease:
        """This worker's lease of the job, as claimed."""
        return self._session.lease

    @property
    def thread(self) -> str:
        """The thread of the job's checkpoints."""
        return self._session.thread

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._session.agent

    @property
    def hop(self) -> int:
        """Which visit at an agent this is, from 0."""
        return self._session.hop

    @property
    def attempt(self) -> int:
        """Which attempt of this hop this is, from 1. A takeover after a crash stays the same attempt."""
        return self._session.attempt

    @property
    def last_error(self) -> str | None:
        """The error that ended the last failed attempt of this hop. None if there was none, or the job was redriven."""
        return self._session.last_error

    @property
    def key(self) -> str | None:
        """The idempotency key that the job was submitted with."""
        return self._session.key

    @property
    def deadline(self) -> datetime | None:
        """When the job fails if it has not ended, by the store's clock. None: no limit."""
        return self._session.deadline

    @property
    def token(self) -> int:
        """The fencing token. Pass it to a resource that can refuse older tokens."""
        return self._session.fence.token

    @property
    def transcript(self) -> Transcript:
        """The conversation that this agent continues (after a fork, a fallback, or a handoff with `transcript=True`).
        Empty if this hop starts fresh."""
        from ...contracts.transcript import Transcript

        self._session.heard = True
        return self._session.inherited or Transcript()

    @property
    def trace(self) -> Mapping[str, str]:
        """The trace context that the job was submitted with, as the W3C's headers by name. Empty if there is none: then
        later agents have that of the attempt that handed over to them, if the app has a tracer. It is the same in each
        attempt, so that steps may be called with it."""
        return self._session.trace

    @property
    def guard(self) -> Guard:
        """The limits of this job."""
        return self._session.budget.guard

    @property
    def spent(self) -> Spent:
        """What the job's agents have spent, including this one so far."""
        return self._session.budget.spent

    def spend(self, *, tokens: int = 0, cost: float = 0.0) -> None:
        """Count tokens and cost towards the budget of the job's guard. The framework adapters count tokens on their
        own.

        Stored with this hop's next write (a step, a checkpoint, its end), so a crash forgets what was spent since the
        last one. Call it in the function of the step that spends: a plain function runs again from its beginning after
        a question, a fan-out or a crash, and would count again what it calls outside of steps. If the budget is
        exceeded, that write is still made. Then `OverBudget` is raised, and the job is parked.
        """
        self._session.spend(tokens, cost)

    def check(self) -> None:
        """Raise `Fenced`, `Canceled` or `OverBudget` if this run must stop. Makes no call to the store, so use it in
        loops."""
        self._session.check()

    def hand_off(self, agent: str | Agent[P], payload: P, *, transcript: bool = False) -> Handoff[P]:
        """Hand the job to another agent: return the result of this call. Raises `UndeclaredHandoff` for agents not in
        `hands_to`.

        With `transcript`, the receiver continues this agent's conversation, in any framework.
        """
        name = name_of(agent)
        if name not in self._agent.hands_to:
            declared = ", ".join(map(repr, self._agent.hands_to)) or "nobody"
            raise UndeclaredHandoff(
                f"agent {self.agent!r} may not hand off to {name!r}: it declares {declared} (hands_to=)"
            )
        return Handoff(name, payload, transcript)

    def reject(self, reason: str) -> NoReturn:
        """End the job as rejected, because this agent will not do it. Does not return. (If an effect of it may have
        happened, and its code was not told, the job ends as `ambiguous`.)"""
        raise Rejecting(reason, known_in(self._session))

    @staticmethod
    def _several(given: Iterable[Handoff[Any]]) -> list[Handoff[Any]]:
        """What is to be fanned out. Outside of the turn of such calls, since a generator may make one itself."""
        if not isinstance(cast("object", given), Iterable):
            raise BadSetup(
                f"ctx.fan_out() takes several handoffs, as a list, not one {type(given).__name__}: "
                "ctx.fan_out([ctx.hand_off(...), ...])"
            )
        return list(given)

    def _joining(self, handoffs: list[Handoff[Any]], wait: Wait, failures: Failures, told: Collection[str]) -> Joining:
        if self._agent.kind != "function":
            raise BadSetup(
                f"ctx.fan_out() is for plain functions, and this is an agent of {self._agent.kind}: hand off to a "
                "plain function that fans out, and let it hand off the results"
            )
        for each in cast("list[object]", handoffs):
            if not isinstance(each, Handoff):
                raise BadSetup(f"ctx.fan_out() takes handoffs, not {type(each).__name__}: make one with ctx.hand_off()")
        for handoff in handoffs:
            self.hand_off(handoff.to, handoff.payload)
        if not handoffs and wait == "all":
            return []
        wanted = fan_out(tuple(handoffs), wait, failures)
        called = [[handoff.to, handoff.payload, handoff.transcript] for handoff in handoffs]
        arguments = [called, wait, failures]
        return (yield from joining(self._steps, self._session, self._session.book, wanted, arguments, told))

    def _sleep(self, delay: Duration, key: str | None) -> None:
        if self._agent.kind != "function":
            raise BadSetup(
                f"ctx.sleep() is for plain functions, and this is an agent of {self._agent.kind}: hand off to a plain "
                "function that sleeps and hands the job back"
            )
        sleep(self._steps, self._session, milliseconds(delay, "delay"), key)

    def effect_key(self, key: str) -> str:
        """The idempotency key to give to an effect's outside service. It is the same for each attempt, and for a child
        of a fan-out that is made again."""
        return about_of(self._session, key, start_of(self._session.journal, key))

    def _found(self, full: str, recorded: Recorded) -> dict[str, Any]:
        """What to record before the result of a step or an effect is used that was not called here first."""
        return (
            recorded.missing(full)
            | self._steps.losses.news()
            | found(full, self._session.parts, self._part, self._session.journal)
        )

    def _effecting(
        self, key: str, fn: Callable[..., object], arguments: Arguments, unsure: Unsure
    ) -> Generator[Act, Any, Any]:
        if unsure == "ask" and self._agent.kind != "function":
            raise BadSetup(f"ctx.effect(unsure='ask') is for plain functions: this is an agent of {self._agent.kind}")
        return effecting(self._steps, self._session, key, fn, arguments, unsure, self._part)

    def _asking(self, question: Any, terms: AskTerms, key: str | None = None) -> Generator[Act, Any, Any]:
        if self._agent.kind != "function":
            raise elsewhere(self._agent.kind)
        return asking(self._steps, self._session, question, terms, key)


def pause_noted(context: BaseContext) -> Pause | None:
    """What the run waits for, if its code has asked for something."""
    steps: Steps | None = vars(context)["_made"]
    return steps.pause if steps else None

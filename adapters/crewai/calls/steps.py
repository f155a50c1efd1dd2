"""Steps: the answers of models and tools inside a task or method, so that a restarted one doesn't ask again.

A resumed task runs from its top, and gets its recorded answers until it reaches the call that was in flight. A record
says where it was made (in a task, or a flow's method call), with a digest of who asked what. A call takes the first
remaining record of its place with its digest, whatever order parallel calls run in. Records of a finished place are no
longer needed. Their keys are reused, so that a long job keeps no more records than its longest places have.

The records of a task also have its clues, by which they are found once new code has changed the task.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from crewai.hooks.dispatch import HookAborted, InterceptionPoint
from pydantic_core import to_json

from ....contracts.raised import chain
from ....coordinator.session import Session
from ..identities import Clues, Identities
from .costs import Costs, Usage, UsageByPlace
from .stop import Stop

_PREFIX, _INSIDE = "crew/", "inside"

# How a tool's answer says that the tool failed: by raising, or by returning so.
REFUSED, REPORTED = "error", "failure"

# Errors of a method that can't use an answer: it is not JSON, lacks a field, or is feedback without an outcome.
_UNFIT = (ValueError, LookupError, TypeError, AttributeError)

# Where it was made in the order of all, its place and path, the answer, a task's clues, and what the model call itself
# has used. What the calls inside it have cost, if there are any, is among the clues, or alone in a list if there are
# none. (Once they were a seventh part, which workers of the release before that can't read. They take a dict for clues,
# and pass a list over.)
Record = list[Any]


@dataclass(frozen=True)
class Call:
    """A call that is about to be made. `answer` is None if it was not answered before."""

    place: str
    path: str
    answer: Any = None
    usage: Usage | None = None
    inside: Costs = field(default_factory=dict[str, Usage])


class Where(NamedTuple):
    """Where in the steps code is: the place, the call that it is part of, and the costs of all calls around it."""

    place: str = ""
    path: str = ""
    within: tuple[Costs, ...] = ()


class Steps:
    """The records of one delivery. `done` says whether a place is already finished, `tasks` which places are tasks."""

    def __init__(
        self, session: Session, stop: Stop, done: Callable[[str], bool], tasks: Identities | None = None
    ) -> None:
        self.stop = stop
        self.costs = UsageByPlace()
        self._session = session
        self._tasks = tasks or Identities()
        self._moved: dict[str, str] = {}  # places that are gone, and where their tasks are now
        self._lock = threading.Lock()
        self._left: dict[tuple[str, str], deque[list[Any]]] = defaultdict(deque)
        self._slots: dict[str, dict[int, bool]] = defaultdict(dict)  # of each place: whether a failure makes it void
        self._leading_on: set[int] = set()  # of this delivery, made in tasks after which their crew has others
        self._free: list[int] = []
        self._next = self._seq = 0
        self._begun: Counter[tuple[str, str]] = Counter()
        self._running: Counter[str] = Counter()
        self._promised: dict[str, list[Future[Any]]] = defaultdict(list)
        self._raised: BaseException | None = None
        self._load(done)

    def _load(self, done: Callable[[str], bool]) -> None:
        journal = self._session.journal.items()
        kept = {int(key.removeprefix(_PREFIX)): record for key, record in journal if key.startswith(_PREFIX)}
        self._next = max(kept, default=-1) + 1
        records: dict[int, Record] = {slot: record for slot, record in kept.items() if record is not None}
        clues: dict[str, Clues] = {place: of for _, place, _, _, of, *_ in records.values() if isinstance(of, dict)}
        self._moved = {place: now for place, now in self._tasks.present(clues).items() if now != place}
        records = {slot: record for slot, record in records.items() if not done(self._now(record[1]))}
        self._free = [slot for slot in kept if slot not in records]
        for slot, record in sorted(records.items(), key=lambda item: item[1][0]):
            seq, place, path, answer, of, usage, *inside = record
            self._seq = seq + 1
            self._left[self._now(place), path].append([answer, usage, *(inside or _inside(of))])
            self._slots[self._now(place)][slot] = _voidable(answer, usage)

    def _now(self, place: str) -> str:
        return self._moved.get(place, place)

    def is_moved(self, place: str) -> bool:
        """Whether a place has records of a task that new code has changed."""
        return place in self._moved.values()

    def at_present(self, call: str) -> str:
        """The name of a call ("place path") that an earlier delivery has made, as it would be made now."""
        place, _, path = call.rpartition(" ")
        return f"{self._now(place)} {path}"

    def places(self) -> set[str]:
        """The unfinished places of which an earlier delivery has left records."""
        return {place for place, _ in self._left}

    def hooks(self) -> dict[InterceptionPoint, list[Any]]:
        """Hooks that count the tasks which run in a place."""

        def begun(step: Any) -> None:
            if step.kind == "task":
                self._running[_where.get().place] += 1
                tasks: list[Any] = getattr(step.agent.crew, "tasks", [])
                _leads_on.set(any(each is step.task for each in tasks[:-1]))

        def finished(step: Any) -> None:
            if step.kind == "task":
                self._running[_where.get().place] -= 1
                _leads_on.set(False)

        return {InterceptionPoint.PRE_STEP: [begun], InterceptionPoint.POST_STEP: [finished]}

    def meet(self, step: Any) -> None:
        """Before a task: know the agents of its crew, unless a call runs that crew."""
        place, path, _ = _where.get()
        if step.kind == "task" and not path:
            self.costs.know(place, [*getattr(step.agent.crew, "agents", ()), step.agent])

    def enter(self, place: str) -> None:
        """From now on, this context's calls belong to this place."""
        current.set(self)
        _where.set(Where(place))

    def begin(self, *request: Any) -> Call:
        """A call in the current place. It is the same as a recorded one if the request is.

        Aborts if the run must end. An error of a tool would not end it: CrewAI tells it to an agent that follows a
        plan, and lets the agent continue.
        """
        self.stop.check()
        place, path, within = _where.get()
        digest = _digest([path, *request])
        with self._lock:
            left = self._left.get((place, digest))
            answer, usage, *inside = left.popleft() if left else (None, None)
            number = self._begun[place, digest]
            self._begun[place, digest] += 1
        for costs in inside:
            self.costs.repeat(place, costs, within)
        return Call(place, f"{digest}#{number}", answer, usage)

    @contextmanager
    def within(self, call: Call) -> Generator[None]:
        """Around a call: calls inside it belong to it."""
        token = _where.set(Where(call.place, call.path, (*_where.get().within, call.inside)))
        try:
            yield
        finally:
            _where.reset(token)

    @contextmanager
    def attempting(self, call: Call) -> Generator[None]:
        """`within` a call that makes the answers inside it void if it fails, as a task does (see `failed`)."""
        with self.within(call):
            self._running[call.place] += 1
            yield
            self._running[call.place] -= 1

    def record(self, call: Call, answer: Any, usage: Usage | None = None) -> None:
        """Record a call's answer (plain values). The run ends if that fails."""
        with self._lock:
            slot = self._free.pop() if self._free else self._next
            self._next = max(self._next, slot + 1)
            seq, self._seq = self._seq, self._seq + 1
            self._slots[call.place][slot] = _voidable(answer, usage)
            self._leading_on.discard(slot)
            if _leads_on.get():
                self._leading_on.add(slot)
        with self.stop.on_error():
            path, of = call.path.rpartition("#")[0], _of(self._tasks.clues.get(call.place), call.inside)
            self._session.record({f"{_PREFIX}{slot}": [seq, call.place, path, answer, of, usage]})

    def used(self, call: Call, model: Any, usage: Usage) -> None:
        """Note what a call of a model cost, now or before the crash."""
        self.costs.note(call.place, model, usage, _where.get().within)

    def spend(self, usage: Usage) -> None:
        """Count what a model call has just used towards the job's budget."""
        self._session.spend(tokens=usage.get("total_tokens", 0))

    def stream(self, part: dict[str, Any]) -> None:
        """Send a part of an answer to the readers of the job's stream."""
        with self.stop.on_error():
            self._session.emit([{**part, "lease": self._session.token}])

    def promise(self, written: Future[Any]) -> None:
        """Note that something of the current place is written in the background."""
        with self._lock:
            self._promised[_where.get().place].append(written)

    def settle(self, place: str) -> None:
        """Wait until what a place writes in the background is written, or has failed."""
        with self._lock:
            promised = self._promised.pop(place, [])
        wait(promised)

    def forget(self, place: str) -> None:
        """Free the records of a place that has been saved as finished."""
        with self._lock:
            self._free += self._slots.pop(place, {})
        self.costs.take(place)

    def raised(self, error: BaseException) -> None:
        """Note that a model call raised this."""
        self._raised = error

    def failed(self, error: BaseException, place: str | None = None, *, sparing: bool = False) -> None:
        """After a run failed, drop the answers that made it fail, so that the next attempt asks again.

        If a task or its condition was running (say, a guardrail refused every answer), these are the answers of its
        models, and of its tools that failed. The same for a method (`place`) that can't use an answer: it is most often
        that of a crew's last task, so those of the tasks before it are dropped only if they have failed it twice, or if
        this is not `sparing`. If a model call failed, or took longer than the agent's `max_execution_time`, nothing is
        dropped, and the next attempt repeats only that call.
        """
        asked_in_vain = any(each is self._raised for each in chain(error, context=True))
        if asked_in_vain or isinstance(error, HookAborted | TimeoutError):
            return
        with self._lock:
            wrong = {at for at, running in self._running.items() if running > 0 and place in (None, at)}
            void = {slot for at in wrong for slot, is_void in self._slots[at].items() if is_void}
            if place is not None and isinstance(error, _UNFIT):
                spared = self._leading_on if sparing else set[int]()
                void |= {slot for slot, is_void in self._slots[place].items() if is_void} - spared
        if void:
            with self.stop.on_error():
                self._session.record({f"{_PREFIX}{slot}": None for slot in sorted(void)})


def _voidable(answer: list[Any], usage: Usage | None) -> bool:
    return usage is not None or answer[0] in (REFUSED, REPORTED)


def _of(clues: Clues | None, inside: Costs) -> Any:
    if not inside:
        return clues
    return [inside] if clues is None else {**clues, _INSIDE: inside}


def _inside(of: Any) -> list[Costs]:
    """What the calls inside a recorded one have cost, if there were any."""
    if issubclass(of.__class__, dict):
        return [of[_INSIDE]] if _INSIDE in of else []
    return of if issubclass(of.__class__, list) else []


def _digest(request: list[Any]) -> str:
    data = to_json(request, fallback=lambda value: type(value).__name__, bytes_mode="base64", serialize_unknown=True)
    return blake2b(data, digest_size=16).hexdigest()


_AT_THE_TOP = Where()

# The steps that this code belongs to, and where in them it is.
current: ContextVar[Steps | None] = ContextVar("batonpass_crewai_steps", default=None)
_where: ContextVar[Where] = ContextVar("batonpass_crewai_where", default=_AT_THE_TOP)
# Whether this code is a task after which its crew has others.
_leads_on: ContextVar[bool] = ContextVar("batonpass_crewai_leads_on", default=False)

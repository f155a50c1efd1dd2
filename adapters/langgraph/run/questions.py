"""Questions: where a graph stops to wait for a person, and which answer belongs to which question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.constants import START
from langgraph.pregel import Pregel
from langgraph.types import Interrupt, StateSnapshot

from ....contracts.checkpoint import Snapshot
from ....contracts.errors import BadSetup
from ....contracts.handoff import Answer, Handoff
from ....contracts.inbox import AskTerms
from ....contracts.outcome import Suspended
from ..serde.plain import readable
from . import decisions
from .checkpoint import Frame
from .progress import Progress


class Questions:
    """Interrupts and breakpoints of a graph.

    A job's answer stays until the next suspension, so a question must not take the answer to an earlier one. The
    checkpoint committed with a question names the interrupts that it asks, and an answer is only for those. A node that
    has used an answer may ask again before the attempt ends, and LangGraph would give the same answer to that question.
    So a checkpoint also notes how many answers each task had used.
    """

    def __init__(self, graph: Pregel[Any, Any, Any, Any], progress: Progress) -> None:
        self._graph = graph
        self._progress = progress

    def answered(self, state: StateSnapshot, answer: Answer | None) -> dict[str, Any] | None:
        """What to resume with, by interrupt. Empty for a breakpoint, or if all answers are used already. None if there
        is no answer for this state."""
        asked = self._frame().get("asked")
        if asked is None or answer is None:
            return None
        pending = {interrupt.id: interrupt.value for interrupt in self._open(state)}
        if not asked:
            return None if pending else {}
        if answer.is_default or not _by_id(
            self._frame()
        ):  # whoever declares a default does not know the interrupts' ids
            answers = dict.fromkeys(asked, answer.value)
        else:
            value: Any = answer.value
            answers = dict(cast("dict[str, Any]", value)) if isinstance(value, Mapping) else {}
        given = [name for name in asked if name in pending and name in answers]
        fresh = [name for name in given if not self.is_used(name)]
        return {name: decisions.whole(answers[name], pending[name]) for name in fresh} or ({} if given else None)

    def is_used(self, interrupt: str) -> bool:
        """Whether a node has used the answer to an interrupt since it was asked."""
        shown, used = self._frame().get("shown", {}).get(interrupt, {}), self._progress.used()
        return any(used.get(task, 0) > before for task, before in shown.items())

    def check_taken(self, answers: Mapping[str, Any]) -> None:
        """Refuse a graph that asks its question again under another id, though it was answered.

        A part that keeps nothing (`compile(checkpointer=False)`) does that whenever it runs: it would ask for ever.
        """
        before, shown = self._frame().get("shown", {}), self._progress.shown()
        again = [tasks for interrupt, tasks in shown.items() if interrupt not in before]
        for interrupt in answers:
            if interrupt not in shown and not self.is_used(interrupt) and before.get(interrupt) in again:
                raise BadSetup(
                    "a part of the graph that is compiled with checkpointer=False asks, but LangGraph can't give it "
                    "the answer. Leave checkpointer= out there, restart the workers and redrive the job: it asks again"
                )

    def waits(self, state: StateSnapshot) -> bool:
        """Whether nothing can run before a person has answered."""
        if self._open(state):
            return len(state.next) == sum(1 for task in state.tasks if task.interrupts)
        if not state.next:
            return False
        before, after = self._graph.interrupt_before_nodes, self._graph.interrupt_after_nodes
        return _among(state.next, before) or _among(self._frame()["ran"], after)

    def suspended(self, state: StateSnapshot, error: str) -> Suspended:
        """The question, with the checkpoint that says which one it is. `error` is what was wrong with an answer.

        The question is the interrupt's value, or the values of several interrupts by their ids, until the last of them
        is answered: an answer with its id must not come to mean something else on the way. At a breakpoint it is the
        nodes that would run next.
        """
        asked = {
            interrupt.id: readable(interrupt.value)
            for interrupt in self._open(state)
            if not isinstance(interrupt.value, Handoff)
        }
        if not asked:
            step = f"before {', '.join(sorted(state.next))}"
            return Suspended({"paused_before": sorted(state.next)}, self._asking(step, []))
        step = f"{_askers(state)} asks"
        before = self._frame()
        by_id = len(asked) > 1 or (_by_id(before) and asked.keys() <= set(before.get("asked", ())))
        question = asked if by_id else next(iter(asked.values()))
        terms = AskTerms(schema=_schema(state, asked, by_id=by_id), options=_options(question), error=error)
        return Suspended(question, self._asking(step, list(asked), by_id=by_id), terms)

    def passed_on(self, state: StateSnapshot) -> tuple[Handoff[Any], Snapshot] | None:
        """The handoff that stopped the graph, and the checkpoint that waits for the job to come back. If there are
        several, the first one: the others wait for their turn. None if the graph asks a person, which goes first."""
        waiting = self._open(state)
        if not waiting or not all(isinstance(each.value, Handoff) for each in waiting):
            return None
        interrupt = waiting[0]
        snapshot = self._asking(f"{_askers(state)} hands off", [])
        snapshot.native |= {"passed": interrupt.id, "waiting": self._progress.waiting()}
        if recorded := self._progress.recorded({task.id for task in state.tasks if task.interrupts}):
            snapshot.native["recorded"] = recorded
        return interrupt.value, snapshot

    def came_back(self) -> str | None:
        """The interrupt that waits for the job, if this visit begins with what the last one left."""
        return self._progress.passed

    def _open(self, state: StateSnapshot) -> list[Interrupt]:
        """The interrupts that wait for an answer."""
        over = self._over()
        return [interrupt for interrupt in state.interrupts if interrupt.id not in over]

    def _over(self) -> dict[str, dict[str, int]]:
        """The interrupts that were answered, but are still shown, with the tasks that showed them then.

        If a part of the graph has gone on after its question, and stops at a breakpoint, the tasks around it still show
        the question. The one that asked it does not.
        """
        before, shown = self._frame().get("shown", {}), self._progress.shown()
        return {name: before[name] for name, tasks in shown.items() if before.get(name, {}).keys() - tasks.keys()}

    def _asking(self, step: str, asked: list[str], *, by_id: bool = False) -> Snapshot:
        tip = self._progress.tip
        assert tip is not None, "a graph stops only at a checkpoint"
        native: dict[str, Any] = {
            **self._progress.native(tip),
            "asked": asked,
            "by_id": asked if by_id else [],
            "shown": self._progress.shown() | self._over(),
        }
        return Snapshot(step=step, state=tip.state, framework="langgraph", native=native)

    def _frame(self) -> Frame:
        tip = self._progress.tip
        assert tip is not None, "a state is looked at only after a checkpoint"
        return tip.frame


def _askers(state: StateSnapshot) -> str:
    return ", ".join(sorted({task.name for task in state.tasks if task.interrupts}))


def _by_id(frame: Mapping[str, Any]) -> bool:
    """Whether what a checkpoint asks is answered with interrupts' ids. (An older release asks so only for several, and
    leaves there what was said of the question before.)"""
    asked = frame.get("asked") or ()
    return len(asked) > 1 or (len(asked) == 1 and frame.get("by_id") == asked)


def _among(nodes: Any, stops: Any) -> bool:
    return any(node != START and (stops == "*" or node in stops) for node in nodes)


def _schema(state: StateSnapshot, asked: Mapping[str, Any], *, by_id: bool) -> dict[str, Any] | None:
    """The schema of the answer: the interrupt's (`response_schema=`, LangGraph 1.2 and newer), or what LangChain's
    middleware accepts. Several interrupts are answered by their ids, and the answer must name at least one."""
    said = {each.id: getattr(each, "response_schema", None) for each in state.interrupts}
    known: dict[str, dict[str, Any]] = {}
    for name, question in asked.items():
        schema = said[name]
        if isinstance(schema, dict) and _usable(schema):
            known[name] = readable(schema)
        elif decided := decisions.schema_of(question):
            known[name] = decided
    if not by_id:
        return next(iter(known.values()), None)
    # Each schema gets its own $id, so that its "#/$defs/..." refers to itself.
    properties = {name: {"$id": f"urn:interrupt:{name}", **known[name]} if name in known else {} for name in asked}
    return {"type": "object", "properties": properties, "additionalProperties": False, "minProperties": 1}


def _usable(schema: Any) -> bool:
    """Whether a schema can check answers. LangGraph accepts any dict as a schema, and checks nothing."""
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return False
    return True


def _options(question: Any) -> tuple[Any, ...]:
    """The choices that a question offers: those that it lists, or the decisions that LangChain's middleware allows."""
    if not isinstance(question, Mapping):
        return ()
    told = cast("Mapping[str, Any]", question)
    listed = told.get("options") or told.get("choices")
    if isinstance(listed, list):
        return tuple(cast("Sequence[Any]", listed))
    return decisions.kinds_of(question)

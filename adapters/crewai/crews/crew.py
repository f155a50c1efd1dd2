"""Crew: one checkpoint per finished task. A resumed crew gets the saved outputs instead of running those tasks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from anyio import to_thread
from crewai import Crew, Process, Task, TaskOutput
from crewai.hooks.dispatch import InterceptionPoint, scoped_hooks

from ....contracts.agent import Agent
from ....contracts.alike import alike
from ....contracts.checkpoint import Snapshot
from ....contracts.errors import BadSetup
from ....contracts.raised import placed
from ....coordinator.session import Session
from .. import internals
from ..calls.costs import Costs, sums
from ..calls.hooks import Hooks, hooks
from ..calls.steps import Steps
from ..calls.stop import Stop
from ..calls.threads import running_code
from ..identities import TITLE, Identities
from ..people.terminal import no_terminal
from ..saved import VERSION, bookkeeping, fitting
from ..transcript.saved import Telling
from ..values.contract_versions import Present
from .caches import dump_caches, load_caches
from .conditions import forget_decision, keep_decision
from .expected_output import expect
from .outputs import Dumped, dump_output, is_savable, load_output

_log = logging.getLogger("batonpass.crewai")
_CALLED = "crew-called/"
_CLUES = "clues"


class CrewRun:
    """One delivery of a job, run by a crew.

    What is saved of a task is for the same task of new code, as `Identities` tells.
    """

    def __init__(self, crew: Crew, agent: Agent[Any], session: Session, stop: Stop) -> None:
        self._agent = agent
        self._crew: Any = crew
        self._session = session
        self._stop = stop
        self._lock = threading.Lock()
        self._identities = Identities(crew.tasks, managed=crew.process == Process.hierarchical)
        self._keys, self._titles = self._identities.places, self._identities.titles
        self._outputs: dict[int, TaskOutput] = {}
        self._saved: dict[int, Dumped] = {}
        self._as_before: set[int] = set()  # tasks whose output is saved as it was before their callbacks
        self._called: set[int] = set()
        self._saved_at: dict[int, str] = {}  # where the checkpoint has tasks, until there is another
        self._gone: list[str] = []
        self._telling = Telling(session.inherited) if session.inherited else None
        self._spent: dict[int, Costs] = {}
        native = bookkeeping(session, "outputs")
        if session.checkpoint is not None:
            self._restore(session.checkpoint.state["tasks"], native["outputs"])
            load_caches(crew, native.get("caches", []))
        finished = {self._keys[task] for task in self._outputs}
        self._steps = Steps(session, stop, finished.__contains__, self._identities)

    async def run(self, inputs: dict[str, Any]) -> Any:
        """What `crew.kickoff(inputs)` returns. Runs in a thread. If the run is cancelled, the thread is left behind,
        and ends at its next hook."""
        result = None
        for title in self._gone:
            self._warn("task %r finished before, but the crew no longer has this task: its output is dropped", title)
        async with self._stop.surfacing():
            result = await to_thread.run_sync(self._kickoff, inputs, abandon_on_cancel=True)
        return result

    def lost(self) -> str:
        """Never anything: a crew continues with the tasks that it has."""
        return ""

    def gone(self) -> str:
        """What is finished, but is no longer in the crew. "" if all is."""
        return f"task{'s' if len(self._gone) > 1 else ''} {', '.join(map(repr, self._gone))}" if self._gone else ""

    def _kickoff(self, inputs: dict[str, Any]) -> Any:
        point = InterceptionPoint
        own: Hooks = {
            point.PRE_STEP: [self._begun],
            point.PRE_MODEL_CALL: [self._tell],
            point.POST_STEP: [self._finished],
        }
        self._steps.enter("")
        every = hooks(self._stop, self._steps, own)
        with scoped_hooks(every), running_code(), self._nobody_there(), self._prepared():
            try:
                return self._crew.kickoff(inputs=inputs)
            except Exception as error:
                self._steps.failed(error)
                raise

    def _nobody_there(self) -> AbstractContextManager[None]:
        return no_terminal(self._steps, self._session.answer, self._session.agent)

    @contextmanager
    def _prepared(self) -> Generator[None]:
        if not internals.take(self._crew):
            raise BadSetup(
                f"the factory of agent {self._session.agent!r} returned a crew that another job is using: make a new "
                "one each time"
            )
        self._crew.stream = False  # nobody reads the stream, and without a reader a streaming crew does not run
        internals.drop_output_log(self._crew)
        agents = [*self._crew.agents, *filter(None, [self._crew.manager_agent])]
        for task in self._crew.tasks:
            self._steps.costs.know(self._keys[id(task)], agents)
            keep_decision(task, self._steps, self._keys[id(task)], finished=id(task) in self._outputs)
            if id(task) in self._outputs:
                internals.finish(task, self._outputs[id(task)], partial(self._reached, task))
            else:
                internals.surround(task, partial(self._around, task))
        forgive = expect(self._agent, self._crew.tasks[-1])
        try:
            yield
        finally:
            forgive()
            for task in self._crew.tasks:
                internals.unfinish(task)
                forget_decision(task)
            internals.release(self._crew)

    def _tell(self, call: Any) -> None:
        """Before a model call of a task, tell it the conversation that the job has brought along. Tasks of other crews
        don't get it."""
        if self._telling is not None and id(call.task) in self._keys:
            self._telling.tell(call.task, call.messages)

    def _begun(self, step: Any) -> None:
        if id(step.task) in self._keys:
            self._steps.enter(self._keys[id(step.task)])
            self._steps.meet(step)

    @contextmanager
    def _around(self, task: Task) -> Generator[None]:
        with placed(f"in task {self._titles[id(task)]!r}"):
            yield
        if internals.has_afters(task, self._crew):
            self._followed(task)

    def _followed(self, task: Task) -> None:
        """Record that a task's callbacks were called: they may have effects, so a restart must not repeat them. What
        they have changed is saved with that."""
        place, title = self._keys[id(task)], self._titles[id(task)]
        with self._lock, self._stop.on_error():
            costs = self._steps.costs.take(place)
            self._spent[id(task)] = sums(self._spent[id(task)], costs)
            self._called.add(id(task))
            called = {_CALLED + self._saved_at.get(id(task), place): costs or True}
            if is_savable(task, self._outputs[id(task)], title):
                self._as_before.discard(id(task))
            else:
                self._warn(
                    "the output of task %r can't be saved as its callbacks left it: after a restart, later tasks get "
                    "the output from before",
                    title,
                )
            before = dict(self._saved)
            snapshot = self._snapshot(f"{title} (callbacks)")
            if alike(self._saved, before):
                self._session.record(called)
            else:
                self._save(snapshot, called)
        self._steps.forget(place)

    def _warn(self, message: str, title: str) -> None:
        _log.warning(f"job %s of agent %r: {message}", self._session.job_id, self._session.agent, title)

    def _reached(self, task: Task, agent: Any) -> None:
        """Called in place of a finished task: count what it cost, and call its callbacks if a crash prevented that."""
        place = self._keys[id(task)]
        for role, usage in self._spent[id(task)].items():
            internals.add_usage(self._steps.costs.model(place, role) or agent.llm, usage)
        if internals.has_afters(task, self._crew) and id(task) not in self._called:
            with self._lock, self._stop.on_error():
                self._snapshot("")  # to know what they change
                self._as_before.add(id(task))
            self._steps.enter(place)
            internals.run_afters(task, self._crew, self._outputs[id(task)])
            self._followed(task)

    def _finished(self, step: Any) -> None:
        """Called after a task and its guardrails, before its callbacks. Ignores the tasks of crews that a tool runs."""
        task = step.task
        if id(task) not in self._keys:
            return
        self._steps.settle(self._keys[id(task)])
        self._stop.check()
        with self._lock, self._stop.on_error():
            self._outputs[id(task)] = step.payload
            self._spent[id(task)] = self._steps.costs.take(self._keys[id(task)])
            self._save(self._snapshot(self._titles[id(task)]))
            if internals.has_afters(task, self._crew):
                self._as_before.add(id(task))
        self._steps.forget(self._keys[id(task)])

    def _save(self, snapshot: Snapshot, records: dict[str, Any] | None = None) -> None:
        self._session.save(snapshot, records=records)
        self._saved_at.clear()

    def _snapshot(self, step: str) -> Snapshot:
        done = [task for task in self._crew.tasks if id(task) in self._outputs]
        state, native = {}, {}
        for task in done:
            title = self._titles[id(task)]
            if id(task) not in self._as_before:  # else it may be half changed, or can't be saved any more
                self._saved[id(task)] = dump_output(task, self._outputs[id(task)], title)
            state[title], own = self._saved[id(task)]
            ours = {"task": title, "usage": self._spent.get(id(task), {}), "called": id(task) in self._called}
            place = self._keys[id(task)]
            native[place] = own | ours | {_CLUES: self._identities.clues[place]}
        kept: dict[str, Any] = {"v": VERSION, "outputs": native}
        if any(caches := dump_caches(self._crew)):
            kept["caches"] = caches
        return Snapshot(step=step, state={"tasks": state}, framework="crewai", native=kept)

    def _restore(self, state: Mapping[str, Any], native: Mapping[str, Any]) -> None:
        tasks = {self._keys[id(task)]: task for task in self._crew.tasks}
        clues = {place: saved.get(_CLUES) or {TITLE: saved["task"]} for place, saved in native.items()}
        now = self._identities.present(clues)
        present = Present(self._agent)
        for place, saved in native.items():
            if place not in now:
                self._gone.append(saved["task"])
                continue
            task = tasks[now[place]]
            self._saved_at[id(task)] = place
            with fitting(f"the output of task {saved['task']!r}"):
                self._outputs[id(task)] = load_output(task, state[saved["task"]], saved, present)
                self._spent[id(task)] = saved.get("usage", {})
            recorded: Costs | bool | None = self._session.journal.get(_CALLED + place)
            if saved.get("called") or recorded is not None:
                self._called.add(id(task))
            if not saved.get("called") and isinstance(recorded, dict):
                self._spent[id(task)] = sums(self._spent[id(task)], recorded)

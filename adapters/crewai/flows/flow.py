"""Flow: one checkpoint per finished method.

A resumed flow is started again, and finished methods return their recorded results. Routers, joins, loops and arguments
come out the same, because CrewAI evaluates them again.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from crewai.flow.async_feedback import HumanFeedbackPending
from crewai.hooks.dispatch import InterceptionPoint, scoped_hooks

from ....contracts.agent import Agent
from ....contracts.errors import BadSetup
from ....contracts.inbox import AskTerms
from ....contracts.outcome import Suspended
from ....contracts.raised import placed
from ....contracts.retry import policies
from ....contracts.versions import Outgrown
from ....coordinator.session import Session
from .. import internals
from ..calls.hooks import hooks
from ..calls.steps import Steps
from ..calls.stop import Stop
from ..calls.stop_iteration import without_stop_iteration
from ..calls.threads import running_code
from ..people.feedback import Feedback, Nowhere, current_call, question
from ..people.terminal import no_terminal
from ..values.contract_versions import Present
from ..values.declared_types import declared
from ..values.values import Values
from .progress import FlowProgress

_log = logging.getLogger("batonpass.crewai")


class FlowRun:
    """One delivery of a job, run by a flow in the worker's event loop. CrewAI runs sync methods in a thread."""

    def __init__(self, flow: Any, agent: Agent[Any], session: Session, stop: Stop) -> None:
        self._flow = flow
        self._agent = agent
        self._job = session.job_id
        self._stop = stop
        self._progress = FlowProgress(flow, Values(declared(flow, agent), Present(agent)), session, stop)
        self._steps = Steps(session, stop, self._progress.finished_before)
        # Two more at least: the next one may fail of the same.
        self._has_attempts = all(session.attempt + 1 < each.attempts for each in policies(agent.retries))
        self._answer = session.answer
        self._feedback = Feedback(session.answer, self._progress.waits)
        self._calls: Counter[str] = Counter()
        self._pending: list[tuple[HumanFeedbackPending, str]] = []
        self._branches: set[asyncio.Task[Any]] = set()
        self._attributes = internals.attributes_of(flow)

    async def run(self, inputs: dict[str, Any]) -> Any:
        """What `flow.kickoff(inputs)` returns, or `Suspended` if it waits for a person."""
        if not internals.take(self._flow):
            raise BadSetup(
                f"the factory of agent {self._agent.name!r} returned a flow that an earlier job has used: make a new "
                "one each time"
            )
        self._check_methods()
        self._flow.stream = False  # nobody reads the stream, and without a reader a streaming flow does not run
        internals.override(self._flow, self._around, self._feedback.behind)
        main = asyncio.current_task()
        result = None
        try:
            async with self._stop.surfacing():
                every = hooks(self._stop, self._steps, {InterceptionPoint.PRE_STEP: [self._steps.meet]})
                with self._nobody_there(), scoped_hooks(every):
                    result = await self._flow.kickoff_async(inputs=inputs)
                # A flow that waits for a person returns at once. First let its other branches finish and be saved.
                while running := {branch for branch in self._branches - {main} if not branch.done()}:
                    await asyncio.wait(running)
        finally:
            internals.restore(self._flow)
            for branch in self._branches - {main}:
                branch.cancel()
        return self._outcome(result)

    def lost(self) -> str:
        """The methods at which the job continues, but which the flow lacks. "" if it has all. Raises what would end the
        run because what was saved no longer fits the flow's classes."""
        if not (lost := self._lost()):
            self._progress.load()
        return lost

    def _lost(self) -> str:
        return self._progress.lost(self._steps.places())

    def gone(self) -> str:
        """What is finished, but is no longer in the flow. "" if all is."""
        return self._progress.gone()

    def _check_methods(self) -> None:
        if lost := self._lost():
            raise Outgrown(
                f"agent {self._agent.name!r}: job {self._job} continues at {lost}, which the flow no longer has: "
                "put it back to finish the jobs that started with it, then redrive this one"
            )
        if gone := self.gone():
            _log.warning(
                "job %s: %s finished before, but the flow of agent %r no longer has it: what it did to the state "
                "stays, and a method that is there in its place runs, too",
                self._job,
                gone,
                self._agent.name,
            )

    def _nobody_there(self) -> AbstractContextManager[None]:
        return no_terminal(self._steps, self._answer, self._agent.name, self._flow)

    def _outcome(self, result: Any) -> Any:
        for pending, call in self._pending:
            if pending is result:
                asked = question(pending.context, call)
                return Suspended(asked, terms=AskTerms(options=tuple(asked["emit"] or ())))
        if self._flow.persistence is not None and self._flow.human_feedback_history:
            # CrewAI clears this when the flow object that paused continues. Here another object continues.
            self._flow.persistence.clear_pending_feedback(self._flow.flow_id)
        return result

    def _around(self, execute: internals.Execute) -> internals.Execute:
        async def around(method_name: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            if not self._calls:
                self._begin()
            name = str(method_name)
            call = f"{name}#{self._calls[name]}"
            self._calls[name] += 1
            entry = await self._progress.methods.next(name)
            if entry is not None:
                return self._progress.replay(entry), None
            if call in self._progress.asked:
                method = self._given(call)
            elif not inspect.iscoroutinefunction(method):
                method = without_stop_iteration(method, f"method {name!r}")
            return await self._live(call, name, lambda: execute(method_name, method, *args, **kwargs))

        return around

    def _begin(self) -> None:
        # Set only now, because the kickoff would look up the flow's state there.
        if self._flow.persistence is None:
            self._flow.persistence = Nowhere()
        self._progress.restore_state()

    def _given(self, call: str) -> Callable[..., Any]:
        output = self._progress.output(call)

        async def given(*_: Any, **__: Any) -> Any:
            return output

        return given

    async def _live(self, call: str, name: str, execute: Callable[[], Any]) -> tuple[Any, Any]:
        branch = asyncio.current_task()
        assert branch is not None
        self._branches.add(branch)
        current_call.set(call)
        self._steps.enter(call)
        asked_before = len(self._flow.human_feedback_history)
        try:
            with placed(f"in method {name!r}"), running_code():
                result, event = await execute()
        except HumanFeedbackPending as pending:
            if call not in self._progress.asked:
                with self._stop.on_error():
                    raise BadSetup(
                        f"method {name!r} of agent {self._agent.name!r} raised HumanFeedbackPending itself: decorate "
                        "it with @human_feedback"
                    ) from None
            self._pending.append((pending, call))
            raise
        except Exception as error:
            await asyncio.to_thread(self._steps.failed, error, call, sparing=self._has_attempts)
            raise
        await asyncio.to_thread(self._steps.settle, call)
        self._stop.check()
        self._warn_of_attributes(name)
        said = [f for f in self._flow.human_feedback_history[asked_before:] if f.method_name == name]
        await self._progress.finished(call, name, result, said[-1] if said else None)
        self._steps.forget(call)
        return result, event

    def _warn_of_attributes(self, method: str) -> None:
        """Log what another process would not know. (CrewAI itself keeps only the state when it resumes a flow, too.)"""
        before, self._attributes = self._attributes, internals.attributes_of(self._flow)
        lost = [name for name, value in self._attributes.items() if name not in before or before[name] is not value]
        if lost:
            _log.warning(
                "agent %r: method %r of flow %s set %s, which is lost if the job continues in another process: "
                "keep it in self.state",
                self._agent.name,
                method,
                type(self._flow).__name__,
                ", ".join(f"self.{name}" for name in lost),
            )

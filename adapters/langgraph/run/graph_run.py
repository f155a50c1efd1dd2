"""GraphRun: one delivery, run in a graph."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.serde.types import TASKS
from langgraph.constants import START
from langgraph.errors import GraphRecursionError, is_invalid_resume
from langgraph.types import Command, StateSnapshot

from ....contracts.agent import Agent
from ....contracts.contract import Contract
from ....contracts.errors import BadSetup, Unanswered
from ....contracts.handoff import Handoff
from ....contracts.outcome import Finished, Outcome
from ....contracts.retry import Exhausted
from ....contracts.versions import Outgrown
from ....coordinator.session import Session
from ... import borders
from ..internals import allow_subgraphs_without_checkpoints
from ..serde.allowlist import declared_types
from ..serde.values import Values
from .error_handlers import with_handlers
from .graph import as_graph
from .job_saver import JobSaver
from .missing_nodes import lost_nodes
from .payloads import context_of, into_graph, out_of_graph
from .progress import Progress
from .questions import Questions
from .rerouting import Rerouting
from .running import RunningTasks
from .streaming import Streaming
from .tokens import StreamedTokens
from .unanswered import closed
from .usage import CountingUsage

_log = logging.getLogger("batonpass.langgraph")


class GraphRun:
    """A graph with the job's saver, run from its start or last checkpoint to its end or next question."""

    def __init__(self, agent: Agent[Any], made: Any, session: Session) -> None:
        graph = as_graph(agent, made)
        declared = declared_types(graph, [agent.accepts, *agent.hands_to.values(), *_some(agent.returns)])
        values = Values({*declared, (Handoff.__module__, Handoff.__name__)})
        visible = frozenset(_kept(graph)) - {START, TASKS}
        lasting = agent.memory == "thread"
        progress = Progress(session, values, visible, has_start=START in graph.nodes, lasting=lasting)
        self._agent = agent
        self._session = session
        self._values = values
        self._saver = JobSaver(session, progress, values)
        self._graph: Any = graph.copy(update={"checkpointer": self._saver})
        self._config: RunnableConfig = {"configurable": {"thread_id": progress.root[0]}}
        self._questions = Questions(self._graph, progress)
        self._usage = CountingUsage(session)
        self._callbacks: list[BaseCallbackHandler] = [self._usage]
        if agent.remembers:
            session.parts = running = RunningTasks()
            self._callbacks.insert(0, running)

    async def outcome(self, payload: Contract, context: Any) -> Outcome:
        """Run the graph to its outcome."""
        begun, passed = self._session.checkpoint, self._questions.came_back()
        resume: dict[str, Any] | None = None
        if lost := self.lost():
            where = f"checkpoint {begun.id}" if begun else "what it left when it passed the job on"
            raise Outgrown(
                f"agent {self._agent.name!r}: {where} continues at {lost}, which the graph no longer has: "
                "put it back to finish the jobs that started with it, then redrive this one"
            )
        if unread := self.unread():
            _log.warning(
                "job %s: the state of agent %r holds %s, which its graph lacks: left as it is",
                self._session.job_id,
                self._agent.name,
                unread,
            )
        if self._saver.progress.left:
            await self._session.arecord(self._saver.progress.left)
        given = context_of(self._agent, payload, self._graph)
        if begun is None:
            entered = await self._entered(payload, context, passed)
        else:
            await self._take_edit(given)
            state = await self._state()
            resume = self._questions.answered(state, self._session.answer)
            if resume is None and self._questions.waits(state):
                return await self._stopped(state)
            entered = Command(resume=resume) if resume else None
        try:
            result = await self._drive(entered, given)
        except Exception as error:
            if not is_invalid_resume(error):
                raise
            return await self._asked_again(error)
        state = await self._state()
        if state.next:
            self._questions.check_taken(resume or {})
            return await self._stopped(state)

        def default(contract: type[Contract]) -> Contract:
            return out_of_graph(self._agent, contract, result)

        left = await borders.leave(self._agent, result, context, default)
        comes_back = self._agent.remembers and isinstance(left, Handoff)
        return Finished(left, self._saver.progress.last_again() if comes_back else None)

    def lost(self) -> str:
        """The nodes that run next, but which the graph lacks. "" if it has all."""
        if self._session.checkpoint is None and not self._questions.came_back():
            return ""
        return ", ".join(sorted(lost_nodes(self._graph, self._saver.progress.kept())))

    def unread(self) -> str:
        """The keys of the state that the graph lacks. "" if it has all."""
        progress = self._saver.progress
        keys = progress.tip.state.keys() - progress.visible if progress.tip is not None else ()
        return ", ".join(map(repr, sorted(keys)))

    async def _take_edit(self, given: Any) -> None:
        """If a person has edited the state, decide what runs next, and save that before it runs. `given` is the graph's
        runtime context."""
        progress = self._saver.progress
        if progress.tip is not None and "before" in progress.tip.frame:
            snapshot, records = await Rerouting(self._graph, progress, given, [self._usage]).taken()
            await self._session.asave(snapshot, records=records)

    async def _entered(self, payload: Contract, context: Any, passed: str | None) -> Any:
        """What a visit without a checkpoint begins with. `passed` is the interrupt that waits for the job, if one does.
        None if its answer is used already."""
        if not passed:
            entered = await self._enter(payload, context)
            return closed(entered, (await self._state()).values) if self._saver.progress.goes_on else entered
        return None if self._questions.is_used(passed) else Command(resume={passed: payload})

    async def _asked_again(self, error: Exception) -> Outcome:
        """The same question, after an answer that the graph refused."""
        answer = self._session.answer
        if answer is not None and answer.is_default:  # it would be asked for ever
            raise Unanswered(
                f"nobody answered job {self._session.job_id} in time, and default={answer.value!r} of asks= does not "
                f"answer {answer.question!r}: {error}"
            ) from error
        _log.warning("job %s asks again: the answer does not fit: %s", self._session.job_id, error)
        return await self._stopped(await self._state(), str(error))

    async def _state(self) -> StateSnapshot:
        state = await self._graph.aget_state(self._config)
        failed = any(task.error for task in state.tasks)
        latest = self._saver.progress.latest() if failed else None
        return with_handlers(state, latest) if latest else state

    async def _enter(self, payload: Contract, context: Any) -> Any:
        def default() -> Any:
            return into_graph(self._agent, payload, self._graph, self._session, self._values)

        return await borders.enter(self._agent, payload, context, default)

    async def _stopped(self, state: StateSnapshot, error: str = "") -> Outcome:
        """What a graph that has not ended waits for: a person, or the return of the job that it passes on.

        LangGraph waits for the other nodes. But of several tools that a node has called at once, the first one that
        stops ends the node, and the others go on. Their effects would be cut off, and their outcomes unknown.
        """
        await self._session.asettle()
        passed = self._questions.passed_on(state)
        if passed is None:
            return self._questions.suspended(state, error)
        if not self._agent.remembers:
            raise BadSetup(
                f"agent {self._agent.name!r} passes its job on from within its graph: declare memory='job', so that "
                "the graph is there when the job comes back"
            )
        return Finished(*passed)

    async def _drive(self, entered: Any, given: Any) -> Any:
        """The graph's result. `given` is its runtime context. If a write fails, the graph stops at once, and the
        write's error is raised."""
        allow_subgraphs_without_checkpoints()
        streaming = Streaming(self._session, self._graph.store)
        names = {**self._config.get("configurable", {}), **streaming.config}
        callbacks = [*self._callbacks, StreamedTokens(streaming.write, self._session.token)]
        config: RunnableConfig = {"configurable": names, "callbacks": callbacks}
        running = asyncio.ensure_future(self._graph.ainvoke(entered, config, context=given, durability="sync"))
        loop = asyncio.get_running_loop()
        self._saver.on_failure = lambda: loop.call_soon_threadsafe(running.cancel)
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            # Once only: LangGraph cancels its tasks in an orderly way, and a second time would cut that short.
            running.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([running])
            streaming.stop()
            raise
        finally:
            self._saver.close()
        if self._saver.failure is not None:
            streaming.stop()
            raise self._saver.failure
        await streaming.sent()
        try:
            return running.result()
        except GraphRecursionError as error:
            raise Exhausted(
                f"{type(error).__name__}: {error}\nThe next attempt could take as many steps again, so raise the limit "
                "first (graph.compile().with_config(recursion_limit=...)), then redrive the job"
            ) from error


def _kept(graph: Any) -> list[str]:
    """The channels that a checkpoint may have a value of."""
    return [name for name in graph.stream_channels_list if not isinstance(graph.channels[name], UntrackedValue)]


def _some(contract: type[Contract] | None) -> list[type[Contract]]:
    return [] if contract is None else [contract]

"""Rerouting: what runs next in a graph whose state a person has edited, as after LangGraph's own `update_state`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.types import TASKS
from langgraph.graph.state import CompiledStateGraph
from langgraph.managed.is_last_step import IsLastStepManager, RemainingStepsManager
from langgraph.runtime import Runtime
from langgraph.types import PregelTask, Send, StateUpdate

from ....contracts.alike import alike
from ....contracts.checkpoint import Snapshot
from ....contracts.errors import BadSetup
from ..configs import config_of
from ..internals import RUNTIME
from ..serde.allowlist import is_a
from .checkpoint import edited, open_tip, rerouted, unedited
from .error_handlers import path_of
from .missing_nodes import ended_tasks
from .progress import Progress
from .writes import Place

# The supersteps that LangGraph allows a run if nothing else is said.
_STEPS = 10_000
# How LangGraph writes the beginning of the path of a task that was sent.
_PUSHED = "__pregel_push"

_GO_BACK = (
    "Take the job's thread back to the checkpoint before that (`batonpass rollback`), then redrive the job with the "
    "change"
)


class Next(NamedTuple):
    """A checkpoint, and the tasks that run next on it, by their ids."""

    checkpoint: Checkpoint
    tasks: Mapping[str, PregelTask]

    def same(self, other: Next) -> bool:
        """Whether the same nodes run, each as often, and those that were sent, with the same."""
        mine, others = self._sends(), other._sends()
        return (
            Counter(task.name for task in self.tasks.values()) == Counter(task.name for task in other.tasks.values())
            and len(mine) == len(others)
            and all(_same(one, another, ended=True) for one, another in zip(mine, others, strict=True))
        )

    def sends_to(self) -> set[str]:
        """The nodes of those that were sent."""
        return {send.node for send in self._sends()}

    def _sends(self) -> list[Send]:
        return [send for name in self.tasks if (send := self.sent(name)) is not None]

    def sent(self, task: str) -> Send | None:
        """With what a task was sent. None if it reads the state, or there is no such task."""
        if task not in self.tasks:
            return None
        path = cast("tuple[str, int]", cast("Any", self.tasks[task]).path)
        sends: Sequence[Send] = self.checkpoint["channel_values"].get(TASKS) or ()
        return sends[path[1]] if path[0] == _PUSHED else None


class Rerouting:
    """Decides anew what follows on an edited checkpoint.

    The nodes that led to it don't run again, but their edges do: where they lead may depend on what was edited, and
    tasks that were sent have copies of it. Tasks that stay as they are keep what they have written. Parts of the graph
    whose task reads what was edited begin anew: they have their input from before.
    """

    def __init__(self, graph: Any, progress: Progress, context: Any, callbacks: list[BaseCallbackHandler]) -> None:
        latest, tip = progress.latest(), progress.tip
        assert latest is not None, "only a checkpoint is edited"
        assert tip is not None
        self._graph = graph
        self._progress = progress
        self._latest = latest
        self._tip = tip
        self._ran = tip.frame["ran"]
        self._edited = edited(tip)
        runtime = Runtime(context=context, store=graph.store)
        self._config: RunnableConfig = {
            "configurable": {"thread_id": progress.root[0], RUNTIME: runtime},
            "callbacks": callbacks,
        }

    async def taken(self) -> tuple[Snapshot, dict[str, Any]]:
        """Take the edit. Returns the checkpoint to continue from, and records: both must be saved first."""
        before = await self._next(self._latest.read.checkpoint)
        after = await self._rerouted(before) if self._edited else before
        over = self._over(before, after)
        root, progress = self._progress.root, self._progress
        tip = rerouted(self._tip, after.checkpoint, progress.values, progress.visible)
        records = progress.replace(tip, lambda place, path: any(_is_within(place, path, root, task) for task in over))
        return replace(progress.snapshot(tip), step="update"), records

    def _check_unsent(self, sent: set[str]) -> None:
        """Refuse an edit that tasks would not see, because no edge can send them anew."""
        if sent:
            ran = ", ".join(dict.fromkeys(self._ran)) or "the input"
            raise BadSetup(
                f"the edit of the state would not reach {', '.join(sorted(sent))}: {ran} "
                f"has sent the arguments itself, not by an edge of the graph. {_GO_BACK}"
            )

    async def _rerouted(self, before: Next) -> Next:
        """What the edges lead to now. What is next, if they would not lead to that without the edit either: then nodes
        have said it themselves, or each one's edges had only seen what it wrote itself."""
        known = is_a(self._graph, CompiledStateGraph) and all(node in self._graph.nodes for node in self._ran)
        if not known or not self._ran:
            self._check_unsent(before.sends_to())
            return before
        after = await self._routed(before.checkpoint)
        if after.same(before):
            return after
        unchanged = await self._routed(open_tip(unedited(self._tip), self._progress.values))
        if unchanged.same(before):
            return after
        if not unchanged.same(after):
            ran = ", ".join(dict.fromkeys(self._ran))
            blind = ", or had an edge that did not see what the others wrote" if len(self._ran) > 1 else ""
            raise BadSetup(
                f"after the edit, the edges lead elsewhere, but one of {ran} also said itself what "
                f"runs next (Command(goto=)){blind}, and can't say it again. {_GO_BACK}"
            )
        self._check_unsent(before.sends_to() - unchanged.sends_to())
        return before

    async def _routed(self, checkpoint: Checkpoint) -> Next:
        """What the edges of the nodes that ran lead to."""
        held = _Held(self._latest.read._replace(checkpoint=checkpoint))
        graph = self._graph.copy(update={"checkpointer": held, "channels": _with_steps_left(self._graph)})
        await graph.abulk_update_state(self._config, [[StateUpdate(None, node) for node in self._ran]])
        values = {**held.read.checkpoint["channel_values"]}
        if TASKS in values:  # as tasks get it: stored, a tuple is a list
            stored = self._progress.values
            values[TASKS] = stored.open(stored.seal(values[TASKS], "what an edge sends"))
        made = {**held.read.checkpoint, "id": checkpoint["id"], "updated_channels": None, "channel_values": values}
        return await self._next(cast("Checkpoint", made))

    async def _next(self, checkpoint: Checkpoint) -> Next:
        held = _Held(self._latest.read._replace(checkpoint=checkpoint))
        state = await self._graph.copy(update={"checkpointer": held}).aget_state(self._config)
        return Next(checkpoint, {task.id: task for task in state.tasks})

    def _over(self, before: Next, after: Next) -> list[PregelTask]:
        """The tasks that are gone, those that were sent something else, and unfinished ones that read what was
        edited."""
        ended = set(ended_tasks(self._latest))
        return [
            task
            for name, task in before.tasks.items()
            if name not in after.tasks
            or not _same(before.sent(name), after.sent(name), ended=name in ended)
            or (before.sent(name) is None and name not in ended and self._edited & self._reads(task.name))
        ]

    def _reads(self, node: str) -> set[str]:
        channels: Any = self._graph.nodes[node].channels
        return {channels} if isinstance(channels, str) else set(channels)


def _is_within(place: Place, path: str, root: Place, task: PregelTask) -> bool:
    """Whether something belongs to a task of the job's graph: what it, or a call in it, wrote at a path, or a part of
    the graph that it runs."""
    if place == root:
        return f"{path_of(task)}, " in f"{path}, "
    return place[0] == root[0] and place[1].partition("|")[0] in (task.name, f"{task.name}:{task.id}")


def _with_steps_left(graph: Any) -> dict[str, Any]:
    """The graph's channels, in which its edges find as many steps left as a run begins with. (For an update of the
    state, LangGraph says that there are two.)"""
    config: RunnableConfig | None = graph.config
    limit = (config or RunnableConfig()).get("recursion_limit", _STEPS)

    class Remaining(RemainingStepsManager):
        @staticmethod
        def get(scratchpad: Any) -> int:
            return limit

    class IsLast(IsLastStepManager):
        @staticmethod
        def get(scratchpad: Any) -> bool:
            return False

    instead: dict[Any, Any] = {RemainingStepsManager: Remaining, IsLastStepManager: IsLast}
    return {name: instead.get(each, each) if isinstance(each, type) else each for name, each in graph.channels.items()}


def _same(old: Send | None, new: Send | None, *, ended: bool) -> bool:
    """Whether a task was sent the same. A tool call brings the whole state along, which is nothing to one that has
    ended: its effect would be had twice."""
    if old is None or new is None:
        return old is new
    told, tell = (_call_of(each.arg) if ended else each.arg for each in (old, new))
    return old.node == new.node and alike(told, tell)


def _call_of(arg: Any) -> Any:
    """The tool call in what a tool is sent."""
    sent = cast("dict[str, Any]", arg) if isinstance(arg, dict) else {}
    return sent["tool_call"] if sent.get("__type") == "tool_call_with_context" else cast("object", arg)


class _Held(BaseCheckpointSaver[int]):
    """Holds one checkpoint, for LangGraph to look at or to update. Nothing is stored."""

    def __init__(self, read: CheckpointTuple) -> None:
        super().__init__()
        names = read.config.get("configurable", {})
        config = config_of(names["thread_id"], "", read.checkpoint["id"])
        self.read = read._replace(config=config, pending_writes=[])

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.read

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        self.read = self.read._replace(checkpoint=checkpoint)
        return self.read.config

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """What is sent is in the checkpoint, too."""

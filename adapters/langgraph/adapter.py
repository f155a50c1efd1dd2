"""LangGraphAdapter: runs agents of kind "langgraph"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ...contracts.agent import Agent
from ...contracts.checkpoint import Checkpoint
from ...contracts.contract import Contract
from ...contracts.errors import MissingExtra
from ...contracts.outcome import Outcome
from ...contracts.transcript import Transcript
from ...contracts.transcript_losses import Losses
from ...coordinator.branching import Branch, Origin
from ...coordinator.calls import Call
from ...coordinator.editing import in_its_state
from ...coordinator.rows import PlaceRow
from ...coordinator.session import Session
from ...coordinator.transcripts import Saved
from ..dialects import dict_of
from ..edited import check_messages
from ..factory import built
from ..versions import warn_if_untested
from . import edits
from .namespaces import lasts


class LangGraphAdapter:
    """Builds the agent's graph, resumes it from the session, runs it until it ends or asks.

    On a copy of the graph, its own checkpointer is replaced by one that writes through the session, so every write
    carries the lease's token. LangGraph passes that one on to subgraphs.
    """

    remembers = True

    def __init__(self) -> None:
        try:
            import_module("langgraph.pregel")
        except ImportError as error:
            raise MissingExtra(
                "agents of kind 'langgraph' need LangGraph: pip install 'batonpass[langgraph]'"
            ) from error
        warn_if_untested("langgraph", "1.2.20", "1.2")

    @staticmethod
    def read_transcript(saved: Saved, losses: Losses) -> Transcript:
        """The conversation in a checkpoint of this framework."""
        from .transcript.saved import read_state

        return read_state(saved, losses)

    @staticmethod
    def write_transcript(transcript: Transcript, losses: Losses) -> list[dict[str, Any]]:
        """The messages that an agent starts with. Notes what they can't express in `losses`."""
        from .transcript.messages import write_messages

        return write_messages(transcript.messages, losses)

    @staticmethod
    def plain_state(source: Checkpoint, state: Any) -> Any:
        """A saver's state without LangGraph's own channels, and without objects that only savers restore."""
        from .record.fork import check_whole
        from .serde.wrapped import contents

        check_whole(source, "Make a job from the values that the graph's get_state returns")
        kept = {name: value for name, value in dict_of(state).items() if not name.startswith("join:")}
        return contents(kept if isinstance(state, dict) else state)

    @staticmethod
    def branch(origin: Origin) -> Branch:
        """Where a fork of a saver's checkpoint is put, so that graphs find it."""
        from .record.fork import branch_of

        return branch_of(origin)

    @staticmethod
    def needed(thread: str, rows: Sequence[PlaceRow], stays: Sequence[PlaceRow]) -> Call[set[str]]:
        """The checkpoints that delta channels of those that stay are made of. Needs LangGraph."""
        try:
            from .saver.lineage import Lineage
            from .saver.outlines import Outlines
        except ImportError as error:
            raise MissingExtra(
                f"thread {thread!r} is a BatonpassSaver's, and pruning it needs LangGraph: pip install "
                "'batonpass[langgraph]'"
            ) from error
        return (yield from Lineage(Outlines()).needed(thread, rows, stays))

    @staticmethod
    def lasts(scope: str) -> bool:
        """Whether a subgraph goes on in this namespace in later runs, too."""
        return lasts(scope)

    @staticmethod
    def check_edit(source: Checkpoint, state: Any) -> None:
        """Refuse an edited state in which a channel of messages holds none."""
        edited = dict_of(state)
        for channel in dict_of(source.native).get("messages", ()):
            if channel in edited:
                check_messages(channel, edited[channel], ("type", "content"))

    @staticmethod
    def taken(source: Checkpoint, values: Any) -> Any:
        """Values of an edit as a saver's thread holds them: messages are objects there. (A job's are dicts.)"""
        from .record.messages import as_messages

        return as_messages(source.state, values)

    @staticmethod
    def edited(source: Checkpoint, changes: Mapping[str, Any]) -> Any:
        """What the next run has to know of an edit. Refuses values that it could not take."""
        return edits.native_after(source, changes)

    @staticmethod
    def taken_back(source: Checkpoint, mark: str) -> Any:
        """The frame, with the mark that sets its superstep apart from the time before. A person is asked again."""
        return {
            name: told for name, told in dict_of(source.native).items() if name not in ("asked", "by_id", "shown")
        } | {"since": mark}

    @staticmethod
    def keeps_payload(source: Checkpoint) -> str:
        """Always, because the payload becomes the state's first values."""
        return in_its_state(source)

    @staticmethod
    def lost(agent: Agent[Any], made: Any, session: Session) -> str:
        """Where a job continues, but what its agent's factory made lacks it. "" if nothing is missing. Runs nothing."""
        from .run.graph_run import GraphRun

        return GraphRun(agent, made, session).lost()

    @staticmethod
    def unread(agent: Agent[Any], made: Any, session: Session) -> str:
        """What a job's state holds, but what its agent's factory made has no place for. "" if it has one for all."""
        from .run.graph_run import GraphRun

        return GraphRun(agent, made, session).unread()

    async def run(self, agent: Agent[Any], payload: Contract, session: Session, context: Any) -> Outcome:
        """Run one delivery. Raises `Fenced` and `Canceled` unchanged, whatever the graph does with errors."""
        from .run.graph_run import GraphRun

        async with built(agent, context) as made:
            return await GraphRun(agent, made, session).outcome(payload, context)

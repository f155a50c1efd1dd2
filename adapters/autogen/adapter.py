"""AutoGenAdapter: runs agents of kind "autogen"."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

from ...contracts.agent import Agent
from ...contracts.checkpoint import Checkpoint
from ...contracts.contract import Contract
from ...contracts.errors import ContractViolation, MissingExtra
from ...contracts.outcome import Finished, Outcome
from ...contracts.transcript import Transcript
from ...contracts.transcript_losses import Losses
from ...coordinator.editing import in_its_state
from ...coordinator.session import Session
from ...coordinator.transcripts import Saved
from ..borders import enter, leave
from ..factory import built
from ..versions import warn_if_untested
from .edits import check_form, check_resumed


class AutoGenAdapter:
    """Runs the team or agent that a factory returns, one turn at a time, and saves after each turn.

    RoundRobinGroupChat, SelectorGroupChat, Swarm and GraphFlow are stepped. A turn of a GraphFlow is all nodes that run
    in parallel. A single agent is a team of one that takes one turn. MagenticOneGroupChat can't be continued from its
    state, so it runs as one turn. A turn that a crash cut off starts again, with the recorded answers of its models and
    tools.
    """

    remembers = True

    def __init__(self) -> None:
        if find_spec("autogen_agentchat") is None:
            other = next((name for name in ("autogen", "ag2") if find_spec(name)), None)
            hint = f" ({other!r} is installed, but that is AG2, another framework)" if other else ""
            raise MissingExtra(f"AutoGen is not installed{hint}: pip install 'batonpass[autogen]'")
        warn_if_untested("autogen-agentchat", "0.7.4", "0.7.5")
        from . import driver  # imports AutoGen, so that a worker fails at its start and not at its first job

        self._driver = driver

    @staticmethod
    def read_transcript(saved: Saved, losses: Losses) -> Transcript:
        """The conversation in a checkpoint of this framework."""
        from .transcript.saved import read_state

        return read_state(saved, losses)

    @staticmethod
    def write_transcript(transcript: Transcript, losses: Losses) -> list[dict[str, Any]]:
        """The messages that an agent starts with. Notes what they can't express in `losses`."""
        from .transcript.messages import write_messages

        return write_messages(transcript.messages, losses, system=False)

    @staticmethod
    def check_edit(source: Checkpoint, state: Any) -> None:
        """Refuse an edited state that is no conversation."""
        check_form(source, state)

    @staticmethod
    def check_resumed(source: Checkpoint, state: Any) -> None:
        """Refuse an edited state from which the team itself could not continue."""
        check_resumed(source, state)

    @staticmethod
    def keeps_payload(source: Checkpoint) -> str:
        """Always, because the payload is the first message."""
        return in_its_state(source)

    async def run(self, agent: Agent[Any], payload: Contract, session: Session, context: Any) -> Outcome:
        from .beginning import begun
        from .correcting import correctable, corrected
        from .progress import Progress
        from .result import as_dumps, default_result, default_task, task_result
        from .team import adopt
        from .turn import Turns

        async with built(agent, context) as made:
            team = await adopt(agent, made)
            progress = Progress.restored(agent.name, session.checkpoint)
            if progress is None:
                left = Progress.restored(agent.name, session.remembered)
                task = await enter(agent, payload, context, lambda: default_task(payload, team, session.news, left))
                progress = begun(agent, team, left, as_dumps(agent.name, task))
                if agent.memory == "thread":  # the next job has the task, too, if this one stops in its first turn
                    await session.asave(progress.snapshot("begins"))
            turns = Turns(team.team, session, team.keepers)
            while True:
                suspended = await self._driver.drive(team, progress, session, turns)
                if suspended is not None:
                    return suspended
                result = task_result(team, progress, progress.pending)
                default = partial(default_result, agent.name, task_result(team, progress))
                try:
                    return Finished(await leave(agent, result, context, default))
                except ContractViolation as error:
                    if not correctable(agent, team, progress):
                        raise
                    progress = await corrected(agent, team, progress, error)

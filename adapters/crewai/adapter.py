"""Adapter: runs agents whose factory returns a CrewAI crew or flow."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from ...contracts.agent import Agent
from ...contracts.checkpoint import Checkpoint
from ...contracts.contract import Contract
from ...contracts.errors import BadSetup, MissingExtra
from ...contracts.inbox import AskTerms
from ...contracts.outcome import Finished, Outcome, Suspended
from ...contracts.transcript import Transcript
from ...contracts.transcript_losses import Losses
from ...coordinator.editing import in_its_state
from ...coordinator.session import Session
from ...coordinator.transcripts import Saved
from .. import borders
from ..dialects import dict_of
from ..factory import built
from ..quiet import keep_quiet, no_thread_at_import
from ..versions import warn_if_untested
from . import edits

# The lowest and the newest version that the tests ran with.
TESTED = ("1.15.6", "1.15.30")

# What runs crews and flows, in modules that import CrewAI.
_PARTS = ("crews.crew", "flows.flow", "results", "people.terminal", "forks")


class CrewAIAdapter:
    """Runs a `Crew` with a checkpoint per task, or a `Flow` with a checkpoint per method."""

    def __init__(self) -> None:
        no_thread_at_import()
        if importlib.util.find_spec("crewai") is None:
            raise MissingExtra("CrewAI is not installed: pip install 'batonpass[crewai]'")
        if not (importlib.util.find_spec("crewai.hooks") and importlib.util.find_spec("crewai.hooks.dispatch")):
            raise BadSetup("this CrewAI is too old: 1.15.6 or newer is needed, pip install -U crewai")
        warn_if_untested("crewai", *TESTED)
        keep_quiet()  # what was looked for is in CrewAI, which has read a `.env` file as it was imported for that
        for name in _PARTS:  # before a worker forks, so that no child has to
            importlib.import_module(f".{name}", __package__)
        from .late_storage import open_late

        open_late()

    @staticmethod
    def read_transcript(saved: Saved, losses: Losses) -> Transcript:
        """The conversation in a checkpoint of this framework."""
        from .transcript.saved import read_state

        return read_state(saved, losses)

    @staticmethod
    def write_transcript(transcript: Transcript, losses: Losses) -> list[dict[str, Any]]:
        """The messages that an agent starts with. Notes what they can't express in `losses`."""
        from .transcript.saved import write_messages

        return write_messages(transcript, losses)

    @staticmethod
    def keeps_payload(source: Checkpoint) -> str:
        """Always: a flow has it in its state, and a crew has outputs of the tasks that are finished."""
        return edits.of_finished_tasks(source) if "outputs" in dict_of(source.native) else in_its_state(source)

    @staticmethod
    def taken(source: Checkpoint, values: Any) -> Any:
        """Values of an edit. Of a crew's typed outputs, the text and the object stay the same."""
        return edits.taken(source, values) if "outputs" in dict_of(source.native) else values

    @staticmethod
    def lost(agent: Agent[Any], made: Any, session: Session) -> str:
        """Where a job continues, but what its agent's factory made lacks it. "" if nothing is missing. Runs nothing."""
        return str(_runner(made, agent, session).lost())

    @staticmethod
    def gone(agent: Agent[Any], made: Any, session: Session) -> str:
        """What the job has finished, but what its agent's factory made lacks it. "" if nothing is missing."""
        return str(_runner(made, agent, session).gone())

    async def run(self, agent: Agent[Any], payload: Contract, session: Session, context: Any) -> Outcome:
        """Build the crew or flow, continue from the session's checkpoint, and return the outcome as the agent's
        contract.

        `BadSetup` if the factory returns something else.
        """
        from .people.terminal import Asked
        from .results import fit

        async with built(agent, context) as made:
            runner = _runner(made, agent, session)
            inputs = await borders.enter(agent, payload, context, lambda: payload.model_dump(mode="json"))
            try:
                result = await runner.run(_inputs(agent, inputs))
            except Asked as asked:
                return Suspended(asked.question, terms=AskTerms(options=tuple(asked.question.get("emit") or ())))
            if isinstance(result, Suspended):
                return result
            return Finished(await borders.leave(agent, result, context, lambda contract: fit(agent, contract, result)))


def _inputs(agent: Agent[Any], inputs: Any) -> dict[str, Any]:
    try:
        return dict(inputs)
    except (TypeError, ValueError):
        raise BadSetup(
            f"enter= of agent {agent.name!r} returned {type(inputs).__name__}, but kickoff takes a dict of inputs"
        ) from None


def _runner(made: Any, agent: Agent[Any], session: Session) -> Any:
    from crewai import Crew, Flow

    from .calls.stop import Stop
    from .crews.crew import CrewRun
    from .flows.flow import FlowRun

    if isinstance(made, Crew):
        if not made.tasks:
            raise BadSetup(f"the factory of agent {agent.name!r} returned a crew without tasks: give it at least one")
        return CrewRun(made, agent, session, Stop(session))
    if isinstance(made, Flow):
        return FlowRun(made, agent, session, Stop(session))
    kind = f"the class {made.__name__}" if isinstance(made, type) else type(made).__name__
    raise BadSetup(f"the factory of agent {agent.name!r} must return a CrewAI Crew or Flow, not {kind}{_hint(made)}")


def _hint(made: Any) -> str:
    from crewai import Agent

    if isinstance(made, Agent):
        return ": give it a Task in a Crew, or call its kickoff() in a method of a Flow"
    if callable(getattr(made, "crew", None)):
        return ": call its .crew()"
    return ": call it" if isinstance(made, type) else ""

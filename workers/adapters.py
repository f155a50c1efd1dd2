"""Finds the adapter for an agent's kind, in the entry-point group `batonpass.adapters`, and runs the agent by it.

Anybody may have written it, without a type checker, so what it lacks is told in words.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import Any, cast

from ..adapters.adapter import Adapter
from ..contracts.agent import Agent
from ..contracts.contract import Contract
from ..contracts.errors import BadSetup, BatonpassError
from ..contracts.outcome import Outcome
from ..contracts.plugged import plugged
from ..coordinator.frameworks import GROUP
from ..coordinator.session import Session

_RULE = "run() must be async and return Finished, Suspended or Rejected (see batonpass.adapter)"


def load_adapter(kind: str) -> Adapter:
    """The adapter of a kind, with its framework imported. `MissingExtra` if that is not installed."""
    found = plugged(GROUP, kind)
    if not found:
        known = ", ".join(sorted(point.name for point in plugged(GROUP)))
        raise BadSetup(f"no adapter for agents of kind {kind!r}: installed kinds: {known}")
    try:
        adapter: Adapter = next(iter(found)).load()()
    except BatonpassError:
        raise
    except Exception as error:
        raise BadSetup(f"agents of kind {kind!r} can't be run here: {type(error).__name__}: {error}") from error
    if not callable(getattr(adapter, "run", None)):
        raise BadSetup(f"{_named(adapter, kind)} has no method run: {_RULE}")
    return adapter


def check_memory(adapter: Adapter, agent: Agent[Any]) -> None:
    """Refuse an agent that is to remember if its adapter says nothing of it: it would begin anew each time, in
    silence."""
    if agent.remembers and not getattr(adapter, "remembers", False):
        raise BadSetup(
            f"agent {agent.name!r} has memory={agent.memory!r}, but {_named(adapter, agent.kind)} does not say that it "
            "can: leave memory= out, or have the adapter begin with session.remembered and say `remembers = True`"
        )


async def run_by(adapter: Adapter, agent: Agent[Any], payload: Contract, session: Session, context: Any) -> Outcome:
    """Run an agent by its adapter. `BadSetup` if that gives no outcome: another attempt would end the same."""
    running: object = adapter.run(agent, payload, session, context)
    if not isawaitable(running):
        raise BadSetup(f"{_named(adapter, agent.kind)} is not async, and gave {_kind(running)}: {_RULE}")
    outcome = cast("object", await running)
    if not isinstance(outcome, Outcome):
        raise BadSetup(f"{_named(adapter, agent.kind)} returned {_kind(outcome)}: {_RULE}")
    return outcome


def _named(adapter: object, kind: str) -> str:
    return f"adapter {type(adapter).__module__}.{type(adapter).__qualname__} of kind {kind!r}"


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__qualname__}"

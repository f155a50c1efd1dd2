"""Adapter: what a framework's module provides. Found by the entry-point group `batonpass.adapters`."""

from __future__ import annotations

from typing import Any, Protocol

from ..contracts.agent import Agent
from ..contracts.contract import Contract
from ..contracts.outcome import Outcome
from ..coordinator.session import Session


class Adapter(Protocol):
    """Runs agents of one kind.

    An entry point names a callable without arguments that returns an adapter. The module imports its framework inside
    that callable or later, so that naming an adapter costs nothing.
    """

    async def run(self, agent: Agent[Any], payload: Contract, session: Session, context: Any) -> Outcome:
        """Build the framework's object with the user's factory, resume it from the session, and run it to its outcome.

        `context` is what user code gets as `ctx` (factory, enter, leave). Runs in an event loop. Run sync framework
        code in a thread (anyio.to_thread keeps context variables).
        """
        ...

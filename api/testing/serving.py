"""An app on memory: served whole, or one agent's context for a unit test."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from batonpass.app import App
from batonpass.contracts.agent import Agent
from batonpass.contracts.contract import Contract, contract_ref
from batonpass.contracts.names import mint
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.commands import Claim
from batonpass.coordinator.connection import connect
from batonpass.coordinator.rows import Delivery
from batonpass.workers.context import Context, entered
from batonpass.workers.session import LeaseSession

P = TypeVar("P", bound=Contract)


@asynccontextmanager
async def serving(app: App, url: str = "memory://") -> AsyncGenerator[Coordinator]:
    """A coordinator whose jobs are run in this process while the block runs: on memory, if no `url` says otherwise."""
    async with connect(url, app=app) as coordinator, app.worker(coordinator):
        yield coordinator


@asynccontextmanager
async def context(agent: Agent[P], payload: P, *, resources: Any = None) -> AsyncGenerator[Context]:
    """What an agent's function gets as `ctx`, for a test that calls it alone: `await agent(payload, ctx)`.

    It is that of a real job on memory: steps and effects are recorded, `bp.current()` is this one, and a step called
    again with the same name is the next of that name. A plain `def` gets its `.sync`. The job ends with the block.
    """
    app = App("testing")
    app.add(agent)
    async with connect("memory://", app=app) as coordinator:
        await coordinator.submit(agent, payload)
        delivery = await claimed(coordinator, agent)
        made = Context(LeaseSession(coordinator.store, delivery, app), agent, payload, resources)
        entered(made)
        yield made


async def claimed(coordinator: Coordinator, agent: Agent[Any], lease: float = 60.0) -> Delivery:
    """The agent's next delivery, leased for so many seconds."""
    queue = queue_of(agent.name, contract_ref(agent.accepts))
    [delivery] = await coordinator.store.acall(Claim("testing", ((queue, int(lease * 1000)),), (mint("l"),)))
    return delivery

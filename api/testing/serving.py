"""An app on memory for tests: served whole, or one agent's context for a unit test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from batonpass.app import App
from batonpass.contracts.agent import Agent
from batonpass.contracts.contract import Contract, contract_ref
from batonpass.contracts.errors import JobRejected, Refused
from batonpass.contracts.names import mint
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.commands import Claim
from batonpass.coordinator.connection import connect
from batonpass.coordinator.rows import Delivery
from batonpass.workers.about import Rejecting
from batonpass.workers.asking import Asking
from batonpass.workers.context import Context, entered
from batonpass.workers.joining import Spawning
from batonpass.workers.session import LeaseSession

P = TypeVar("P", bound=Contract)


@asynccontextmanager
async def serving(app: App, url: str = "memory://") -> AsyncGenerator[Coordinator]:
    """A coordinator whose jobs run in this process while the block runs, in memory unless you give a `url`."""
    async with connect(url, app=app) as coordinator, app.worker(coordinator):
        yield coordinator


@asynccontextmanager
async def context(agent: Agent[P], payload: P, *, resources: Any = None) -> AsyncGenerator[Context]:
    """A context for a test that calls an agent's function directly: `await agent(payload, ctx)`.

    It belongs to a real job in memory: steps and effects are recorded, and `bp.current()` returns it. A step called
    again with the same name is that name's next step. A plain `def` gets the context's `.sync`. The job ends with the
    block. `ctx.reject` raises `JobRejected`. `ctx.ask` and `ctx.fan_out` raise `Refused`, because they need a worker
    (`serving`).
    """
    app = App("testing")
    app.add(agent)
    async with connect("memory://", app=app) as coordinator:
        await coordinator.submit(agent, payload)
        delivery = await claimed(coordinator, agent)
        made = Context(LeaseSession(coordinator.store, delivery, app), agent, payload, resources)
        entered(made)
        with _ending(agent, made.job_id):
            yield made


@contextmanager
def _ending(agent: Agent[Any], job_id: str) -> Generator[None]:
    """What ends an agent's run for its worker, in words for a test: pytest takes such control flow for its own."""
    try:
        yield
    except (Asking, Spawning) as left:
        does = "ask" if isinstance(left, Asking) else "fan out"
        raise Refused(
            f"agent {agent.name!r} would {does} here: test that with a worker, batonpass.testing.serving"
        ) from None
    except Rejecting as left:
        raise JobRejected(
            f"job {job_id} was rejected by agent {agent.name!r}: {left}", job_id=job_id, reason=str(left)
        ) from None


async def claimed(coordinator: Coordinator, agent: Agent[Any], lease: float = 60.0) -> Delivery:
    """The agent's next delivery, leased for so many seconds."""
    queue = queue_of(agent.name, contract_ref(agent.accepts))
    [delivery] = await coordinator.store.acall(Claim("testing", ((queue, int(lease * 1000)),), (mint("l"),)))
    return delivery

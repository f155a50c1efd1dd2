"""An app on memory for tests: served whole, or one agent's context for a unit test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cached_property
from typing import Any, TypeVar

from anyio.from_thread import start_blocking_portal

from batonpass.app import App
from batonpass.contracts.agent import Agent
from batonpass.contracts.contract import Contract, contract_ref
from batonpass.contracts.duration import Duration
from batonpass.contracts.errors import BadSetup, JobRejected, Refused
from batonpass.contracts.names import mint
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.commands import Claim
from batonpass.coordinator.connection import connect
from batonpass.coordinator.rows import Delivery
from batonpass.coordinator.sync_client import SyncCoordinator
from batonpass.workers.context.asking import Asking
from batonpass.workers.context.base import Rejecting
from batonpass.workers.context.context import Context, SyncContext, entered, left
from batonpass.workers.context.fan_out import Spawning
from batonpass.workers.context.sleeping import Sleeping
from batonpass.workers.session import LeaseSession

from .either import Either

P = TypeVar("P", bound=Contract)


def serving(app: App, url: str = "memory://") -> Either[Coordinator, SyncCoordinator]:
    """A coordinator whose jobs run in this process while the block runs, in memory unless you give a `url`.

    `async with` gives a `Coordinator`, `with` a `SyncCoordinator`.
    """
    return Either(_serving(app, url), _serving_sync(app, url))


def context(agent: Agent[P], payload: P, *, resources: Any = None) -> Either[Context, SyncContext]:
    """A context for a test that calls an agent's function directly: `await agent(payload, ctx)`.

    `async with` gives a `Context`, whose `.sync` a plain `def` gets. `with` gives a `SyncContext`. It belongs to a real
    job in memory: steps and effects are recorded, and `bp.current()` returns it. A step called again with the same name
    is that name's next step. The job ends with the block. `ctx.sleep` returns at once. `ctx.reject` raises
    `JobRejected`. `ctx.ask` and `ctx.fan_out` raise `Refused`, because they need a worker (`serving`). `resources` is
    what `ctx.resources` returns.
    """
    return Either(_context(agent, payload, resources), _context_sync(agent, payload, resources))


class _Awake(Context):
    """A context whose sleeps take no time."""

    async def sleep(self, delay: Duration, *, key: str | None = None) -> None:
        with suppress(Sleeping):
            await super().sleep(delay, key=key)

    @cached_property
    def sync(self) -> SyncContext:
        return _SyncAwake(self._session, self._agent, self.payload, self.resources, self._steps)


class _SyncAwake(SyncContext):
    def sleep(self, delay: Duration, *, key: str | None = None) -> None:
        with suppress(Sleeping):
            super().sleep(delay, key=key)


@asynccontextmanager
async def _serving(app: App, url: str) -> AsyncGenerator[Coordinator]:
    async with connect(url, app=app) as coordinator, app.worker(coordinator):
        yield coordinator


@contextmanager
def _serving_sync(app: App, url: str) -> Generator[SyncCoordinator]:
    """The worker has an event loop in a thread of its own. The store serves both."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_serving(app, url)) as coordinator:
        yield SyncCoordinator(coordinator.store, coordinator.book)


@asynccontextmanager
async def _context(agent: Agent[P], payload: P, resources: Any) -> AsyncGenerator[Context]:
    app = _only(agent)
    async with connect("memory://", app=app) as coordinator:
        await coordinator.submit(agent, payload)
        session = LeaseSession(coordinator.store, await claimed(coordinator, agent), app)
        made = _Awake(session, agent, payload, resources)
        entered(made)
        with _ending(agent, made.job_id):
            yield made


@contextmanager
def _context_sync(agent: Agent[P], payload: P, resources: Any) -> Generator[SyncContext]:
    app = _only(agent)
    with connect("memory://", app=app) as coordinator:
        coordinator.submit(agent, payload)
        [delivery] = coordinator.store.call(_next_of(agent))
        made = _Awake(LeaseSession(coordinator.store, delivery, app), agent, payload, resources)
        before = entered(made)
        try:
            with _ending(agent, made.job_id):
                yield made.sync
        finally:
            left(before)  # the thread continues after the block, with the next test


def _only(agent: Agent[Any]) -> App:
    given: Any = agent  # users without a type checker give anything
    if not isinstance(given, Agent):
        kind = type(given).__name__
        raise BadSetup(f"context() takes an agent, what @app.agent makes of a function, not a value of type {kind}")
    app = App("testing")
    app.add(agent)
    return app


@contextmanager
def _ending(agent: Agent[Any], job_id: str) -> Generator[None]:
    """Turns what ends an agent's run into errors for a test, because pytest would take such control flow for its
    own."""
    try:
        yield
    except (Asking, Spawning) as paused:
        does = "ask" if isinstance(paused, Asking) else "fan out"
        raise Refused(
            f"agent {agent.name!r} would {does} here: test that with a worker, batonpass.testing.serving"
        ) from None
    except Rejecting as rejecting:
        raise JobRejected(
            f"job {job_id} was rejected by agent {agent.name!r}: {rejecting}", job_id=job_id, reason=str(rejecting)
        ) from None


async def claimed(coordinator: Coordinator, agent: Agent[Any]) -> Delivery:
    """The agent's next delivery, leased for a minute."""
    [delivery] = await coordinator.store.acall(_next_of(agent))
    return delivery


def _next_of(agent: Agent[Any]) -> Claim:
    queue = queue_of(agent.name, contract_ref(agent.accepts))
    return Claim("testing", ((queue, 60_000),), (mint("l"),))

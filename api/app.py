"""App: the registry of agents, with the shorthands of the frameworks and the ways to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from batonpass.contracts import app as declared
from batonpass.contracts.agent import Agent
from batonpass.contracts.contract import Contract
from batonpass.contracts.duration import Duration
from batonpass.contracts.errors import BadSetup, Unanswered
from batonpass.contracts.event import CANCELED, COMPLETED, FAILED, REJECTED, SUSPENDED
from batonpass.contracts.job import DEFAULT_LEASE

if TYPE_CHECKING:
    from batonpass.coordinator.client import Coordinator
    from batonpass.workers.worker import Worker

P = TypeVar("P", bound=Contract)
R = TypeVar("R", bound=Contract)


class App(declared.App):
    """A registry of agents. Creating one does no I/O and imports no framework.

    - `name` is only a label, but agent names are unique in a namespace, across all apps.
    - `version` is a label too, e.g. a commit: `batonpass workers` and `doctor` show which version each live worker
      runs.
    - `lifespan` is an async context manager without arguments. It is entered once per worker process, and what it
      yields is `ctx.resources` (connection pools, clients).
    - `tracer` is an OpenTelemetry tracer, `trace.get_tracer("desk")`. Each attempt, step and effect then runs in a
      span. The spans continue the trace of whoever submitted the job.
    """

    def worker(
        self,
        coordinator: Coordinator,
        *,
        agents: Sequence[str] | None = None,
        concurrency: int = 4,
        lease: Duration = DEFAULT_LEASE,
    ) -> AbstractAsyncContextManager[Worker]:
        """Run a worker in this process: `async with app.worker(coordinator): ...` serves the agents while the block
        runs.

        `agents` names the agents to serve (default: all). `concurrency` is how many deliveries run at once. `lease` is
        how long (seconds, or a timedelta) a delivery belongs to this worker without a heartbeat.
        """
        from batonpass.workers.worker import Worker, in_background

        _check_open(coordinator, "a worker")
        named: Any = agents
        if named is not None and (isinstance(named, str) or not isinstance(named, Sequence)):
            raise BadSetup(f"agents={agents!r}, but it must be a list of names")
        return in_background(Worker(self, coordinator, agents=agents, concurrency=concurrency, lease=lease))

    async def declare(self, coordinator: Coordinator) -> None:
        """Record this app's agents in the store, so that others can submit to them before a worker has started."""
        _check_open(coordinator, "declare()")
        await coordinator.declare(self)

    @overload
    async def run(
        self,
        agent: str | Agent[P],
        payload: P | Mapping[str, Any],
        *,
        returns: type[R],
        store: str = ...,
        timeout: Duration | None = ...,
    ) -> R: ...

    @overload
    async def run(
        self,
        agent: str | Agent[P],
        payload: P | Mapping[str, Any],
        *,
        returns: None = ...,
        store: str = ...,
        timeout: Duration | None = ...,
    ) -> Any: ...

    async def run(
        self,
        agent: str | Agent[Any],
        payload: Any,
        *,
        returns: type[Contract] | None = None,
        store: str = "memory://",
        timeout: Duration | None = None,
    ) -> Any:
        """Submit a job, run it in this process and return its result. For notebooks, scripts and tests.

        `store` is a store's URL. The default is in memory, so nothing outlives the call. `timeout` and errors are those
        of `Job.result`. Without a timeout, a question that never expires raises `Unanswered` on `memory://`, because
        nobody else could answer it. On other stores the call waits for the answer.
        """
        from batonpass.coordinator.connection import connect

        async with connect(store, app=self) as coordinator, self.worker(coordinator):
            job = await coordinator.submit(agent, payload, returns=returns)
            if timeout is None and store.startswith("memory:"):
                await _until_it_ends(job.id, coordinator)
            return await job.result(timeout=timeout)


def _check_open(given: Any, who: str) -> None:
    """Refuse anything but an open coordinator. Users without a type checker pass a URL, or one that is not open."""
    from batonpass.coordinator.client import Coordinator

    if not isinstance(given, Coordinator):
        raise BadSetup(f"{who} needs an open coordinator: `async with batonpass.connect(...) as coordinator`")


async def _until_it_ends(job_id: str, coordinator: Coordinator) -> None:
    """Wait for the end of a job, on a store that nobody else can reach."""
    ends = (COMPLETED, FAILED, CANCELED, REJECTED)
    async for event in coordinator.events(types=(SUSPENDED, *ends), follow=True):
        if event.subject == job_id and event.type in ends:
            return
        for item in await coordinator.inbox() if event.type == SUSPENDED else ():
            if item.due_at is None:
                raise Unanswered(
                    f"agent {item.agent!r} asks {item.question!r}, and nobody can answer app.run() on memory://. Give "
                    "store= and answer from another process (batonpass inbox), or use batonpass.testing.serving"
                )

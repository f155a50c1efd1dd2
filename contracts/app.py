"""App: a registry of agents and contracts. Building one does no I/O."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast, overload

from typing_extensions import Unpack

from .agent import Agent, Isolation, Memory
from .bounds import Rate
from .checkpoint import Checkpoint
from .contract import Contract, ContractRef, contract_ref
from .decorating import told
from .duration import Duration
from .errors import BadSetup, UnknownAgent
from .inbox import Asks
from .migrating import Migration, migrated
from .retry import Retries
from .upcasting import Upcasts
from .versions import check_whole

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

In = TypeVar("In", bound=Contract)
Fn = Callable[..., Any]
Step = TypeVar("Step", bound=Migration)


class AgentOptions(TypedDict, total=False):
    """What every decorator takes besides name and accepts: see `Agent`."""

    returns: type[Contract] | None
    hands_to: Mapping[str, type[Contract]]
    enter: Fn | None
    leave: Fn | None
    retries: Retries
    lease: Duration | None
    timeout: Duration | None
    state_version: int
    fallback: str | None
    isolation: Isolation | None
    concurrency: int | None
    rate: Rate | None
    limit_by: str | None
    max_waiting: int | None
    max_payload: int
    memory: Memory
    asks: Asks | None


class App:
    """What an app declares: `batonpass.App` without what runs it."""

    def __init__(
        self,
        name: str,
        *,
        version: str = "",
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        given: Any = name, version  # users without a type checker give anything
        if not all(isinstance(each, str) for each in given):
            raise BadSetup(f"App({name!r}, version={version!r}): both must be text")
        if lifespan is not None and not callable(cast("object", lifespan)):
            raise BadSetup(f"lifespan={lifespan!r}, but it must be an async context manager's function, not called yet")
        if tracer is not None and not hasattr(tracer, "start_as_current_span"):
            raise BadSetup(f"tracer={tracer!r}, but it must be OpenTelemetry's: trace.get_tracer({name!r})")
        self.name = name
        self.version = version
        self.lifespan = lifespan
        self.tracer = tracer
        self._agents: dict[str, Agent[Any]] = {}
        self._migrations: dict[str, dict[int, Migration]] = {}
        self._upcasts = Upcasts()
        _APPS.append(weakref.ref(self, _APPS.remove))

    @overload
    def agent(
        self, name: str, *, accepts: type[In], **options: Unpack[AgentOptions]
    ) -> Callable[[Callable[[In, Any], Any] | Callable[[In], Any]], Agent[In]]: ...

    @overload
    def agent(
        self, name: str, *, accepts: type[In], kind: str, **options: Unpack[AgentOptions]
    ) -> Callable[[Fn], Agent[In]]: ...

    @told
    def agent(
        self, name: str, *, accepts: type[In], kind: str = "function", **options: Unpack[AgentOptions]
    ) -> Callable[[Any], Agent[In]]:
        """Declare an agent. By default it is a plain function, called as `fn(payload, ctx)` or `fn(payload)`.

        With `kind`, the function is a factory for that framework's object. For the options, see `Agent`. The decorator
        returns the `Agent`, and the original function is its `.fn`.
        """

        def declare(fn: Fn) -> Agent[In]:
            return self.add(Agent(name=name, kind=kind, fn=fn, accepts=accepts, **options))

        return declare

    @told
    def langgraph(self, name: str, *, accepts: type[In], **options: Unpack[AgentOptions]) -> Callable[[Fn], Agent[In]]:
        """Declare an agent whose factory returns a LangGraph StateGraph, compiled graph or Pregel."""
        return self.agent(name, accepts=accepts, kind="langgraph", **options)

    @told
    def crewai(self, name: str, *, accepts: type[In], **options: Unpack[AgentOptions]) -> Callable[[Fn], Agent[In]]:
        """Declare an agent whose factory returns a CrewAI Crew or Flow."""
        return self.agent(name, accepts=accepts, kind="crewai", **options)

    @told
    def autogen(self, name: str, *, accepts: type[In], **options: Unpack[AgentOptions]) -> Callable[[Fn], Agent[In]]:
        """Declare an agent whose factory returns an AutoGen team or agent."""
        return self.agent(name, accepts=accepts, kind="autogen", **options)

    def migration(self, agent: str, *, from_version: int) -> Callable[[Step], Step]:
        """Declare how to migrate a stored state of `agent` from one `state_version` to the next: `fn(state)` returns
        it.

        It is called when such a checkpoint is read. The stored state does not change.
        """
        check_whole(from_version)

        def declare(fn: Step) -> Step:
            if self._migrations.setdefault(agent, {}).setdefault(from_version, fn) is not fn:
                raise BadSetup(f"app {self.name!r} has two migrations of agent {agent!r} from version {from_version}")
            return fn

        return declare

    def migrated(self, checkpoint: Checkpoint) -> Checkpoint:
        """The checkpoint with its state migrated to its agent's current version, if the agent is in this app."""
        agent = self._agents.get(checkpoint.agent)
        return migrated(checkpoint, agent, self._migrations.get(agent.name, {})) if agent else checkpoint

    def upcast(self, contract: type[Contract], *, from_version: int) -> Callable[[Step], Step]:
        """Declare how to convert a payload of an older version to the next: `fn(values)` takes and returns a dict.

        Workers of this app then also take jobs that wait with that version. Limits count for each version separately.
        """

        def declare(fn: Step) -> Step:
            self._upcasts.add(contract, from_version, fn)
            return fn

        return declare

    def versions(self, contract: type[Contract]) -> list[ContractRef]:
        """A contract's current version, and the older ones that can be upcast to it."""
        return self._upcasts.versions(contract)

    def present(self, ref: ContractRef) -> type[Contract] | None:
        """The contract that an older version is upcast to, if this app has the upcasts."""
        return self._upcasts.present(ref)

    def load(self, contract: type[In], ref: ContractRef, data: bytes) -> In:
        """Validate a stored payload of any of the contract's versions. `ContractViolation` names the fields that don't
        fit."""
        return self._upcasts.load(contract, ref, data)

    def upcast_values(self, contract: type[In], ref: ContractRef, values: dict[str, Any]) -> In:
        """Convert plain values of one of a contract's older `versions`. Raises like `load`."""
        return self._upcasts.convert(contract, ref, values)

    def add(self, agent: Agent[In]) -> Agent[In]:
        """Register an agent. A second one with the same name is refused."""
        if agent.name in self._agents:
            raise BadSetup(
                f"app {self.name!r} has two agents named {agent.name!r}: rename one of them; "
                "in a notebook, also run the cell that creates the App again"
            )
        self._agents[agent.name] = agent
        return agent

    def __getitem__(self, name: str) -> Agent[Any]:
        try:
            return self._agents[name]
        except KeyError:
            known = ", ".join(sorted(self._agents)) or "none"
            raise UnknownAgent(f"app {self.name!r} has no agent {name!r}; it has {known}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._agents

    def __iter__(self) -> Iterator[Agent[Any]]:
        return iter(self._agents.values())

    def check(self) -> None:
        """Refuse contradictory declarations: one contract name and version with two schemas, a handoff or a fallback to
        an agent of this app that accepts another contract, or a migration to no version."""
        first: dict[ContractRef, type[Contract]] = {}
        for contract in {*self.contracts()}:
            ref = contract_ref(contract)
            other = first.setdefault(ref, contract)
            if other is not contract and _described(other) != _described(contract):
                raise BadSetup(
                    f"two contracts are named {ref} but have different fields: give one of them a higher version="
                )
        for agent in self:
            self._check_receivers(agent)
        for name, steps in self._migrations.items():
            known = self[name].state_version
            if max(steps) >= known or min(steps) < 1:
                raise BadSetup(
                    f"agent {name!r} has state_version={known}, but migrations from {sorted(steps)}: raise it"
                )

    def _check_receivers(self, agent: Agent[Any]) -> None:
        for target, contract in agent.hands_to.items():
            receiver = self._agents.get(target)
            if receiver and contract_ref(receiver.accepts).name != contract_ref(contract).name:
                raise BadSetup(
                    f"agent {agent.name!r} hands {contract_ref(contract)} to {target!r}, "
                    f"which accepts {contract_ref(receiver.accepts)}"
                )
        stand_in = self._agents.get(agent.fallback or "")
        if stand_in and contract_ref(stand_in.accepts) != contract_ref(agent.accepts):
            raise BadSetup(
                f"agent {agent.name!r} accepts {contract_ref(agent.accepts)}, but its fallback {stand_in.name!r} "
                f"{contract_ref(stand_in.accepts)}: a fallback must accept the same contract"
            )

    def contracts(self) -> Iterator[type[Contract]]:
        """Every contract that an agent of this app accepts, returns or hands off."""
        for agent in self:
            yield agent.accepts
            yield from agent.hands_to.values()
            if agent.returns:
                yield agent.returns


_APPS: list[weakref.ref[App]] = []


def apps() -> list[App]:
    """The apps of this process, newest first. A client without `app=` uses these."""
    return [app for ref in reversed(_APPS) if (app := ref()) is not None]


def _described(contract: type[Contract]) -> str:
    return json.dumps(contract.model_json_schema(), sort_keys=True)  # text: a default may be nan

"""Agent: a named role and how to run it. Declaring one does no I/O and imports no framework."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast, get_args

from .annotated import annotated_context
from .arity import is_async, takes
from .bounds import MAX_PAYLOAD, Bounds, Rate, check_seconds, is_count
from .contract import Contract, State, contract_ref
from .duration import Duration, seconds_of
from .errors import BadSetup
from .inbox import Asks
from .retry import Retries, policies

In = TypeVar("In", bound=Contract)
Isolation: TypeAlias = Literal["process", "thread", "task"]
Memory: TypeAlias = Literal["hop", "job", "thread"]
_REMEMBERING = "an agent of this kind starts each visit fresh: put what it needs to know into the payload"


@dataclass(frozen=True, kw_only=True, eq=False)
class Agent(Generic[In]):
    """A named role that accepts one contract, and returns a contract or hands off to other agents.

    What passes:

    - `accepts` is the contract of its payload, and `returns` that of its result (None: it only hands off).
    - `hands_to` names the agents that it may hand the job to, or fan out to, each with the contract that it sends. They
      may be another app's.

    How to run it:

    - `kind` is the adapter that runs the agent: "function", "langgraph", "crewai", "autogen", or a third party's.
    - `fn` is the decorated function: the agent itself for kind "function", else a factory that returns the framework's
      object.
    - `enter(payload, ctx)` and `leave(result, ctx)` replace how the adapter converts contracts on the way in and out.
      Both may leave out `ctx`.
    - `isolation` is where `batonpass worker` runs an attempt. "process" is a child process, killed at the timeout, on
      cancel, and when the lease is lost (the default for "crewai"). "task" is the worker's event loop (the default for
      async code). "thread" is the default for a plain `def`. For framework agents, "task" and "thread" are the same. A
      thread can't be killed: when its attempt is over, its next call of the context is refused, and a `batonpass
      worker` with too many of these threads (`--threads-left`) restarts.
    - `memory` is how long the framework's state lasts: "hop" (each visit of a job starts fresh), "job" (a job that
      comes back finds the state as it left it), or "thread" (so does the next job on the same thread). A graph with
      "job" or "thread" can hand off in the middle, with `interrupt(handoff)`, and continues there with the payload that
      comes back. Such a handoff needs no `leave`.
    - `state_version` is stored with each of the agent's states. When their shape changes, raise it and write an
      `@app.migration` for the stored ones.
    - `asks` is how a framework's agent asks a person: who, for how long, and what happens then.

    Failures:

    - `retries` is how many attempts a hop has, or one or more `Retry`. The first one that matches an error decides. An
      error that none matches is not retried.
    - `timeout` is how long one attempt may run, and `lease` how long a delivery belongs to its worker without a
      heartbeat. Both are seconds, or a timedelta.
    - `fallback` is the agent that continues the job when this agent's attempts run out, in any framework. It gets the
      same payload and this agent's conversation, and must accept the same contract.

    Limits, over all workers, for each partition and each version of the contract:

    - `concurrency` is how many deliveries run at once, `rate` how many start in a period. Failed attempts count,
      waiting for an answer doesn't. Jobs over the limit wait (reason "limited" or "rate_limited").
    - `limit_by` names a field of the payload. Each of its values then has its own limits. A program that submits
      without the contract's class must write a value as the class would, and a field with an alias has no lanes there.
    - `max_waiting`: when this many deliveries are ready or limited (in a partition, for the same value), `submit`
      raises `Overloaded`. Handoffs are never refused, because their jobs already exist.
    - `max_payload` is in bytes. Larger payloads are refused, at submits and handoffs.

    Changed limits apply as soon as a worker declares them, also to jobs that already wait. While live workers disagree,
    each goes by its own numbers, so the total lies between the smallest and the largest. (If a worker with old numbers
    is killed, jobs that it has made wait by its `rate` wait until that time.)
    """

    name: str
    kind: str
    fn: Callable[..., Any]
    accepts: type[In]
    returns: type[Contract] | None = None
    hands_to: Mapping[str, type[Contract]] = field(default_factory=dict[str, type[Contract]])
    enter: Callable[..., Any] | None = None
    leave: Callable[..., Any] | None = None
    retries: Retries = 3
    lease: Duration | None = None
    timeout: Duration | None = None
    state_version: int = 1
    fallback: str | None = None
    isolation: Isolation | None = None
    concurrency: int | None = None
    rate: Rate | None = None
    limit_by: str | None = None
    max_waiting: int | None = None
    max_payload: int = MAX_PAYLOAD
    memory: Memory = "hop"
    asks: Asks | None = None

    def __post_init__(self) -> None:
        self._check_names()
        self._check_contracts()
        self._check_options()
        self._check_function()
        self._check_isolation()
        self._check_limits()
        self._check_framework()

    def _check_names(self) -> None:
        if not self.name or not isinstance(cast("object", self.name), str):
            raise BadSetup("an agent needs a name, e.g. @app.agent('research', ...)")
        hands_to: Any = self.hands_to  # users without a type checker give anything
        if not isinstance(hands_to, Mapping):
            raise BadSetup(f"agent {self.name!r}: hands_to={hands_to!r}, but it must be a dict of agents and contracts")
        targets: list[object] = [*self.hands_to, *([] if self.fallback is None else [self.fallback])]
        for target in targets:
            if not isinstance(target, str):
                raise BadSetup(
                    f"agent {self.name!r}: hands_to= and fallback= take agents' names as text, not {target!r:.60}"
                )

    def _check_contracts(self) -> None:
        contracts: list[type[Contract]] = [self.accepts, *self.hands_to.values()]
        for contract in [*contracts, self.returns] if self.returns else contracts:
            contract_ref(contract)
        self._check_outcomes()

    def _check_options(self) -> None:
        try:
            policies(self.retries)
            self.bounds.check()
        except BadSetup as error:
            raise BadSetup(f"agent {self.name!r}: {error}") from None
        if self.fallback == self.name:
            raise BadSetup(f"agent {self.name!r} is its own fallback=: name another agent, or raise retries=")
        if not is_count(self.state_version):
            raise BadSetup(f"agent {self.name!r}: state_version={self.state_version!r}, but versions start at 1")
        for option, duration in (("lease", self.lease), ("timeout", self.timeout)):
            if duration is not None:
                check_seconds(seconds_of(duration), f"agent {self.name!r}: {option}")
        self._check_borders()

    def _check_borders(self) -> None:
        for option, function in (("enter", self.enter), ("leave", self.leave)):
            if function is not None and not callable(cast("object", function)):
                raise BadSetup(f"agent {self.name!r}: {option}={function!r}, but it must be a function")
            if function is not None and not (takes(function, 2) or takes(function, 1)):
                what = "payload" if option == "enter" else "result"
                raise BadSetup(f"agent {self.name!r}: the function of {option}= must take ({what}, ctx), or ({what})")

    def _check_outcomes(self) -> None:
        if self.returns is None and not self.hands_to:
            what = "declare returns= or hands_to= (returns=bp.State if it only does something)"
            raise BadSetup(f"agent {self.name!r} has no outcome: {what}")
        outcomes = len(self.hands_to) + (self.returns is not None)
        inside = self.remembers and self.returns is not None
        if self.kind != "function" and self.leave is None and outcomes > 1 and not inside:
            raise BadSetup(f"agent {self.name!r} has {outcomes} possible outcomes: choose one with leave=")

    def _check_framework(self) -> None:
        """Check the options that only frameworks have, and those that some lack."""
        asks: Any = self.asks
        if asks is not None and not isinstance(asks, Asks):
            raise BadSetup(
                f"agent {self.name!r}: asks={asks!r}, but it must be a batonpass.Asks, e.g. bp.Asks(timeout=3600)"
            )
        if self.memory not in get_args(Memory):
            raise BadSetup(f"agent {self.name!r}: memory={self.memory!r}, but it must be hop, job or thread")
        if self.asks is not None and self.kind == "function":
            raise BadSetup(f"agent {self.name!r}: asks= is for framework agents: here ctx.ask() takes the same options")
        if self.remembers and self.kind in ("function", "crewai"):
            raise BadSetup(f"agent {self.name!r}: memory={self.memory!r}, but {_REMEMBERING}")

    def _check_function(self) -> None:
        if not callable(cast("object", self.fn)):
            what = f"{self.fn!r:.60}, which is not a function"
            hint = "" if self.kind == "function" else ": return it from a function, which a worker calls for each job"
            raise BadSetup(f"agent {self.name!r} was given {what}{hint}")
        if self.kind != "function":
            return
        if not (takes(self.fn, 2) or takes(self.fn, 1)):
            raise BadSetup(f"agent {self.name!r}: its function must take (payload, ctx), or (payload)")
        kind, fitting, other = "a plain def", "SyncContext", "Context"
        if is_async(self.fn):
            kind, fitting, other = "an async def", other, fitting
        if annotated_context(self.fn) == other:
            raise BadSetup(
                f"agent {self.name!r}: its function is {kind}, which gets a {fitting}, but its second parameter is "
                f"annotated as {other}: annotate it as batonpass.{fitting}, or make it "
                f"{'a plain' if fitting == 'Context' else 'an async'} def"
            )

    def _check_isolation(self) -> None:
        if self.isolation not in (None, *get_args(Isolation)):
            raise BadSetup(f"agent {self.name!r}: isolation={self.isolation!r}, but it must be process, thread or task")
        if self.kind == "function" and self.isolation in ("thread", "task"):
            fitting = "task" if is_async(self.fn) else "thread"
            if self.isolation != fitting:
                code = "async code" if fitting == "task" else "a plain def"
                raise BadSetup(f"agent {self.name!r}: isolation={self.isolation!r}, but {code} runs as {fitting!r}")

    def _check_limits(self) -> None:
        if self.concurrency is not None and not is_count(self.concurrency):
            raise BadSetup(f"agent {self.name!r}: concurrency={self.concurrency!r}, but it must be at least 1")
        rate: Any = self.rate
        if rate is not None and not isinstance(rate, Rate):
            raise BadSetup(
                f"agent {self.name!r}: rate={rate!r}, but it must be a batonpass.Rate, e.g. bp.Rate(10, per=60)"
            )
        if self.limit_by is None:
            return
        if not self.bounds.limited:
            raise BadSetup(f"agent {self.name!r}: limit_by={self.limit_by!r} limits nothing: add concurrency= or rate=")
        if not issubclass(self.accepts, State) and self.limit_by not in self.accepts.model_fields:
            raise BadSetup(
                f"agent {self.name!r}: limit_by={self.limit_by!r} is not a field of {contract_ref(self.accepts)}"
            )

    @cached_property
    def bounds(self) -> Bounds:
        """Its limits, as far as senders need them."""
        limited = self.concurrency is not None or self.rate is not None
        return Bounds(
            max_waiting=self.max_waiting, max_payload=self.max_payload, limited=limited, limit_by=self.limit_by
        )

    @property
    def isolated(self) -> bool:
        """Whether it runs in a child process where that is possible."""
        return (self.isolation or ("process" if self.kind == "crewai" else "task")) == "process"

    @property
    def remembers(self) -> bool:
        """Whether its framework's state lasts longer than a visit."""
        return self.memory != "hop"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the original function, so that you can unit test a decorated one."""
        return self.fn(*args, **kwargs)


def name_of(agent: str | Agent[Any]) -> str:
    """An agent's name, given as text or as the `Agent` that its decorator made."""
    given: Any = agent  # users without a type checker give anything
    if isinstance(given, str):
        return given
    if not isinstance(given, Agent):
        said = f"the function {given.__name__}()" if inspect.isfunction(given) else repr(given)
        raise BadSetup(f"{said} is not an agent: give an agent's name, or the Agent that @app.agent returned")
    return given.name

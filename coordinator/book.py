"""Book: what a client knows of agents and contracts: from its app, or all apps of its process, then from the store."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar, cast

from ..contracts.agent import Agent
from ..contracts.app import App, apps
from ..contracts.bounds import Bounds
from ..contracts.checkpoint import Checkpoint
from ..contracts.codec import pack, unpack
from ..contracts.contract import (
    Contract,
    ContractRef,
    Payload,
    State,
    contract_ref,
    convert,
    dump_payload,
    load_mapping,
    load_payload,
    same_fields,
)
from ..contracts.errors import BadSetup, BatonpassError, ContractViolation, Corrupted, UnknownAgent
from ..contracts.intent import Intent, intent_of, named_schema_of, schema_of, stranger_intent, written_schema_of
from ..contracts.kinds import Kind
from ..contracts.lean import dataclass
from ..contracts.names import digest
from ..contracts.understood import understood
from ..contracts.wording import with_aliases
from .commands import Command, Declared, Takers, Target
from .other_versions import Other, carried, meanings, open_others
from .schemas import fit_schema

# For this many seconds, the store's record of agents is not read again.
_FRESH = 5.0


C = TypeVar("C", bound=Contract)


class Numbers(NamedTuple):
    """How many deliveries of an agent may run at once, and how many may start within how many ms. 0: any number."""

    concurrency: int = 0
    starts: int = 0
    per: int = 0


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """An agent as recorded in the store by a worker's start or `app.declare`."""

    accepts: ContractRef
    schema: dict[str, Any]
    named: dict[str, Any] | None  # the schema with the fields' names, if it has aliases
    app: str
    kind: str
    bounds: Bounds
    numbers: Numbers
    others: Mapping[ContractRef, Other]  # versions of what it accepts that were declared earlier
    hands_to: Mapping[str, ContractRef]
    returns: ContractRef | None
    result: dict[str, Any] | None  # the schema of what it returns

    def schema_of(self, ref: ContractRef) -> dict[str, Any]:
        """The schema of a version of what it accepts."""
        return self.others[ref].schema if ref in self.others else self.schema

    def differs(self, agent: Agent[Any]) -> Literal["contract", "fields"] | None:
        """How an agent of the same name contradicts this: it accepts another contract, or the same version of it with
        other fields. (Another version is no contradiction: it has a queue of its own.)"""
        accepts = contract_ref(agent.accepts)
        if accepts.name != self.accepts.name:
            return "contract"
        same = accepts != self.accepts or same_fields(agent.accepts.model_json_schema(), self.schema)
        return None if same else "fields"

    def contradicted(self, agent: Agent[Any]) -> str | None:
        """What `differs` finds, in words, for whoever starts a new release or is about to."""
        accepts, differs = contract_ref(agent.accepts), self.differs(agent)
        if differs == "contract":
            return f"accepts {accepts}, but app {self.app!r} declared that it accepts {self.accepts}: rename the agent"
        return f"{accepts} has other fields than app {self.app!r} declared: raise its version=" if differs else None


class _Recorded(NamedTuple):
    """What the store has recorded. It is replaced as a whole, because other threads may look into it meanwhile."""

    declared: dict[str, bytes]
    opened: dict[str, Declaration]  # so far
    asked: float


class Book:
    """Looks agents and contracts up. With `app` None, in all apps of this process. `first` is looked at before others,
    and an agent that was `given` before everything."""

    def __init__(self, app: App | None, first: App | None = None, given: Agent[Any] | None = None) -> None:
        self._app = app
        self._first = first
        self._given = given
        self._recorded = _Recorded({}, {}, 0.0)

    @property
    def traces(self) -> bool:
        """Whether one of the apps has a tracer."""
        return any(app.tracer is not None for app in ([self._app] if self._app else apps()))

    def seen_by(self, app: App) -> Book:
        """The book of an app's worker: its own agents come first, because other apps of the process may belong to other
        namespaces and have agents of the same names."""
        return Book(self._app, app)

    def knowing(self, agent: str | Agent[Any]) -> Book:
        """The book for a call that was given an agent: other apps of the process may have one of the same name."""
        return Book(self._app, self._first, agent) if isinstance(agent, Agent) else self

    def _apps(self) -> list[App]:
        known = [self._app] if self._app is not None else apps()
        return known if self._first is None else [self._first, *known]

    def agent(self, name: str, contract: str = "") -> Agent[Any] | None:
        """The agent's declaration in this process. If there are several, preferably one that accepts that contract."""
        found = self._given if self._given is not None and self._given.name == name else None
        if found is not None and contract in ("", contract_ref(found.accepts).name):
            return found
        for app in self._apps():
            if name in app:
                if not contract or contract_ref(app[name].accepts).name == contract:
                    return app[name]
                found = found or app[name]
        return found

    def state_version(self, agent: str) -> int:
        """The version of the states that an agent saves."""
        found = self.agent(agent)
        return found.state_version if found else 1

    def migrated(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint migrated to its agent's present state version, if this process knows the agent."""
        app = next((app for app in self._apps() if checkpoint.agent in app), None)
        return app.migrated(checkpoint) if app else checkpoint

    def contract(self, ref: ContractRef) -> type[Contract] | None:
        """The class of a contract in this process."""
        if ref == contract_ref(State):
            return State
        known = (contract for app in self._apps() for contract in app.contracts())
        return next((contract for contract in known if contract_ref(contract) == ref), None)

    def read(self, ref: ContractRef, data: bytes) -> Contract | Payload:
        """A stored payload as its class, upcast if this process only has a newer version of it, or as a mapping if this
        process has none."""
        newer = (app.present(ref) for app in self._apps())
        contract = self.contract(ref) or next(filter(None, newer), None)
        return self.load(contract, ref, data) if contract else load_mapping(ref, data)

    def said(self, wanted: type[C], values: Any) -> C:
        """An answer, or a schedule's payload, as a class. Neither records its contract's version, so what does not fit
        is read as older versions."""
        try:
            return convert(wanted, values)
        except ContractViolation:
            for app in self._apps() if isinstance(values, dict) else ():
                for ref in app.versions(wanted)[1:]:
                    with suppress(ContractViolation):
                        return app.upcast_values(wanted, ref, cast("dict[str, Any]", values))
            raise

    def load(self, wanted: type[C], ref: ContractRef, data: bytes) -> C:
        """A stored payload as a class, upcast if an app here knows how."""
        for app in self._apps() if wanted.__contract_ref__ not in (None, ref) else ():
            if ref in app.versions(wanted):
                return app.load(wanted, ref, data)
        return load_payload(wanted, data)

    def declaration(self, name: str) -> Generator[Command[Any], Any, Declaration]:
        """The store's record of an agent; `UnknownAgent` if there is none."""
        found = self._recorded
        if name not in found.declared or time.monotonic() - found.asked > _FRESH:
            declared: dict[str, bytes] = yield Declared()
            self._recorded = found = _Recorded(declared, {}, time.monotonic())
        if name not in found.declared:
            local = [agent.name for app in self._apps() for agent in app]
            known = ", ".join(sorted({*local, *found.declared})) or "none yet"
            what = f"no app here or in the store has an agent {name!r}; known agents: {known}"
            raise UnknownAgent(f"{what}. Those of an app are known once a worker has started, or by app.declare()")
        if name not in found.opened:
            try:
                found.opened[name] = open_declaration(found.declared[name])
            except (BadSetup, Corrupted) as error:
                raise Corrupted(f"agent {name!r}: {error}") from None
        return found.opened[name]

    def taker(self, name: str) -> Generator[Command[Any], Any, tuple[ContractRef, str]]:
        """What an agent accepts, and its kind."""
        agent = self.agent(name)
        if agent is not None:
            return contract_ref(agent.accepts), agent.kind
        recorded = yield from self.declaration(name)
        return recorded.accepts, recorded.kind

    def bounds(self, name: str, contract: ContractRef) -> Generator[Command[Any], Any, Bounds]:
        """How much an agent takes."""
        agent = self.agent(name, contract.name)
        return agent.bounds if agent is not None else (yield from self.declaration(name)).bounds

    def lane(self, name: str, contract: ContractRef, payload: bytes) -> Generator[Command[Any], Any, str]:
        """The lane of a delivery, "" if its agent has no limits."""
        return (yield from self.lane_within((yield from self.bounds(name, contract)), name, contract, payload))

    def lane_within(
        self, bounds: Bounds, name: str, contract: ContractRef, payload: bytes
    ) -> Generator[Command[Any], Any, str]:
        """The same for an agent with these bounds."""
        if not bounds.limited:
            return ""
        values: Mapping[str, Any] = load_mapping(contract, payload) if bounds.limit_by else {}
        if bounds.limit_by and bounds.limit_by not in values and self.agent(name, contract.name) is None:
            # A program without the class may leave out its defaults.
            schema = (yield from self.declaration(name)).schema_of(contract)
            values = {bounds.limit_by: schema.get("properties", {}).get(bounds.limit_by, {}).get("default")}
        return lane_of(name, contract, values.get(bounds.limit_by) if bounds.limit_by else None)

    def intent(self, name: str, payload: object, ref: ContractRef, data: bytes) -> Generator[Command[Any], Any, Intent]:
        """The intent of a payload for an agent, given as bytes."""
        agent = self.agent(name, ref.name)
        if isinstance(payload, Contract):
            return intent_of(payload, ref, data)
        if agent is not None and contract_ref(agent.accepts) == ref:
            return intent_of(cast("Contract", convert(agent.accepts, dict(_mapping(name, payload)))), ref, data)
        return stranger_intent(ref, data, (yield from self.declaration(name)).schema_of(ref))

    def as_versions(self, name: str, intent: Intent) -> Generator[Command[Any], Any, list[Intent]]:
        """The same intent, in the words of the other recorded versions of its contract."""
        if intent.state:
            return []
        try:
            recorded = yield from self.declaration(name)
        except (UnknownAgent, Corrupted):
            return []
        known = {ref: other.schema for ref, other in recorded.others.items()} | {recorded.accepts: recorded.schema}
        same = [ref for ref in known if ref.name == intent.ref.name and ref != intent.ref]
        return [intent.as_version(ref, known[ref]) for ref in same]

    def address(self, name: str, payload: object) -> Generator[Command[Any], Any, tuple[ContractRef, bytes]]:
        """The contract and the bytes of a payload, checked against what the agent accepts."""
        wanted = contract_ref(type(payload)).name if isinstance(payload, Contract) else ""
        agent = self.agent(name, wanted) or (yield from self.declaration(name))
        ref = contract_ref(agent.accepts) if isinstance(agent, Agent) else agent.accepts
        if isinstance(payload, Contract):
            accepts, ref = ref, contract_ref(type(payload))
            if ref.name != accepts.name:
                raise ContractViolation(f"agent {name!r} accepts {accepts}, not {ref}", fields=["(contract)"])
            data = dump_payload(payload)
        else:
            values = _mapping(name, payload)
            try:
                data = _dump(agent, values)
            except ContractViolation:
                meant = yield from self._meant(name, values, ref)
                if meant is None:
                    raise
                ref, data = meant
        agent.bounds.admit(name, data)
        return ref, data

    def _meant(
        self, name: str, values: dict[str, Any], but: ContractRef
    ) -> Generator[Command[Any], Any, tuple[ContractRef, bytes] | None]:
        """Values that don't fit the declared version, as another one that the agent's workers read, if they fit
        that."""
        try:
            recorded = yield from self.declaration(name)
        except UnknownAgent:
            return None
        for meaning in meanings(recorded, values, but):
            if meaning.sure or (yield Takers(queue_of(name, meaning.contract))):
                return meaning.contract, meaning.data
        return None


def _mapping(name: str, payload: object) -> dict[str, Any]:
    if isinstance(payload, Payload | dict):
        return dict(cast("Payload | dict[str, Any]", payload))
    raise ContractViolation(f"agent {name!r} needs a contract or a mapping, not {type(payload).__name__}")


def _dump(recorded: Agent[Any] | Declaration, values: dict[str, Any]) -> bytes:
    """Plain values for an agent. If this process does not have the class, the recorded schema checks them."""
    if isinstance(recorded, Agent):
        return dump_payload(convert(recorded.accepts, dict(values)))
    if recorded.accepts == contract_ref(State):
        return b"s" + pack(values, path="payload")
    if recorded.named is not None:  # what Python programs sent is shown with the fields' names
        values = with_aliases(values, Kind.of(recorded.named), Kind.of(recorded.schema))
    return b"j" + fit_schema(recorded.accepts, recorded.schema, values)


def target(
    agent: str,
    contract: ContractRef,
    envelope: bytes,
    about: Mapping[str, str] | None = None,
    *,
    priority: int = 0,
    lane: str = "",
) -> Target:
    """The target of a delivery. `about` has more fields for its event, `lane` is as from `Book.lane`."""
    return Target(agent, str(contract), queue_of(agent, contract, priority), envelope, about or {}, lane)


def lane_of(agent: str, contract: ContractRef, value: object = None) -> str:
    """The lane of an agent's deliveries of one contract version, for one value of the field in its `limit_by`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # the same number in JSON
    return digest("lane", agent, str(contract), json.dumps(value, sort_keys=True, default=str))


@lru_cache(maxsize=256)
def queue_of(agent: str, contract: ContractRef, priority: int = 0) -> str:
    """The queue of an agent's deliveries of one contract version and one priority."""
    return digest("queue", agent, str(contract), str(priority))


def parse_ref(text: str) -> ContractRef:
    """`name@version` as a reference."""
    name, _, version = text.rpartition("@")
    return ContractRef(name, int(version))


def close_declaration(agent: Agent[Any], app: App, before: Declaration | None = None) -> bytes:
    """An agent's declaration as recorded. Takes over what the previous one (`before`) knew about other versions."""
    ref = contract_ref(agent.accepts)
    about: dict[str, Any] = {"accepts": str(ref), "schema": schema_of(agent.accepts), "app": app.name}
    if (named := named_schema_of(agent.accepts)) is not None:
        about["named"] = named
    about["kind"] = agent.kind
    about["others"] = {str(other): list(known) for other, known in carried(agent, app, before).items()}
    about["hands_to"] = {to: str(contract_ref(contract)) for to, contract in agent.hands_to.items()}
    about["bounds"] = asdict(agent.bounds)
    about["numbers"] = list(numbers_of(agent))
    about["returns"] = str(contract_ref(agent.returns)) if agent.returns else None
    about["result"] = written_schema_of(agent.returns) if agent.returns else None
    return pack(about, path=f"agent {agent.name!r}")


def numbers_of(agent: Agent[Any]) -> Numbers:
    """An agent's limits."""
    rate = agent.rate
    return Numbers(agent.concurrency or 0, *((rate.count, rate.milliseconds) if rate else ()))


def readable(recorded: Mapping[str, bytes]) -> dict[str, Declaration]:
    """The declarations among those recorded that can be read here: one that is damaged, or of a newer release, keeps
    none of the others."""
    found: dict[str, Declaration] = {}
    for name, data in recorded.items():
        with suppress(BatonpassError):
            found[name] = open_declaration(data)
    return found


@understood("the store's record of an agent")
def open_declaration(data: bytes) -> Declaration:
    """A recorded declaration."""
    opened = unpack(data)
    if not isinstance(opened, dict) or "accepts" not in opened:
        raise BadSetup("the store's record of an agent can't be read: declare the app again")
    about = cast("dict[str, Any]", opened)
    known = {field.name for field in fields(Bounds)}
    bounds = {name: value for name, value in about.get("bounds", {}).items() if name in known}
    return Declaration(
        accepts=parse_ref(about["accepts"]),
        schema=about["schema"],
        named=about.get("named"),
        app=about["app"],
        kind=about["kind"],
        bounds=Bounds(**bounds),
        numbers=Numbers(*about.get("numbers", ())),
        others={parse_ref(ref): other for ref, other in open_others(about.get("others", {})).items()},
        hands_to={to: parse_ref(ref) for to, ref in about.get("hands_to", {}).items()},
        returns=parse_ref(about["returns"]) if about.get("returns") else None,
        result=about.get("result"),
    )

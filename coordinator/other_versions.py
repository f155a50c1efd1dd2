"""Other versions: what plain values may be that do not fit the contract as their agent was declared last.

Programs without a contract's class (over HTTP, on the command line) do not say of which version their values are. In a
rolling deploy, and for long after it, some send the version before; and a worker of the old release that starts anew
declares its agents once more. So a declaration takes along the schemas of the versions that were declared before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..contracts.contract import ContractRef, State, contract_ref
from ..contracts.errors import ContractViolation
from .schemas import fit_schema

if TYPE_CHECKING:
    from ..contracts.agent import Agent
    from ..contracts.app import App
    from .book import Declaration

# Versions of one contract that are remembered, the newest.
_KEPT = 8


class Other(NamedTuple):
    """Another version of what an agent accepts, and whether who declared the agent last reads it."""

    schema: dict[str, Any]
    read: bool


class Meaning(NamedTuple):
    """What values may be; `sure` if that may be submitted whether or not a worker that takes it is there now."""

    contract: ContractRef
    data: bytes
    sure: bool


def carried(agent: Agent[Any], app: App, before: Declaration | None) -> dict[ContractRef, Other]:
    """The versions beside its own that an agent's declaration takes along from the one before."""
    if before is None:
        return {}
    now, read = contract_ref(agent.accepts), app.versions(agent.accepts)
    known = {**{ref: other.schema for ref, other in before.others.items()}, before.accepts: before.schema}
    same = sorted((ref for ref in known if ref.name == now.name and ref != now), reverse=True)
    return {ref: Other(known[ref], ref in read) for ref in same[:_KEPT]}


def meanings(recorded: Declaration, values: Mapping[str, Any], but: ContractRef) -> Iterator[Meaning]:
    """What values that are no `but` fit, newest first.

    An older version may want less: values that have a field which it does not know are a newer one's with a fault.
    """
    last = {recorded.accepts: Other(recorded.schema, read=True)} if recorded.accepts != but else {}
    for ref, (schema, read) in {**last, **recorded.others}.items():
        if ref in (but, contract_ref(State)) or not values.keys() <= schema.get("properties", {}).keys():
            continue
        try:
            data = fit_schema(ref, schema, values)
        except ContractViolation:
            continue
        yield Meaning(ref, b"j" + data, read)


def open_others(recorded: Mapping[str, Any]) -> dict[str, Other]:
    """The other versions as they are recorded, by what they are called; none in a declaration of an older release."""
    found = cast("dict[str, list[Any]]", recorded)
    return {name: Other(dict(schema), bool(read)) for name, (schema, read) in found.items()}

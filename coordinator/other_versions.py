"""Other versions: reads plain values that don't fit the version of the contract that their agent declared last.

Programs without the contract's class (over HTTP, on the command line) don't say which version their values are of. In a
rolling deploy, and for long after it, some send the previous version. So a declaration takes along the schemas of the
versions that were declared before, and a worker of the old release that restarts meanwhile adds its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..contracts.codec import pack, unpack
from ..contracts.contract import ContractRef, State, contract_ref
from ..contracts.errors import ContractViolation
from ..contracts.intent import schema_of
from .schemas import fit_schema

if TYPE_CHECKING:
    from ..contracts.agent import Agent
    from ..contracts.app import App
    from .book import Declaration

# How many versions of one contract are remembered, newest first.
_KEPT = 8


class Other(NamedTuple):
    """Another version of what an agent accepts, and whether the workers that declared the agent last can read it."""

    schema: dict[str, Any]
    read: bool


class Meaning(NamedTuple):
    """A reading of the values. `sure`: it may be submitted even if no live worker takes that version."""

    contract: ContractRef
    data: bytes
    sure: bool


def carried(agent: Agent[Any], app: App, before: Declaration | None) -> dict[ContractRef, Other]:
    """The other versions that an agent's declaration takes along from the one before it."""
    if before is None:
        return {}
    now, read = contract_ref(agent.accepts), app.versions(agent.accepts)
    known = {**{ref: other.schema for ref, other in before.others.items()}, before.accepts: before.schema}
    same = sorted((ref for ref in known if ref.name == now.name and ref != now), reverse=True)
    return {ref: Other(known[ref], ref in read) for ref in same[:_KEPT]}


def with_version(recorded: bytes, agent: Agent[Any]) -> bytes:
    """An agent's record, to which the version that another release accepts is added if it was not known."""
    about, ref = cast("dict[str, Any]", unpack(recorded)), str(contract_ref(agent.accepts))
    others: dict[str, Any] = about.get("others", {})
    if ref in others:
        return recorded
    others[ref] = list(Other(schema_of(agent.accepts), read=False))
    newest_first = sorted(others, key=lambda each: int(each.rpartition("@")[2]), reverse=True)
    return pack({**about, "others": {each: others[each] for each in newest_first}}, path=f"agent {agent.name!r}")


def meanings(recorded: Declaration, values: Mapping[str, Any], but: ContractRef) -> Iterator[Meaning]:
    """The versions that the values fit, newest first, except `but`.

    Older versions often require less. Values with a field that a version does not know are not read as that version:
    they are more likely meant for a newer one, with a mistake in them.
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
    """The recorded other versions, by reference. A declaration of an older release has none."""
    found = cast("dict[str, list[Any]]", recorded)
    return {name: Other(dict(schema), bool(read)) for name, (schema, read) in found.items()}

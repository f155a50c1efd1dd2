"""Payloads: how a contract goes into a graph's state and comes out, unless the agent says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from typing_extensions import is_typeddict

from ....contracts.agent import Agent
from ....contracts.contract import Contract, State, contract_ref, convert
from ....contracts.errors import BadSetup, ContractViolation
from ....coordinator.session import Session
from ...borders import fit_text
from ..serde.plain import readable
from ..serde.values import Values
from ..transcript.messages import to_langchain
from .of_thread import of_thread


def into_graph(
    agent: Agent[Any], payload: Contract, graph: Pregel[Any, Any, Any, Any], session: Session, values: Values
) -> Any:
    """The payload's fields as the state keys of the same name. If no field has a key, one message in `messages`.

    The conversation that the job has brought along comes before it in `messages`. Fields of the graph's runtime context
    need no key in its state. The values of a saver's thread that the job goes on from are there, too.
    """
    fields = _fields(payload)
    keys = _input_keys(graph)
    if keys is None:
        return fields
    aside = _context_names(graph) - keys
    fields = {name: value for name, value in fields.items() if name not in aside}
    earlier: list[BaseMessage] = []
    if session.news and "messages" in keys - fields.keys():
        earlier, session.heard = to_langchain(session.news.messages), True
    kept = of_thread(agent, graph, keys, session, values)
    homeless = sorted(fields.keys() - keys)
    if not homeless:
        return {**kept, **fields, "messages": earlier} if earlier else {**kept, **fields}
    if len(homeless) == len(fields) and "messages" in keys:
        texts = [value for value in fields.values() if isinstance(value, str)]
        text = texts[0] if len(texts) == 1 else payload.model_dump_json()
        return {**kept, "messages": [*earlier, HumanMessage(text)]}
    raise BadSetup(
        f"agent {agent.name!r}: {contract_ref(agent.accepts)} has {', '.join(homeless)}, "
        f"but the graph's state has {', '.join(sorted(keys)) or 'no keys'}: map it with enter="
    )


def context_of(agent: Agent[Any], payload: Contract, graph: Pregel[Any, Any, Any, Any]) -> Any:
    """What the graph's nodes get as `runtime.context`: the payload's fields that its `context_schema` names. None if
    there are none."""
    names, schema = _context_names(graph), cast("Any", graph.context_schema)
    given = {name: value for name, value in _fields(payload).items() if name in names}
    if not given or is_typeddict(schema):
        return given or None
    try:
        return schema(**given)
    except (TypeError, ValueError) as error:
        raise BadSetup(
            f"agent {agent.name!r}: the fields {', '.join(sorted(given))} of {contract_ref(type(payload))} make no "
            f"{schema.__qualname__}, which is the graph's context: {error}"
        ) from None


def out_of_graph(agent: Agent[Any], contract: type[Contract], result: Any) -> Contract:
    """The graph's result as the declared contract. `ContractViolation` if nothing in it fits."""
    if isinstance(result, contract):
        return result
    if isinstance(result, str):
        return fit_text(contract, result)
    if not isinstance(result, Mapping):
        return convert(contract, result)
    state = cast("Mapping[str, Any]", result)
    if issubclass(contract, State):
        return convert(contract, readable(state))
    for value in state.values():
        if isinstance(value, contract):
            return value
    structured = state.get("structured_response")
    if structured is not None:
        return convert(contract, structured)
    named = {name: state[name] for name in contract.model_fields if name in state}
    required = {name for name, field in contract.model_fields.items() if field.is_required()}
    if named and required <= named.keys():
        return convert(contract, named)
    answer = _last_answer(state.get("messages"))
    if answer is not None:
        return fit_text(contract, answer)
    missing = sorted(required - named.keys())
    raise ContractViolation(
        f"the graph of agent {agent.name!r} ended without {', '.join(missing) or 'any field'} of "
        f"{contract_ref(contract)} in its state, and without an answer: use leave=",
        fields=[f"{name}: missing" for name in missing],
    )


def _fields(payload: Contract) -> dict[str, Any]:
    return dict(iter(payload))  # also if one is named `keys`, which `dict(payload)` would call


def _context_names(graph: Pregel[Any, Any, Any, Any]) -> set[str]:
    """The fields of a graph's runtime context, which is a pydantic model, a dataclass or a TypedDict."""
    schema: Any = graph.context_schema
    if is_typeddict(schema):
        return {*schema.__required_keys__, *schema.__optional_keys__}
    fields: dict[str, Any] = getattr(schema, "model_fields", None) or getattr(schema, "__dataclass_fields__", {})
    return set(fields)


def _input_keys(graph: Pregel[Any, Any, Any, Any]) -> set[str] | None:
    """The state keys that the graph takes as input. None if it takes one value of any kind."""
    if isinstance(graph, CompiledStateGraph):
        builder: Any = cast("Any", graph).builder
        keys = set[str](builder.schemas[builder.input_schema])
        return None if keys == {"__root__"} else keys
    return None if isinstance(graph.input_channels, str) else set(graph.input_channels)


def _last_answer(messages: Any) -> str | None:
    answers = [message for message in messages or () if isinstance(message, AIMessage)]
    return str(answers[-1].text) if answers else None

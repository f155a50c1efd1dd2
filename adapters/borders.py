"""How a contract goes into a framework and comes out: the parts that all adapters share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import from_json
from typing_extensions import TypeIs

from ..contracts.agent import Agent
from ..contracts.alike import own
from ..contracts.arity import takes_context
from ..contracts.contract import Contract, contract_ref, convert
from ..contracts.errors import (
    Ambiguous,
    BadSetup,
    ContractViolation,
    Fenced,
    RetryLater,
    StepMismatch,
    Unavailable,
    Unserializable,
)
from ..contracts.handoff import Handoff

# Errors of a tool that its agent can't handle: they end the attempt, as they would anywhere else.
ENDING = (Fenced, Unavailable, StepMismatch, Ambiguous, RetryLater, BadSetup, Unserializable)


# A text that is a code block and nothing else.
_BLOCK = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL | re.IGNORECASE)


async def settle(value: Any) -> Any:
    """The value, awaited if needed: `enter`, `leave` and factories may be sync or async."""
    return await value if inspect.isawaitable(value) else value


async def enter(agent: Agent[Any], payload: Contract, context: Any, default: Callable[[], Any]) -> Any:
    """The framework's input: from the user's `enter(payload, ctx)`, else the adapter's default."""
    if agent.enter is not None:
        return await settle(_called(agent.enter, payload, context))
    return default()


async def leave(
    agent: Agent[Any], result: Any, context: Any, default: Callable[[type[Contract]], Contract]
) -> Contract | Handoff[Any]:
    """The agent's outcome: from the user's `leave(result, ctx)`, else the adapter's default for the agent's one
    declared outcome."""
    if agent.leave is not None:
        outcome: object = await settle(_called(agent.leave, result, context))
        if not is_outcome(outcome):
            raise ContractViolation(
                f"leave= of agent {agent.name!r} returned {type(outcome).__name__}, not a contract or a handoff: "
                "did you forget return?"
            )
        return _addressed(agent, outcome)
    # The declaration has exactly one outcome, or a leave= (contracts/agent.py).
    if agent.returns is not None:
        return default(agent.returns)
    target, contract = next(iter(agent.hands_to.items()))
    return Handoff(target, default(contract))


def _addressed(agent: Agent[Any], outcome: Contract | Handoff[Any]) -> Contract | Handoff[Any]:
    """The outcome of `leave=`. A contract that is not the agent's result goes to the one agent that is declared to get
    it."""
    if isinstance(outcome, Handoff):
        return outcome
    given = contract_ref(type(outcome))
    if agent.returns is not None and contract_ref(agent.returns) == given:
        return outcome
    receivers = [to for to, contract in agent.hands_to.items() if contract_ref(contract) == given]
    if len(receivers) > 1:
        raise ContractViolation(
            f"leave= of agent {agent.name!r} returned {given}, which {' and '.join(map(repr, receivers))} may get: "
            f"return bp.Handoff({receivers[0]!r}, ...)"
        )
    return Handoff(receivers[0], outcome) if receivers else outcome


def _called(fn: Callable[..., Any], value: Any, context: Any) -> Any:
    return fn(value, context) if takes_context(fn, 1) else fn(value)


def is_outcome(value: object) -> TypeIs[Contract | Handoff[Any]]:
    """Whether a user's function returned a contract or handoff."""
    return isinstance(value, Contract | Handoff)


def fit(contract: type[Contract], result: Any) -> Contract:
    """A framework's result as a contract: an instance of it, a text, or what has its fields (a model, a dataclass or a
    dict). `ContractViolation` for anything else."""
    if isinstance(result, contract):
        return result
    if isinstance(result, str):
        return fit_text(contract, result)
    named = fields_of(result)
    if named is None:
        raise ContractViolation(
            f"a result of type {type(result).__qualname__} does not fit {contract_ref(contract)}: let the agent give "
            "its fields (a model, a dataclass or a dict) or a text, or use leave="
        )
    return convert(contract, named, dumped_from=result)


def fields_of(result: object) -> dict[str, Any] | None:
    """The fields of a model, a dataclass or a dict, by name. None for anything else."""
    if isinstance(result, Mapping):
        return dict(cast("Mapping[str, Any]", result))
    if isinstance(result, BaseModel):
        return dict(iter(result))
    return own(result) if is_dataclass(result) and not isinstance(result, type) else None


def fit_text(contract: type[Contract], text: str) -> Contract:
    """Convert a text to a contract: as JSON if that fits, else as the contract's one required text field.

    JSON may be in a code block, because models often put it there.
    """
    problem: ContractViolation | None = None
    block = _BLOCK.fullmatch(text)
    try:
        parsed = from_json(block[1] if block else text)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        try:
            return convert(contract, parsed)
        except ContractViolation as error:
            problem = error
    field = only_text_field(contract)
    if field is not None:
        return convert(contract, {field: text})
    if problem is not None:
        raise problem
    required = [name for name, info in contract.model_fields.items() if info.is_required()]
    raise ContractViolation(
        f"a text result does not fit {contract_ref(contract)}, which requires {', '.join(required) or 'no field'}: "
        "answer in JSON, or use leave=",
        fields=[f"{name}: missing" for name in required],
    )


def only_text_field(contract: type[Contract]) -> str | None:
    """The name of the contract's one required field if that is a str, else None."""
    required = [(name, info) for name, info in contract.model_fields.items() if info.is_required()]
    if len(required) == 1 and required[0][1].annotation is str:
        return required[0][0]
    return None

"""Results: converts what a crew or flow returned to the agent's contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crewai import CrewOutput, TaskOutput
from crewai.flow.human_feedback import HumanFeedbackResult
from crewai.lite_agent_output import LiteAgentOutput
from pydantic import BaseModel

from ...contracts.agent import Agent
from ...contracts.contract import Contract, contract_ref, convert
from ...contracts.errors import ContractViolation
from ...contracts.masked import Masked
from ..borders import fit_text


def fit(agent: Agent[Any], contract: type[Contract], result: Any) -> Contract:
    """The first of `.pydantic`, `.json_dict` and `.raw` that fits the contract. For a flow, what it returned.

    If none fits, raises the `ContractViolation` of the first one.
    """
    problem: ContractViolation | None = None
    for candidate in _candidates(result):
        try:
            return _fitted(agent, contract, candidate)
        except Masked:
            raise
        except ContractViolation as error:
            problem = problem or error
    raise problem or _misfit(agent, contract, None)


def _candidates(result: Any) -> list[Any]:
    if isinstance(result, HumanFeedbackResult):
        return _candidates(result.output)
    if isinstance(result, CrewOutput | TaskOutput):
        found = [result.pydantic, result.json_dict, result.raw]
    elif isinstance(result, LiteAgentOutput):
        found = [result.pydantic, result.raw]
    else:
        found = [result]
    return [candidate for candidate in found if candidate is not None]


def _fitted(agent: Agent[Any], contract: type[Contract], value: Any) -> Contract:
    if isinstance(value, str):
        return fit_text(contract, value)
    if isinstance(value, BaseModel) and not isinstance(value, contract):
        return convert(contract, value.model_dump(mode="json"), dumped_from=value)
    if isinstance(value, BaseModel | Mapping):
        return convert(contract, value)
    raise _misfit(agent, contract, value)


def _misfit(agent: Agent[Any], contract: type[Contract], value: Any) -> ContractViolation:
    hint = "did its last method forget return?" if value is None else "return the contract, or use leave="
    return ContractViolation(
        f"agent {agent.name!r} ended with {'None' if value is None else type(value).__name__}, "
        f"not with {contract_ref(contract)}: {hint}"
    )

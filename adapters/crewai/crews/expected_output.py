"""Expected output: checks the last task's text against the agent's contract while its author can still correct it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ....contracts.agent import Agent
from ....contracts.errors import ContractViolation
from ...borders import only_text_field
from .. import internals
from ..results import fit


def expect(agent: Agent[Any], task: Any) -> Callable[[], None]:
    """Have CrewAI send the validation error to the task's agent, as often as the task's guardrails may. Returns a
    function that undoes this. If the output still does not fit then, the job has a `ContractViolation`.

    A task with its own output class is left alone, because CrewAI itself converts its output.
    """
    contract = agent.returns or next(iter(agent.hands_to.values()), None)
    typed = task.output_pydantic is not None or task.output_json is not None
    if agent.leave is not None or contract is None or typed or only_text_field(contract) is not None:
        return lambda: None
    refused = 0

    def check(output: Any) -> tuple[bool, Any]:
        nonlocal refused
        if refused < task.guardrail_max_retries:
            try:
                fit(agent, contract, output)
            except ContractViolation as error:
                refused += 1
                schema = json.dumps(contract.model_json_schema(), ensure_ascii=False)
                return False, f"{error}. Answer with nothing but JSON of this schema: {schema}"
        return True, output

    return internals.guard(task, check)

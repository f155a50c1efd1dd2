"""A secret in a framework's result is refused, not handed on as asterisks."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

import batonpass as bp
from batonpass.contracts.agent import Agent


class Key(BaseModel):
    text: str = "a key"
    value: SecretStr = SecretStr("hush")


class Got(bp.Contract, name="secret_results.got"):
    text: str
    value: str


class Brief(bp.Contract, name="secret_results.brief"):
    text: str


def agent() -> Agent[Any]:
    app = bp.App("secrets")

    @app.agent("a", accepts=Brief, returns=Got)
    async def made(_: Brief) -> Got:
        raise NotImplementedError

    return made


@pytest.mark.capability("crewai")
def test_of_a_crew() -> None:
    from crewai.tasks.task_output import TaskOutput

    from batonpass.adapters.crewai.results import fit

    given = TaskOutput(description="d", agent="a", pydantic=Key(), raw=Key().model_dump_json())
    with pytest.raises(bp.ContractViolation, match="value holds a secret"):
        fit(agent(), Got, given)
    assert fit(agent(), Brief, given) == Brief(text="a key")


@pytest.mark.capability("langgraph")
def test_of_a_graph() -> None:
    from batonpass.adapters.langgraph.run.payloads import out_of_graph

    for state in ({"structured_response": Key()}, dict(Key())):
        with pytest.raises(bp.ContractViolation, match="value holds a secret"):
            out_of_graph(agent(), Got, state)
        assert out_of_graph(agent(), Brief, state) == Brief(text="a key")


@pytest.mark.capability("autogen")
def test_of_a_team() -> None:
    from autogen_agentchat.base import TaskResult
    from autogen_agentchat.messages import StructuredMessage

    from batonpass.adapters.autogen.result import default_result

    said = TaskResult(messages=[StructuredMessage[Key](source="a", content=Key())])
    with pytest.raises(bp.ContractViolation, match="value holds a secret"):
        default_result("a", said, Got)
    assert default_result("a", said, Brief) == Brief(text="a key")

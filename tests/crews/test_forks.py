"""A flow runs in a fork of a process in which one ran before: CrewAI's event bus begins anew there."""

from __future__ import annotations

from typing import Any

import pytest
from crewai.flow import Flow, start

import batonpass as bp
from batonpass.testing import crash_everywhere, serving
from tests.apps.crewai_app import Small

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Text(bp.Contract, name="crews.forks.text"):
    text: str


class Said(Small, Flow[dict]):  # type: ignore[type-arg]  # CrewAI takes no dict[str, Any]
    @start()
    def said(self) -> str:
        return "said"


def test_a_flow_is_crashed_everywhere_after_one_ran_here() -> None:
    app = bp.App("forks")

    @app.crewai("write", accepts=Text, returns=Text, leave=lambda result: Text(text=str(result)))
    def write() -> Any:
        return Said()

    with serving(app) as coordinator:
        assert coordinator.submit(write, Text(text="x"), returns=Text).result(timeout=30) == Text(text="said")
    crashes = crash_everywhere(app, write, Text(text="x"), returns=Text, timeout=20)
    assert len(crashes) > 1
    assert {crash.result.text for crash in crashes} == {"said"}

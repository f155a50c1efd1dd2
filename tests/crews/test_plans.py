"""Agents of CrewAI that plan their task: what a model says of one step of a plan is not said of another."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from crewai import Agent
from crewai.agent.planning_config import PlanningConfig
from crewai.tools import tool

import batonpass as bp

from ..apps.crewai_kit import Crews, Model, result

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]
PLAN = {
    "plan": "both at once",
    "ready": True,
    "steps": [
        {"step_number": 1, "description": "see NORTH", "tool_to_use": "look", "depends_on": []},
        {"step_number": 2, "description": "see SOUTH", "tool_to_use": "look", "depends_on": []},
    ],
}


class Planner(Model):
    """Plans two steps that run side by side. The second one's model answers first."""

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *args: Any, **options: Any) -> Any:
        said = "\n".join(str(message.get("content")) for message in messages)
        if "strategic planning" in said:
            return self._says("plan", json.dumps(PLAN))
        if "## Current Step" not in said:
            return self._says("end", " and ".join(at for at in ("north", "south") if f"seen {at}" in said))
        step = "NORTH" if "see NORTH" in said else "SOUTH"
        if "seen" in said:
            return self._says(f"{step} done", f"{step} was seen {step.lower()}")
        if step == "NORTH":
            self.script["south"].wait(10)
        function = {"name": "look", "arguments": json.dumps({"at": step.lower()})}
        asked = self._says(step, [{"id": step, "type": "function", "function": function}])
        if step == "SOUTH":
            threading.Timer(0.2, self.script["south"].set).start()  # until this answer is recorded
        return asked

    def _says(self, name: str, answer: Any) -> Any:
        self.ran.append(name)
        return answer


async def test_parallel_steps_that_start_again_get_their_own_answers(crews: Crews) -> None:
    """What all steps' prompts say of the task used to be taken for all of it: each step got the other's answer."""
    looked: list[str] = []

    @tool("look")
    def look(at: str) -> str:
        """Looks at something."""
        looked.append(at)
        if looked == ["south", "north"]:
            raise bp.RetryLater(0.01)
        return f"seen {at}"

    def crew() -> Any:
        model = Planner(model="scripted", script={}, ran=[])
        model.script, model.ran = crews.script, crews.ran
        planning = PlanningConfig(reasoning_effort="low")
        agent = Agent(role="planner", goal="g", backstory="b", llm=model, tools=[look], planning_config=planning)
        return crews.crew(crews.task("a", agent=agent))

    crews.script["south"] = threading.Event()
    assert (await result(crew)).text == "north and south"
    assert looked == ["south", "north", "north"]
    assert sorted(crews.ran) == sorted(["plan", "NORTH", "SOUTH", "NORTH done", "SOUTH done", "end"])

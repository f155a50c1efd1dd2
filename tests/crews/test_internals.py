"""The private parts of CrewAI that the adapter touches are there, and mean what it takes them for."""

from __future__ import annotations

import inspect
from contextvars import copy_context
from typing import Any

import pytest
from crewai import Crew, Flow, Memory, Task
from crewai.agents import CacheHandler
from crewai.agents.agent_builder.base_agent import BaseAgent
from crewai.events import event_context
from crewai.flow import start
from crewai.tools import BaseTool, tool
from crewai.tools.structured_tool import CrewStructuredTool

from batonpass.adapters.crewai import internals
from tests.apps.crewai_app import Small
from tests.apps.crewai_kit import Crews

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Plain(BaseTool):
    name: str = "plain"
    description: str = "Says something."

    def _run(self, text: str) -> str:
        return text


class Little(Small, Flow[dict]):  # type: ignore[type-arg]
    @start()
    def one(self) -> str:
        return "1"


def noting(inner: Any, run: list[Any]) -> Any:
    def noted(**given: Any) -> Any:
        run.append(given)
        return inner(**given)

    return noted


def task_of(name: str = "t", **options: Any) -> Task:
    made: Task = Crews().task(name, **options)
    return made


def test_a_task_is_run_by_its_cores() -> None:
    for name in ("_execute_core", "_aexecute_core"):
        assert list(inspect.signature(getattr(Task, name)).parameters) == ["self", "agent", "context", "tools"]
    task, output, reached = task_of(), object(), list[BaseAgent]()
    internals.finish(task, output, reached.append)
    assert task.execute_sync(agent=task.agent) is output
    assert task.execute_async(agent=task.agent).result(10) is output
    assert reached == [task.agent, task.agent]
    internals.unfinish(task)
    assert not {"_execute_core", "_aexecute_core"} & vars(task).keys()


def test_a_task_keeps_its_text_from_before_the_inputs() -> None:
    task = task_of(description="about {text}")
    task.interpolate_inputs_and_add_conversation_history({"text": "rain"})
    assert (task.description, internals.text_of(task)) == ("about rain", "about {text}")


def test_a_task_writes_its_file_by_a_method_of_its_own(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    task = task_of(output_file="said.txt")
    crew = Crew(agents=[], tasks=[task])
    assert internals.has_afters(task, crew)
    internals.run_afters(task, crew, type("Output", (), {"json_dict": None, "pydantic": None, "raw": "said"})())
    assert (tmp_path / "said.txt").read_text() == "said"


def test_guardrails_stand_in_two_attributes() -> None:
    def passes(output: Any):  # type: ignore[no-untyped-def]  # CrewAI can't read a text annotation
        return True, output.raw

    cases: list[dict[str, Any]] = [{"guardrail": passes}, {"guardrails": [passes, passes]}, {}]
    for before, options in zip((1, 2, 0), cases, strict=True):
        task = task_of(**options)
        kept = task._guardrail, task._guardrails
        undo = internals.guard(task, passes)
        assert task._guardrail is None
        assert len(task._guardrails) == before + 1
        undo()
        assert (task._guardrail, task._guardrails) == kept


def test_a_crew_writes_its_outputs_by_a_handler() -> None:
    crew = Crews().crew(task_of())
    for name in ("reset", "update"):
        assert callable(getattr(crew._task_output_handler, name))
    internals.drop_output_log(crew)
    assert not hasattr(crew._task_output_handler, "storage")


def test_a_crew_and_its_agents_cache_the_results_of_tools() -> None:
    alone, together = (Crews().task(name) for name in ("alone", "together"))
    own = alone.agent.cache_handler = CacheHandler()
    crew = Crew(agents=[together.agent], tasks=[alone, together], cache=True)
    together.agent.tools_handler.cache.add("look", "x", "seen by all")
    own.add("look", "x", "seen by one")
    assert internals.caches(crew) == [{"look-x": "seen by all"}, {"look-x": "seen by one"}]


def test_a_model_counts_its_tokens_in_one_place() -> None:
    model = Crews().model()
    assert not internals.is_adopted(model)
    internals.counter_of(model)({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7})
    internals.add_usage(model, internals.usage_of(model))
    assert model.get_token_usage_summary().total_tokens == 14
    internals.adopt_model(model, lambda *_: "ours", None, None, None)
    assert internals.is_adopted(model)
    assert model.call([]) == "ours"


def test_each_tool_call_ends_in_one_function() -> None:
    @tool("made")
    def made(text: str) -> str:
        """Says something."""
        return text

    tools: list[Any] = [Plain(), made]
    for original in tools:
        run: list[Any] = []
        structured = original.to_structured_tool()
        assert internals.original_tool(structured) is original
        for holder, name in internals.tool_functions(structured):
            internals.shadow(holder, name, noting(getattr(holder, name), run))
        assert structured.invoke({"text": "x"}) == original.run(text="x") == "x"
        assert run == [{"text": "x"}] * 2
        assert internals.told(structured, "x") == "x"
    alone = CrewStructuredTool.from_function(lambda text="": text, name="alone", description="d")
    assert internals.original_tool(alone) is alone


def test_tool_calls_of_every_provider_become_openais() -> None:
    function = type("Function", (), {"name": "look", "arguments": "{}"})()
    call = type("Call", (), {"id": "c1", "function": function})()
    plain = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    assert internals.plain_tool_call(call) == plain
    used = type("ToolUse", (), {"id": "c2", "name": "look", "input": {"at": "x"}, "type": "tool_use"})()
    assert internals.plain_tool_call(used)["function"] == {"name": "look", "arguments": {"at": "x"}}


async def test_a_flow_runs_methods_and_asks_for_providers_by_its_own() -> None:
    flow: Any = Little()
    called: list[str] = []

    def around(execute: internals.Execute) -> internals.Execute:
        async def run(name: str, *args: Any, **options: Any) -> Any:
            called.append(str(name))
            return await execute(name, *args, **options)

        return run

    internals.override(flow, around, lambda resolve: resolve)
    assert await flow.kickoff_async() == "1"
    assert called == ["one"]
    internals.restore(flow)
    internals.set_state(flow, {"id": "x", "n": 1})
    assert flow.state["n"] == 1
    internals.note_finished(flow, "one", "2", None)
    assert flow.method_outputs == ["1", "2"]
    assert internals.take(flow)
    assert not internals.take(flow)
    internals.release(flow)


def test_who_asks_for_feedback_on_a_task_can_be_told_and_tries_again() -> None:
    try:
        from crewai.agents.agent_executor import AgentExecutor
    except ImportError:  # it was elsewhere before 1.15.28
        from crewai.experimental.agent_executor import AgentExecutor  # type: ignore[import-not-found,no-redef,unused-ignore]

    for name in ("_format_feedback_message", "_invoke_loop", "_ainvoke_loop"):
        assert callable(getattr(AgentExecutor, name))


def test_a_stopped_run_tells_of_no_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    """In all threads that have its context; before, and after it, CrewAI warns as ever."""

    def mismatch() -> str:
        event_context.handle_mismatch("task_failed", "agent_execution_started", "task_started")
        return capsys.readouterr().out

    with internals.pairing() as stopped:
        context = copy_context()
        assert "mismatch" in mismatch()
        stopped()
        assert context.run(mismatch) == mismatch() == ""
    assert "mismatch" in mismatch()


def test_a_memory_writes_all_texts_by_one_method_in_the_background() -> None:
    for name, first in (("_encode_batch", "contents"), ("_submit_save", "fn")):
        assert list(inspect.signature(inspect.unwrap(getattr(Memory, name))).parameters)[:2] == ["self", first]
    for name in ("remember", "_background_encode_batch"):
        assert "_encode_batch" in inspect.getsource(getattr(Memory, name))
    for name in ("remember", "remember_many"):
        assert "_submit_save" in inspect.getsource(getattr(Memory, name))


def test_a_model_tells_what_it_streams_by_one_method() -> None:
    assert list(inspect.signature(internals.teller_of(Crews().model())).parameters)[:4] == [
        "chunk",
        "from_task",
        "from_agent",
        "tool_call",
    ]

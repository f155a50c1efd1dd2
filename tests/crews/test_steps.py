"""Inside a task of the CrewAI adapter: which questions are asked again after a failure, and what an agent is told."""

from __future__ import annotations

import json
import threading
import time
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import crewai.tools
import pytest
from crewai import Agent, Flow
from crewai.flow import listen, start
from crewai.hooks.dispatch import InterceptionPoint
from crewai.tools import tool

import batonpass as bp
from batonpass.adapters.crewai.calls.steps import Steps
from batonpass.adapters.crewai.calls.stop import Stop
from batonpass.testing import serving

from ..apps.crewai_app import Small, Topic
from ..apps.crewai_kit import Crews, Failing, Model, Two, failure, only, result
from ..apps.kit import until

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


def look_then(crews: Crews, then: Any) -> Any:
    """Have task "a" look once, and then say what `then` gives."""

    def say(said: str) -> str:
        if "seen" not in said:
            return 'Thought: t\nAction: look\nAction Input: {"at": "x"}'
        answer = then(said) if callable(then) else then
        return f"Thought: t\nFinal Answer: {answer}"

    crews.script["a"] = say


def looking(looked: list[str]) -> Any:
    @tool("look")
    def look(at: str) -> str:
        """Looks at something."""
        looked.append(at)
        return f"seen {at}"

    return look


async def test_a_model_that_fails_is_asked_again_and_no_tool_is_run_again(crews: Crews) -> None:
    looked: list[str] = []
    failures = [OSError("no network")]

    def then(said: str) -> str:
        if failures:
            raise failures.pop()
        return "fine"

    look_then(crews, then)
    done = await result(lambda: crews.crew(crews.task("a", tools=[looking(looked)], cache=False)))
    assert done.text == "fine"
    assert crews.ran == ["a"] * 3
    assert len(looked) == 1


async def test_answers_that_a_guardrail_refused_are_not_given_to_the_next_attempt(crews: Crews) -> None:
    looked: list[str] = []
    answers = iter(["bad"] * 2 + ["good"])
    look_then(crews, lambda said: next(answers))

    def factory() -> Any:
        checked = {"guardrail": lambda output: (output.raw == "good", output.raw), "guardrail_max_retries": 1}
        return crews.crew(crews.task("a", tools=[looking(looked)], **checked))

    assert (await result(factory)).text == "good"
    assert looked == ["x", "x"]  # both in the first attempt: after a refusal CrewAI itself starts the task over


async def test_answers_that_came_in_time_are_not_asked_for_again_if_a_later_one_did_not(crews: Crews) -> None:
    looked, late = list[str](), threading.Event()

    def then(said: str) -> str:
        if not late.is_set():
            late.set()
            time.sleep(2)
        return "in time"

    look_then(crews, then)

    def factory() -> Any:
        task = crews.task("a", tools=[looking(looked)])
        task.agent.max_execution_time = 1
        return crews.crew(task)

    assert (await result(factory)).text == "in time"
    assert looked == ["x"]
    assert len(crews.ran) <= 3  # the first answer once, and the late one perhaps again


async def test_an_agent_is_told_what_its_contract_lacks(crews: Crews) -> None:
    told: list[str] = []

    def say(said: str) -> str:
        told.append(said)
        return '{"a": "1", "b": "2"}' if "b: Field required" in said else '{"a": "1"}'

    crews.script["a"] = say
    assert await result(lambda: crews.crew(crews.task("a")), returns=Two) == Two(a="1", b="2")
    assert len(told) == 2
    assert '"title": "B"' in told[1]


async def test_an_agent_that_never_corrects_itself_leaves_a_dead_letter_naming_the_fields(crews: Crews) -> None:
    crews.script["a"] = json.dumps({"a": "1"})
    failed = await failure(lambda: crews.crew(crews.task("a", guardrail_max_retries=2)), returns=Two)
    assert failed.reason == "contract"
    assert "b: Field required" in failed.error
    assert crews.ran == ["a"] * 3


async def test_a_tools_error_goes_to_the_agent_but_a_lost_job_ends_the_run(crews: Crews) -> None:
    raised: list[str] = []

    @tool("look")
    def look(at: str) -> str:
        """Looks at something."""
        raised.append(at)
        raise bp.Fenced("the lease is over") if at == "lost" else ValueError("seen nothing")

    look_then(crews, "it raised")
    assert (await result(lambda: crews.crew(crews.task("a", tools=[look])))).text == "it raised"
    asked = list(crews.ran)
    crews.script["a"] = 'Thought: t\nAction: look\nAction Input: {"at": "lost"}'
    async with serving(only(lambda: crews.crew(crews.task("a", tools=[look]), crews.task("b")))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await until(lambda: "lost" in raised)
        await job.cancel()
    assert crews.ran[len(asked) :] == ["a"]


@pytest.mark.skipif(not hasattr(crewai.tools, "ToolFailure"), reason="this CrewAI has no ToolFailure")
@pytest.mark.parametrize("policy", ["raise", "warn"])
async def test_a_failure_that_a_tool_reports_is_still_one_in_the_next_attempt(policy: str, crews: Crews) -> None:
    left, failures, told = ["broken"] * 3, [OSError("no network")], list[str]()

    @tool("look")
    def look(at: str) -> Any:
        """Looks at something."""
        details = {"error": OSError("no route"), "body": b"\xff"}
        return crewai.tools.ToolFailure(message=left.pop(), details=details) if left else "seen"

    def say(said: str) -> str:
        if policy == "warn" and "broken" in said and failures:
            raise failures.pop()
        if "seen" not in said and "broken" not in said:
            return 'Thought: t\nAction: look\nAction Input: {"at": "x"}'
        return f"Thought: t\nFinal Answer: {'seen' if 'seen' in said else 'broken'}"

    crews.script["a"] = say

    def factory() -> Any:
        task = crews.task("a", tools=[look], tool_failure_policy=policy)
        task.callback = lambda output: told.extend(failed.message for failed in output.tool_failures)
        return crews.crew(task)

    done = await result(factory, retries=bp.Retry(attempts=9, first=0.01))
    assert (done.text, told) == (("seen", []) if policy == "raise" else ("broken", ["broken"]))


async def test_models_that_a_flow_calls_by_itself_are_not_asked_again(crews: Crews) -> None:
    fail = Failing()

    def answer(said: str) -> str:
        if said == "three":
            fail()
        return said.upper()

    crews.script["collapse"] = answer

    class Asks(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        async def begin(self) -> str:
            class Late(Model):  # like a provider's class, which is imported when it is first used
                async def acall(self, messages: Any, *args: Any, **options: Any) -> str:
                    return self.call(messages)

            late = Late(model="late", script=crews.script, ran=[])
            late.script, late.ran = crews.script, crews.ran
            said = [crews.model().call("one"), crews.model().call([{"role": "user", "content": "two"}])]
            return " ".join([*said, await late.acall("four"), crews.model().call("three")])

    assert (await result(Asks)).text == "ONE TWO FOUR THREE"
    assert len(crews.ran) == 5


@pytest.mark.parametrize("agent", [False, True])
async def test_answers_that_a_method_can_not_use_are_not_given_to_the_next_attempt(agent: bool, crews: Crews) -> None:
    """Every attempt and every redrive used to get them again."""
    answers = iter(["no list", "[1]"])
    crews.script["collapse"] = lambda said: next(answers) if "list" in said else "fine"

    class Lists(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def first(self) -> str:
            return str(crews.model().call("hello"))

        @listen(first)
        def second(self) -> str:
            if agent:
                options = {"guardrail": json_list, "guardrail_max_retries": 0}
                asked: Any = Agent(role="r", goal="g", backstory="b", llm=crews.model(), **options).kickoff("list")
                return str(asked.raw)
            return str(json.loads(crews.model().call("list")))

    assert (await result(Lists)).text == "[1]"
    assert crews.ran == ["collapse"] * 3


def json_list(output: Any) -> tuple[bool, Any]:
    return (output.raw.startswith("["), output.raw)


async def test_two_jobs_may_use_one_tool_and_one_model(crews: Crews) -> None:
    looked: list[str] = []
    both = threading.Barrier(2, timeout=10)
    look_then(crews, lambda said: "fine" if both.wait() >= 0 else "")
    shared, model = looking(looked), crews.model()

    def factory() -> Any:
        task = crews.task("a", tools=[shared])
        task.agent.llm = model
        return crews.crew(task)

    async with serving(only(factory)) as coordinator:
        jobs = [await coordinator.submit("a", Topic(text=text)) for text in "12"]
        assert [(await job.result(timeout=20)).text for job in jobs] == ["fine", "fine"]
    assert looked == ["x", "x"]


async def test_an_async_tool_may_use_the_context_though_crewai_gives_it_another_loop(
    crews: Crews, redis_url: str
) -> None:
    paid: list[str] = []

    @tool("look")
    async def look(at: str) -> str:
        """Looks at something."""
        context = bp.current()
        await context.emit("looking")
        await context.effect("pay", paid.append, context.job_id)
        return "seen"

    look_then(crews, "fine")
    async with serving(only(lambda: crews.crew(crews.task("a", tools=[look]))), redis_url) as coordinator:
        jobs = [await coordinator.submit("a", Topic(text=text)) for text in "123"]
        assert [(await job.result(timeout=20)).text for job in jobs] == ["fine"] * 3
    assert sorted(paid) == sorted(job.id for job in jobs)


class Equal(Exception):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = Exception.__hash__


class Falsy(Exception):
    def __bool__(self) -> bool:
        return False


def caused_by(cause: Exception) -> Exception:
    error = RuntimeError()
    error.__cause__ = cause
    return error


ASKED = OSError("what a model call raised")


@pytest.mark.parametrize(
    ("raised", "error", "dropped"),
    [
        (ASKED, ValueError(), True),
        (ASKED, Equal(), True),
        (ASKED, caused_by(ASKED), False),
        (ASKED, ExceptionGroup("two", [ValueError(), caused_by(ASKED)]), False),
        (falsy := Falsy(), caused_by(falsy), False),
    ],
)
def test_answers_are_dropped_unless_a_model_call_failed(raised: Exception, error: Exception, dropped: bool) -> None:
    """Whatever the errors say of themselves."""
    written: dict[str, Any] = {}
    session: Any = SimpleNamespace(journal={}, record=written.update, check=lambda: None)
    steps = Steps(session, Stop(session), lambda place: False)

    def fail() -> None:
        steps.enter("a task")
        [begun] = steps.hooks()[InterceptionPoint.PRE_STEP]
        begun(SimpleNamespace(kind="task", agent=SimpleNamespace(crew=None)))
        steps.record(steps.begin("?"), "an answer", usage={})
        steps.raised(raised)
        steps.failed(error)

    copy_context().run(fail)
    assert (written["crew/0"] is None) is dropped

"""People in flows of the CrewAI adapter: questions suspend the job, answers resume it, nothing reads the terminal."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from crewai import Crew, Flow
from crewai.flow import and_, human_feedback, listen, or_, router, start
from crewai.flow.async_feedback import ConsoleProvider, HumanFeedbackPending
from crewai.tools import tool

import batonpass as bp
from batonpass.testing import serving

from ..apps.crewai_app import Article, Small, Topic
from ..apps.crewai_kit import Crews, Failing, Note, failure, only
from ..apps.kit import question, until

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


async def test_parallel_questions_are_asked_one_after_the_other() -> None:
    ran: list[str] = []

    class Panel(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        @human_feedback(message="a?")
        def a(self) -> Note:
            ran.append("a")
            return Note(text="A")

        @start()
        @human_feedback(message="b?")
        def b(self) -> Note:
            ran.append("b")
            return Note(text="B")

        @start()
        async def slow(self) -> None:
            await until(lambda: len(ran) == 2)
            await asyncio.sleep(0.05)  # so that both branches ask before this one is done
            ran.append("slow")

        @listen(and_(a, b, slow))
        def join(self) -> str:
            return " ".join(sorted(f"{f.output.text}:{f.feedback}" for f in self.human_feedback_history))

    async with serving(only(Panel)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        first = await question(job)
        assert sorted(ran) == ["a", "b", "slow"]
        await job.answer(first["method"])
        second = await question(job, after=first)
        await job.answer(second["method"])
        assert (await job.result(timeout=20)).text == "A:a B:b"
    assert sorted(ran) == ["a", "b", "slow"]


async def test_a_loop_asks_again_and_an_answer_survives_a_retry(crews: Crews) -> None:
    fail, versions = Failing(), iter("123")
    crews.script["collapse"] = lambda said: "revise" if "better" in said else "good"

    class Revise(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def begin(self) -> None: ...

        @router(or_(begin, "revise"))
        @human_feedback(message="good?", emit=["revise", "good"], llm=crews.model())
        def draft(self) -> str:
            return f"v{next(versions)}"

        @listen("good")
        def end(self, said: Any) -> str:
            fail()
            return f"{said.output} {said.feedback} {said.outcome} {len(self.human_feedback_history)}"

    async with serving(only(Revise)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        first = await question(job)
        assert first == {
            "message": "good?",
            "output": "v1",
            "method": "draft",
            "emit": ["revise", "good"],
        }
        await job.answer("better please")
        assert (await question(job, after=first))["output"] == "v2"
        await job.answer("great")
        assert (await job.result(timeout=20)).text == "v2 great good 2"
    assert crews.ran == ["collapse", "collapse"]


async def test_providers_of_the_user_are_asked_and_the_terminal_never() -> None:
    noted: list[str] = []

    class Slack:
        def request_feedback(self, context: Any, flow: Any) -> str:
            noted.append(context.message)
            raise HumanFeedbackPending(context, callback_info={"thread": 1})

    class Robot:
        def request_feedback(self, context: Any, flow: Any) -> str:
            return "said the robot"

    class Chain(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        @human_feedback(message="1?", provider=Robot())
        def one(self) -> str:
            return "1"

        @listen(one)
        @human_feedback(message="2?", provider=Slack())
        def two(self, said: Any) -> Any:
            return said.feedback

        @listen(two)
        @human_feedback(message="3?", provider=ConsoleProvider())
        def three(self, said: Any) -> Any:
            return f"{said.output}, {said.feedback}"

    async with serving(only(Chain)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        asked = await question(job)
        assert asked["output"] == "said the robot"
        await job.answer({"ok": True})
        assert (await question(job, after=asked))["message"] == "3?"
        await job.answer(None)
        assert (await job.result(timeout=20)).text == 'said the robot, {"ok": true}'
    assert noted == ["2?"]


async def test_what_reads_the_terminal_fails_with_advice(crews: Crews) -> None:
    """CrewAI would give None to the method, which would go on with that."""
    went_on: list[Any] = []

    class Asks(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def greet(self) -> None:
            went_on.append(self.ask("your name?"))

    class AsksSoon(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def greet(self) -> None:
            went_on.append(self.ask("your name?", timeout=9))

    class AsksAsync(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        async def greet(self) -> None:
            went_on.append(self.ask("your name?"))

    class AsksInThread(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def greet(self) -> None:
            with ThreadPoolExecutor(1) as threads:  # a thread without the method's context
                went_on.append(threads.submit(self.ask, "your name?").result())

    class AsksInside(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        async def greet(self) -> None:
            await Asks().kickoff_async()
            went_on.append("inside")

    @tool("greet")
    def greet() -> str:
        """Greets."""
        return str(Asks().kickoff())

    def crew() -> Crew:
        crews.script["a"] = "Thought: t\nAction: greet\nAction Input: {}"
        return crews.crew(crews.task("a", tools=[greet]))

    for factory in (Asks, AsksSoon, AsksAsync, AsksInThread, AsksInside, crew):
        failed = await failure(factory)
        assert failed.reason == "refused"
        assert "Use @human_feedback" in failed.error
    assert went_on == []


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_task_waits_for_what_a_person_says_of_its_output(
    crews: Crews, asynchronous: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """CrewAI's own loop of outputs and feedback, over as many deliveries: models and people are asked once, and CrewAI
    prints no complaint about its events."""
    crews.script["a"] = lambda said: "short" if "shorter" in said else "a long story"

    def factory() -> Any:
        first = crews.task("first")
        return crews.crew(first, crews.task("a", human_input=True, async_execution=asynchronous), crews.task("b"))

    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        asked = await question(job)
        assert (asked["output"], asked["task"]) == ("a long story", "a")
        await job.answer("shorter please")
        again = await question(job, after=asked)
        assert again["output"] == "short"
        await job.answer(None)
        assert (await job.result(timeout=20)).text == "out of b"
    assert crews.ran == ["first", "a", "a", "b"]
    assert "mismatch" not in capsys.readouterr().out


async def test_a_task_of_a_crew_in_a_flow_waits_for_a_person(crews: Crews) -> None:
    class Writes(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def write(self) -> str:
            task = crews.task("a", human_input=True)
            task.description = "a"
            return str(crews.crew(task).kickoff())

    async with serving(only(Writes)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert (await question(job))["output"] == "out of a"
        await job.answer("")
        assert (await job.result(timeout=20)).text == "out of a"
    assert crews.ran == ["a"]


async def test_a_flow_in_a_flow_waits_for_a_person() -> None:
    """CrewAI would read the worker's stdin there."""
    ran: list[str] = []

    class Inner(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        @human_feedback(message="send?")
        def draft(self) -> str:
            ran.append("draft")
            return "dear all"

        @listen(draft)
        @human_feedback(message="sure?", emit=["yes", "no"], default_outcome="no", llm="none")
        def check(self, said: Any) -> str:
            return f"{said.output}: {said.feedback}"

        @listen("no")
        def end(self, said: Any) -> str:
            return f"{said.output}, {said.outcome}"

    class Outer(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def before(self) -> None:
            ran.append("before")

        @listen(before)
        def write(self) -> Article:
            return Article(text=str(Inner().kickoff()))

    async with serving(only(Outer)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Article)
        asked = await question(job)
        assert (asked["message"], asked["output"], asked["method"]) == ("send?", "dear all", "draft")
        await job.answer("shorter")
        assert (await question(job, after=asked))["output"] == "dear all: shorter"
        assert (await coordinator.inbox())[0].options == ("yes", "no")
        await job.answer("")
        assert (await job.result(timeout=20)).text == "dear all: shorter, no"
    assert ran == ["before", "draft", "draft", "draft"]  # the method that was under way is begun again


async def test_a_person_is_shown_nothing_that_is_the_adapters_own(crews: Crews) -> None:
    crews.script["a"] = "Draft"
    async with serving(only(lambda: crews.crew(crews.task("a", human_input=True)))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        asked = await question(job)
        assert set(asked) == {"message", "output", "task"}
        assert [item.question for item in await coordinator.inbox()] == [asked]
        with pytest.raises(bp.ResultTimeout) as late:
            await job.result(timeout=0.01)
        assert repr(asked) in str(late.value)
        await job.answer("")
        assert (await job.result(timeout=20)).text == "Draft"


async def test_a_question_of_a_plain_function_is_shown_whole() -> None:
    one = bp.App("one")

    @one.agent("a", accepts=Topic, returns=Article)
    async def ask(topic: Topic, ctx: bp.Context) -> Article:
        return Article(text=str(await ctx.ask({"call": topic.text})))

    async with serving(one) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert await question(job) == {"call": "rain"}

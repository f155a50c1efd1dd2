"""Crews and models that a flow's method runs in threads of its own: they belong to the job as all others do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from crewai import Flow
from crewai.flow import and_, listen, start

import batonpass as bp
from batonpass.testing import serving
from tests.apps.crewai_app import Article, Topic
from tests.apps.crewai_kit import Crews, Failing, Model, only, result

from .test_costs import counting
from .test_retries import paying

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Async(Model):
    async def acall(self, *args: Any, **options: Any) -> str:
        return self.call(*args, **options)


def _run(crews: Crews, how: str, name: str) -> str:
    crew: Any = crews.crew(crews.task(name))
    if how == "a crew":
        return str(crew.kickoff(inputs={"text": "rain"}).raw)
    if how == "a crew in a loop":
        return str(asyncio.run(crew.akickoff(inputs={"text": "rain"})).raw)
    if how == "a model in a loop":
        model = Async(model="scripted", script={}, ran=[])
        model.ran = crews.ran
        return asyncio.run(model.acall(name))
    return crews.model().call(name)


def _pooled(crews: Crews, how: str, then: Callable[[], object] = lambda: None) -> type[Any]:
    """A flow whose method runs these in the threads of a pool."""

    class Pools(Flow[dict[str, Any]]):
        @start()
        def pool(self) -> Article:
            with ThreadPoolExecutor(2) as pool:
                said = list(pool.map(lambda name: _run(crews, how, name), ("one", "two", "three")))
            then()
            return Article(text=" ".join(said))

    return Pools


@pytest.mark.parametrize("how", ["a crew", "a crew in a loop", "a model", "a model in a loop"])
async def test_their_answers_are_recorded(how: str, crews: Crews) -> None:
    done = await result(_pooled(crews, how, Failing()))
    assert done.text.startswith("out of ")
    assert len(crews.ran) == 3


async def test_so_is_what_their_tools_have_done(crews: Crews) -> None:
    pay, paid = paying(crews, lambda: None, "one")
    fails = Failing()

    class Pays(Flow[dict[str, Any]]):
        @start()
        def pay(self) -> Article:
            crew: Any = crews.crew(crews.task("one", tools=[pay]))
            with ThreadPoolExecutor(1) as pool:
                said = pool.submit(crew.kickoff, inputs={"text": "rain"}).result()
            fails()
            return Article(text=said.raw)

    assert (await result(Pays)).text == "done"
    assert paid == ["rain"]


async def test_what_they_cost_counts(crews: Crews) -> None:
    """And no more of them begins once it is too much."""
    model = counting(crews)
    crews.model = lambda: model  # type: ignore[method-assign]
    async with serving(only(_pooled(crews, "a crew"))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), guard=bp.Guard(tokens=5))
        with pytest.raises(bp.JobFailed, match="chain_guard"):
            await job.result(timeout=60)
    assert len(crews.ran) < 3


async def test_what_a_crews_tool_does_in_threads_counts(crews: Crews) -> None:
    model = counting(crews)
    pay, _ = paying(crews, lambda: None, "one")
    plain = pay.func

    def pays_in_a_thread(what: str) -> str:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(model.call, "how much?").result()
        return str(plain(what))

    pay.func = pays_in_a_thread
    task = crews.task("one", tools=[pay])
    async with serving(only(lambda: crews.crew(task))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await job.result(timeout=60)
        assert (await job.info()).spent.tokens == 10


async def test_of_several_methods_that_run_nobody_knows_whose_they_are(
    crews: Crews, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batonpass.adapters.crewai.calls.threads._warned", False)
    over = asyncio.Event()

    class Both(Flow[dict[str, Any]]):
        @start()
        async def one(self) -> str:
            with ThreadPoolExecutor(1) as pool:
                said = await asyncio.wrap_future(pool.submit(_run, crews, "a crew", "one"))
            over.set()
            return said

        @start()
        async def two(self) -> str:
            await over.wait()
            return "two"

        @listen(and_(one, two))
        def end(self) -> Article:
            return Article(text="both")

    assert (await result(Both)).text == "both"
    assert caplog.text.count("begun without its context, while several methods or crews run") == 1

"""Crews and models that a flow's method runs in threads of its own: they belong to the job as all others do."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from crewai import Flow
from crewai.flow import and_, listen, start

import batonpass as bp
from batonpass.testing import serving
from tests.apps.crewai_app import Article, Topic
from tests.apps.crewai_kit import Crews, Failing, Model, only, result
from tests.harness.waiting import wait_until

from .test_costs import counting
from .test_retries import paying

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this process were a worker's child, in which a job is alone."""
    monkeypatch.setattr("batonpass.coordinator.alone._alone", True)


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


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("how", ["a crew", "a crew in a loop", "a model", "a model in a loop"])
async def test_their_answers_are_recorded(how: str, crews: Crews) -> None:
    done = await result(_pooled(crews, how, Failing()))
    assert done.text.startswith("out of ")
    assert len(crews.ran) == 3


@pytest.mark.usefixtures("alone")
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


@pytest.mark.usefixtures("alone")
async def test_what_a_thread_has_set_in_its_own_context_stays(crews: Crews) -> None:
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")
    crews.script["one"] = lambda said: tenant.get()

    def run(name: str) -> str:
        tenant.set(name)
        return _run(crews, "a crew", "one")

    class Tenants(Flow[dict[str, Any]]):
        @start()
        def each(self) -> Article:
            tenant.set("the flow's")
            with ThreadPoolExecutor(2) as pool:
                return Article(text=" ".join(pool.map(run, ("acme", "bolt"))))

    assert (await result(Tenants)).text == "acme bolt"


@pytest.mark.usefixtures("alone")
async def test_what_they_cost_counts(crews: Crews) -> None:
    """And no more of them begins once it is too much."""
    model = counting(crews)
    crews.model = lambda: model  # type: ignore[method-assign]
    async with serving(only(_pooled(crews, "a crew"))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), guard=bp.Guard(tokens=5))
        with pytest.raises(bp.JobFailed, match="chain_guard"):
            await job.result(timeout=60)
    assert len(crews.ran) < 3


@pytest.mark.usefixtures("alone")
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


@pytest.mark.usefixtures("alone")
async def test_a_thread_that_another_job_has_left_is_not_this_ones(crews: Crews) -> None:
    model, asked, said = counting(crews), threading.Event(), threading.Event()

    def left() -> None:
        asked.wait(30)
        model.call("one")
        said.set()

    class Waits(Flow[dict[str, Any]]):
        @start()
        def wait(self) -> Article:
            asked.set()
            assert said.wait(30)
            return Article(text="done")

    thread = threading.Thread(target=left)
    thread.start()
    async with serving(only(Waits)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await job.result(timeout=60)
        assert (await job.info()).spent.tokens == 0
    thread.join()


@pytest.mark.usefixtures("alone")
async def test_of_several_methods_that_run_nobody_knows_whose_they_are(
    crews: Crews, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batonpass.adapters.crewai.calls.threads._warned", False)
    begun, over = asyncio.Event(), asyncio.Event()

    class Both(Flow[dict[str, Any]]):
        @start()
        async def one(self) -> str:
            await begun.wait()
            with ThreadPoolExecutor(1) as pool:
                said = await asyncio.wrap_future(pool.submit(_run, crews, "a crew", "one"))
            over.set()
            return said

        @start()
        async def two(self) -> str:
            begun.set()
            await over.wait()
            return "two"

        @listen(and_(one, two))
        def end(self) -> Article:
            return Article(text="both")

    assert (await result(Both)).text == "both"
    assert caplog.text.count("begun without its context, while several methods run") == 1


async def test_where_other_jobs_may_run_it_is_nobodys(crews: Crews) -> None:
    """Another job's code has no CrewAI context either."""
    done = await result(_pooled(crews, "a crew", Failing()))
    assert done.text.startswith("out of ")
    assert len(crews.ran) == 6


_APP = """
from concurrent.futures import ThreadPoolExecutor
from crewai import Flow
from crewai.flow import start
import batonpass as bp
from tests.apps.crewai_app import Article, Topic
from tests.apps.crewai_kit import Crews
from tests.crews.test_costs import counting

model = counting(Crews())
app = bp.App("pools")


class Pools(Flow[dict]):
    @start()
    def pool(self) -> Article:
        with ThreadPoolExecutor(1) as pool:
            return Article(text=pool.submit(model.call, "one").result())


@app.crewai("a", accepts=Topic, returns=Article)
def pools() -> Pools:
    return Pools()
"""


def test_a_workers_child_is_alone(tmp_path: Path, sqlite_url: str) -> None:
    (tmp_path / "pools.py").write_text(_APP)
    run = [sys.executable, "-m", "batonpass", "worker", "pools:app", "--store", sqlite_url]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path.cwd())])}
    with subprocess.Popen(run, env=environment, cwd=tmp_path) as worker:
        try:
            with bp.connect(sqlite_url) as coordinator:
                wait_until(lambda: [agent.name for agent in coordinator.agents()], timeout=60)
                job = coordinator.submit("a", Topic(text="rain"))
                job.result(timeout=60)
                assert job.info().spent.tokens == 10
        finally:
            worker.terminate()
            worker.wait(30)

"""The pages hang together, and their shorter examples work too."""

from __future__ import annotations

import ast
import dataclasses
import re
import secrets
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypedDict

import pytest

import batonpass as bp
from batonpass.contracts.inbox import InboxItem
from tests.house.pages import EXAMPLES, PAGES, run, shown
from tests.house.tree import ROOT


class Topic(bp.Contract, name="pages.topic"):
    text: str


class Report(bp.Contract, name="pages.report"):
    body: str


class Desk(TypedDict, total=False):
    text: str
    body: str


@pytest.fixture
async def coordinator(sqlite_url: str) -> Any:
    app = bp.App("pages")
    for name in ("research", "write"):
        app.agent(name, accepts=Topic, returns=Topic)(lambda topic: topic)
    async with bp.connect(sqlite_url, app=app) as opened:
        yield opened


def test_every_example_is_run_by_a_test() -> None:
    markers: set[str] = set()
    for name in ("test_pages.py", "test_readme.py"):
        for node in ast.walk(ast.parse((ROOT / "tests" / "house" / name).read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "shown":
                markers.add(ast.literal_eval(node.args[0]))
    assert [example for example in EXAMPLES if not any(marker in example for marker in markers)] == []


def dead(page: str, target: str) -> bool:
    """Whether a link within the repository leads nowhere."""
    place, _, anchor = target.partition("#")
    path = (ROOT / page).parent / place if place else ROOT / page
    if not path.exists():
        return True
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE) if anchor else []
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return bool(anchor) and anchor not in slugs


def test_every_link_leads_somewhere() -> None:
    prose = {page: re.sub(r"```.*?```", "", text, flags=re.DOTALL) for page, text in PAGES.items()}
    links = [(page, to) for page, text in prose.items() for to in re.findall(r"\]\(([^)\s]+)\)", text)]
    inner = [link for link in links if "://" not in link[1]]
    assert len(inner) > len(PAGES)
    assert [link for link in inner if dead(*link)] == []


def test_a_package_that_no_extra_brings_is_told_where_it_is_used() -> None:
    used = [name for name, page in PAGES.items() if re.search(r"create_agent|HumanInTheLoopMiddleware", page)]
    assert len(used) >= 3
    assert [name for name in used if "`pip install langchain`" not in PAGES[name]] == []


def test_readme_leads_to_every_page() -> None:
    assert [page for page in PAGES if page != "README.md" and f"]({page})" not in PAGES["README.md"]] == []


async def test_an_agent_with_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    class Pool:
        async def count(self, text: str) -> None:
            counted.append(text)

    @asynccontextmanager
    async def open_pool() -> AsyncGenerator[Pool]:
        yield Pool()
        counted.append("closed")

    given = {"Topic": Topic, "open_pool": open_pool, "asynccontextmanager": asynccontextmanager}
    names = await run(shown("lifespan=resources"), {**given, "AsyncGenerator": AsyncGenerator, "Pool": Pool, "bp": bp})
    assert await names["shop"].run("count", Topic(text="rain")) == bp.State()
    assert counted == ["rain", "closed"]
    monkeypatch.chdir(tmp_path)
    names = await run(shown("shop.worker(coordinator"), names)
    await names["main"]()
    assert counted[2:] == ["apples", "closed"]


async def test_an_agent_submits_a_job_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, although its first attempt fails between the submit and the end of the step."""
    submitted: list[str] = []

    def noted(job: str) -> str:
        submitted.append(job)
        if len(submitted) == 1:
            raise bp.RetryLater(0)
        return job

    given = {"bp": bp, "Topic": Topic, "asynccontextmanager": asynccontextmanager, "AsyncGenerator": AsyncGenerator}
    monkeypatch.chdir(tmp_path)
    example = shown("lifespan=own_coordinator").replace("return job.id", "return noted(job.id)")
    names = await run(example, {**given, "noted": noted})
    shop = names["shop"]
    shop.agent("mail", accepts=Topic, returns=bp.State)(lambda topic: bp.State())
    async with bp.connect(app=shop) as coordinator, shop.worker(coordinator):
        job = await coordinator.submit("order", Topic(text="apples"), returns=bp.State)
        [mail] = {*submitted, (await job.result(timeout=30))["mail"]}
        assert len(submitted) == 2
        assert {info.id: info.parent for info in await coordinator.jobs()} == {job.id: None, mail: None}


async def test_an_agent_that_sleeps() -> None:
    found = [None, None, "wet"]
    app = bp.App("pages")
    given = {"order_batch": lambda text: f"batch of {text}", "fetch_batch": lambda batch: found.pop(0)}
    await run(
        shown("ctx.sleep(600)").replace("600", "0.01"),
        {"bp": bp, "app": app, "Topic": Topic, "Report": Report, **given},
    )
    assert (await app.run("collect", Topic(text="rain"), returns=Report)).body == "wet"
    assert found == []


async def test_a_schedule(coordinator: bp.Coordinator) -> None:
    await run(shown("coordinator.schedule("), {"coordinator": coordinator, "Topic": Topic})
    [made] = await coordinator.schedules()
    assert (made.name, made.timezone) == ("morning", "Europe/Berlin")
    await coordinator.unschedule("morning")


async def test_pausing_an_agent(coordinator: Any) -> None:
    pause, resume = shown("coordinator.pause_agent(").split("...\n")
    await run(pause, {"coordinator": coordinator})
    job = await coordinator.submit("research", Topic(text="rain"))
    assert "10:00" in (await job.info()).paused.reason
    await run(resume, {"coordinator": coordinator})
    assert (await job.info()).paused is None


async def test_a_webhook(coordinator: bp.Coordinator) -> None:
    names = await run(shown("coordinator.webhook("), {"coordinator": coordinator})
    assert names["secret"].startswith("whsec_")


async def test_events_are_followed(coordinator: bp.Coordinator) -> None:
    await coordinator.submit("write", Topic(text="rain"))

    def stop(*what: Any) -> None:
        raise KeyError(*what)

    with pytest.raises(KeyError, match=r"job\.submitted"):
        await run(shown("coordinator.events("), {"coordinator": coordinator, "print": stop})


def stored(url: str) -> bytes:
    file = Path(url.removeprefix("sqlite:///"))
    return b"".join(path.read_bytes() for path in file.parent.glob(f"{file.name}*"))


async def test_a_codec(sqlite_url: str) -> None:
    keys = {"new_key": secrets.token_bytes(32), "old_key": secrets.token_bytes(32)}
    example = shown("bp.Codec(").replace("redis://localhost:6379", sqlite_url)
    names = await run(example, {"bp": bp, **keys})
    async with bp.connect(sqlite_url, codec=names["codec"]) as coordinator:
        await coordinator.save(thread="thread-of-it", agent="a", state={"word": "secret-word"})
        assert b"secret-word" not in stored(sqlite_url)
    assert b"thread-of-it" in stored(sqlite_url)


async def test_an_older_payload_is_read() -> None:
    app = bp.App("upcasts")
    names = await run(shown("@app.upcast"), {"bp": bp, "app": app})
    old = bp.ContractRef("desk.notes", 1)
    assert old in app.versions(names["Notes"])
    assert app.load(names["Notes"], old, b'j{"facts": ["wet"]}').model_dump() == {"facts": ["wet"], "source": "unknown"}


async def test_retries_are_declared() -> None:
    app = bp.App("retries")
    await run(shown("bp.Retry(on="), {"bp": bp, "app": app, "Topic": Topic, "Report": Report})
    app.check()
    policies: Any = app["ask"].retries
    assert [policy.attempts for policy in policies] == [8, 3]


async def test_a_loop_is_stopped_and_let_go_on() -> None:
    app = bp.App("loop")
    for name, other in (("draft", "review"), ("review", "draft")):
        app.agent(name, accepts=Topic, hands_to={other: Topic})(lambda topic, ctx, to=other: ctx.hand_off(to, topic))
    first, second = shown("guard=bp.Guard(").split("...\n")
    async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator):
        names = await run(first, {"bp": bp, "coordinator": coordinator, "topic": Topic(text="rain")})
        with pytest.raises(bp.JobFailed, match=r"chain_guard.*\(draft -> review\) x"):
            await names["job"].result(timeout=30)
        before = len((await names["job"].info()).path)
        await run(second, names)
        with pytest.raises(bp.JobFailed, match=r"chain_guard.*\(draft -> review\) x"):
            await names["job"].result(timeout=30)
        assert len((await names["job"].info()).path) > before


@pytest.mark.capability("langgraph")
async def test_a_graph_calls_another_agent() -> None:
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import interrupt

    names = await run(shown("interrupt(bp.Handoff("), {"bp": bp, "interrupt": interrupt, "Desk": Desk, "Topic": Topic})
    app = bp.App("calls")

    @app.langgraph("research", accepts=Topic, returns=Report, hands_to={"write": Topic}, memory="job")
    def research() -> Any:
        builder: Any = StateGraph(Desk)
        builder.add_node("review", names["review"])
        builder.add_edge(START, "review")
        builder.add_edge("review", END)
        return builder

    @app.agent("write", accepts=Topic, hands_to={"research": Topic})
    def write(topic: Topic, ctx: bp.SyncContext) -> bp.Handoff:
        return ctx.hand_off("research", Topic(text=f"{topic.text}, written"))

    report = await app.run(research, Topic(text="rain"), returns=Report)
    assert report.body == "rain, written"


@pytest.mark.capability("langgraph")
@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
async def test_a_chat_is_one_thread() -> None:
    from langchain_core.language_models import FakeListChatModel
    from langgraph.prebuilt import create_react_agent

    app, told = bp.App("chat"), dict[str, Any](Message=Topic, Answer=Report, tools=[])
    async with bp.connect("memory://", app=app) as coordinator:
        told |= {"model": FakeListChatModel(responses=["dry"]), "create_agent": create_react_agent}
        names = await run(shown('memory="thread"'), {"app": app, "coordinator": coordinator, **told})
        async with app.worker(coordinator):
            job = await coordinator.submit(names["chat"], Topic(text="Today?"), thread="customer-7", on_busy="queue")
            assert (await job.result(timeout=20)).body == "dry"
            newest = await coordinator.latest(thread="customer-7")
            assert newest is not None
            said = [message["content"] for message in newest.state["messages"]]
            assert said == ["And tomorrow?", "dry", "Today?", "dry"]


@pytest.mark.capability("langgraph")
async def test_a_graph_becomes_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    from langgraph.graph import END, START, StateGraph

    class Talk(TypedDict, total=False):
        text: str
        reply: str

    builder: Any = StateGraph(Talk)
    builder.add_node("think", lambda talk: {"reply": talk["text"].upper()})
    builder.add_edge(START, "think")
    builder.add_edge("think", END)
    monkeypatch.setitem(sys.modules, "my_graph", SimpleNamespace(builder=builder))
    names = await run(shown("from my_graph import"), {"bp": bp, "app": bp.App("graph")})
    answer = await names["app"].run("answer", names["Question"](text="rain"), returns=names["Answer"])
    assert answer.reply == "RAIN"


@pytest.mark.capability("agent-framework")
@pytest.mark.usefixtures("log")
async def test_the_agent_frameworks_run_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.apps.agent_framework_app import OUTPUT, build

    monkeypatch.chdir(tmp_path)
    names = await run(shown("BatonpassCheckpointStorage("), {"bp": bp, "workflow": build()})
    assert names["result"].get_outputs() == [OUTPUT]
    async with bp.connect("sqlite:///runs.db") as coordinator:
        assert await coordinator.timeline("run-7")


async def test_agents_are_tested() -> None:
    names = await run(shown('bp.App("desk")'), {"bp": bp})
    await run(shown("import context, serving"), names)
    await names["test_research_alone"]()
    await names["test_the_whole_desk"]()
    names["test_write_in_sync_code"]()


async def test_the_desk_survives_crashes() -> None:
    names = await run(shown('bp.App("desk")'), {"bp": bp})
    await run(shown("import crash_everywhere"), names)
    names["test_the_desk_survives_crashes"]()


async def test_the_cases_of_an_adapter() -> None:
    import batonpass.testing

    names = {"batonpass": batonpass, "PydanticAIAdapter": object, "make_agent": str.upper}
    cases: Any = (await run(shown("AdapterCases"), names))["TestPydanticAI"]
    assert issubclass(cases, batonpass.testing.AdapterCases)
    work: Any = "plan"
    assert cases().factory(work)() == "PLAN"


def test_every_field_of_an_inbox_item_is_told() -> None:
    page = PAGES["docs/jobs.md"]
    told = re.search(r"\*\*What an item of the inbox says\*\*.*?\n\n(.*?)\n\n", page, re.DOTALL)
    assert told
    named = re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in told[1].splitlines()))
    assert named == [field.name for field in dataclasses.fields(InboxItem)]

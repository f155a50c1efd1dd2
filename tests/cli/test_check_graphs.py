"""`batonpass check` builds the new graphs: a job that continues at a node which its graph no longer has is told before
the deploy, not after it, when its worker parks it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import anyio
import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

import batonpass as bp
from batonpass.testing import serving

from ..apps.kit import question
from ..apps.langgraph_app import Notes, Topic, Words
from .commandline import CommandLine, Ran, kept

pytestmark = pytest.mark.capability("langgraph")


@dataclass
class Source:
    name: str = ""


class State(Words):
    source: Source


class Renamed(Words):
    origin: Source


class Undeclared(Words):
    source: Any


def graph(name: str, state: Any = State) -> Any:
    """`a`, then a node that asks, or fails for the topic "bad"."""

    def asks(state: Any) -> Any:
        if state["text"] == "bad":
            raise OSError("the network is down")
        return {"notes": [str(interrupt("go on?"))]}

    made = StateGraph(state)
    made.add_node("a", lambda state: {"notes": ["a"], "source": Source()})
    made.add_node(name, asks)
    made.add_edge(START, "a")
    made.add_edge("a", name)
    return made


def release(factory: Callable[..., Any], retries: int = 1) -> bp.App:
    app = bp.App("desk")
    app.langgraph("notes", accepts=Topic, returns=Notes, retries=retries)(factory)
    return app


def told(ctx: bp.Context) -> Any:
    sys.stdout.write("not the output of the command")
    return graph("b" if ctx.payload.text == "rain" else "other")  # type: ignore[attr-defined]


def needs_resources(ctx: bp.Context) -> Any:
    return graph(ctx.resources["name"])


def records(ctx: bp.Context) -> Any:
    """Goes on without its step, so that a second one, of the same name, would be called, too."""
    with suppress(bp.BadSetup):
        ctx.sync.step("one", called.append, "sync", key="one")
    ctx.sync.step("one", called.append, "sync", key="two")
    return graph("b")


async def records_async(ctx: bp.Context) -> Any:
    await ctx.step("one", called.append, "async", key="one")
    return graph("b")


async def repeats(ctx: bp.Context) -> Any:
    if ctx.attempt > 1:  # the first one saves a checkpoint
        await ctx.effect("mail", mail, unsure="repeat")
    return graph("b")


def mail() -> None:
    called.append("mail")
    raise OSError("it may have been sent")


def rejects(ctx: bp.Context) -> Any:
    if ctx.payload.text == "rain":  # type: ignore[attr-defined]
        ctx.reject("no rain")
    return graph("renamed")


def exits() -> Any:
    sys.exit("no config")


async def cancels() -> Any:
    cast("asyncio.Task[Any]", asyncio.current_task()).cancel()
    await asyncio.sleep(0)


def cancels_and_goes_on() -> Any:
    cast("asyncio.Task[Any]", asyncio.current_task()).cancel()
    return graph("b")


@asynccontextmanager
async def cancels_at_its_end() -> AsyncIterator[Any]:
    yield graph("b")
    cast("asyncio.Task[Any]", asyncio.current_task()).cancel()


@asynccontextmanager
async def fails_at_its_end() -> AsyncIterator[Any]:
    yield graph("b")
    raise OSError("it can't be closed")


def no_state_graph() -> dict[str, str]:
    return {}


called: list[str] = []  # steps and effects of factories
now, renamed = release(lambda: graph("b")), release(lambda: graph("renamed"))
by_payload, unbuilt, writes = release(told), release(needs_resources), release(records)
writes_async, repeating = release(records_async), release(repeats, retries=2)
rejecting, exiting, cancelling = release(rejects), release(exits), release(cancels)
cancelling_late, unclosed_by_cancel = release(cancels_and_goes_on), release(cancels_at_its_end)
unclosed = release(fails_at_its_end)
other_key = release(lambda: graph("b", Renamed))
no_graph, no_class = release(no_state_graph), release(lambda: graph("b", Undeclared))


@pytest.fixture
def check(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Checks an app of this module."""
    cli = CommandLine(store_url, capsys, monkeypatch)
    return lambda app, *options: cli("check", f"tests.cli.test_check_graphs:{app}", *options)


@pytest.fixture
def jobs(store_url: str) -> list[str]:
    """One that asks, one that has failed, and one that has not begun."""

    async def submit() -> list[str]:
        async with serving(now, store_url) as coordinator:
            asking = await coordinator.submit("notes", Topic(text="rain"))
            await question(asking)
            failed = await coordinator.submit("notes", Topic(text="bad"))
            with pytest.raises(bp.JobFailed, match="network"):
                await failed.result(timeout=60)
            later = await coordinator.submit("notes", Topic(text="later"), delay=3600)
        return [asking.id, failed.id, later.id]

    return anyio.run(submit)


def problems(ran: Ran) -> list[tuple[str, str, str]]:
    assert ran.json["ok"] == (ran.code == 0)
    return [(each["level"], each["about"], each["text"]) for each in ran.json["findings"] if each["level"] != "ok"]


def test_a_renamed_node_is_told(store_url: str, jobs: list[str], check: Callable[..., Ran]) -> None:
    asking, failed, _ = jobs
    before = kept(store_url)
    ran = check("renamed", "--json")
    says = "continue at node 'b', which it no longer has, e.g."
    assert (ran.code, problems(ran)) == (
        1,
        [
            ("fail", "agent notes", f"1 job(s) {says} {asking}"),
            ("warn", "agent notes", f"1 dead letter(s) {says} {failed}"),
        ],
    )
    fits = {each["about"]: each["text"] for each in ran.json["findings"] if each["level"] == "ok"}
    assert (fits["job(s)"], fits["dead letter(s)"]) == ("1 fit", "0 fit")
    ran = check("now", "--json")
    assert (ran.code, problems(ran)) == (0, [])
    assert kept(store_url) == before


def test_a_renamed_key_of_the_state_is_told(jobs: list[str], check: Callable[..., Ran]) -> None:
    says = "hold 'source' in the state, which it no longer has (a migration could rename it), e.g."
    assert problems(check("other_key", "--json")) == [
        ("warn", "agent notes", f"1 job(s) {says} {jobs[0]}"),
        ("warn", "agent notes", f"1 dead letter(s) {says} {jobs[1]}"),
    ]


def test_a_factory_that_takes_ctx_makes_a_graph_for_each_job(jobs: list[str], check: Callable[..., Ran]) -> None:
    ran = check("by_payload", "--json")
    [(level, _, text)] = problems(ran)
    assert (level, text) == ("warn", f"1 dead letter(s) continue at node 'b', which it no longer has, e.g. {jobs[1]}")


@pytest.mark.parametrize(
    ("app", "why"),
    [
        ("unbuilt", "TypeError: 'NoneType' object is not subscriptable"),
        ("writes", "BadSetup: `batonpass check` changes nothing, so a factory can't record steps there"),
        ("writes_async", "BadSetup: `batonpass check` changes nothing, so a factory can't record steps there"),
        ("exiting", "SystemExit: no config"),
        ("cancelling", "CancelledError"),
        ("cancelling_late", "CancelledError"),
    ],
)
def test_a_factory_that_fails_here(
    app: str, why: str, store_url: str, jobs: list[str], check: Callable[..., Ran]
) -> None:
    """It may need what only workers have."""
    called.clear()
    before = kept(store_url)
    ran = check(app, "--json")
    says = "were not looked at, because its factory fails here, e.g."
    assert problems(ran) == [
        ("warn", "agent notes", f"1 job(s) {says} {jobs[0]}: {why}"),
        ("warn", "agent notes", f"1 dead letter(s) {says} {jobs[1]}: {why}"),
    ]
    assert (kept(store_url), called) == (before, [])


def test_an_effect_that_a_worker_would_repeat_is_not_done(store_url: str, check: Callable[..., Ran]) -> None:
    async def submit() -> None:
        async with serving(repeating, store_url) as coordinator:
            job = await coordinator.submit("notes", Topic(text="bad"))
            with pytest.raises(bp.JobFailed, match="sent"):
                await job.result(timeout=60)

    anyio.run(submit)
    assert called.pop() == "mail"
    called.clear()
    [(level, _, text)] = problems(check("repeating", "--json"))
    assert (level, "BadSetup: `batonpass check` changes nothing" in text, called) == ("warn", True, [])


def test_a_factory_that_rejects_a_job(jobs: list[str], check: Callable[..., Ran]) -> None:
    """It says nothing about the other jobs."""
    asking, failed, _ = jobs
    assert problems(check("rejecting", "--json")) == [
        (
            "warn",
            "agent notes",
            f"1 job(s) were not looked at, because its factory fails here, e.g. {asking}: it rejects this job: no rain",
        ),
        ("warn", "agent notes", f"1 dead letter(s) continue at node 'b', which it no longer has, e.g. {failed}"),
    ]


@pytest.mark.parametrize(
    ("app", "why"), [("unclosed", "OSError: it can't be closed"), ("unclosed_by_cancel", "CancelledError")]
)
def test_a_factory_that_fails_at_its_end(app: str, why: str, jobs: list[str], check: Callable[..., Ran]) -> None:
    """A worker's jobs would fail by that, too, although their graph fits."""
    says = "fit, but what its factory makes fails here at its end, e.g."
    assert problems(check(app, "--json")) == [
        ("warn", "agent notes", f"1 job(s) {says} {jobs[0]}: {why}"),
        ("warn", "agent notes", f"1 dead letter(s) {says} {jobs[1]}: {why}"),
    ]


@pytest.mark.parametrize(
    ("app", "why"),
    [
        ("no_graph", "returned dict: return a StateGraph"),
        ("no_class", "holds a tests.cli.test_check_graphs.Source, which the graph does not declare any more"),
    ],
)
def test_what_a_worker_would_refuse(app: str, why: str, jobs: list[str], check: Callable[..., Ran]) -> None:
    [(level, _, text), _] = problems(check(app, "--json"))
    assert (level, text.startswith("1 job(s) can't continue in"), why in text) == ("fail", True, True)

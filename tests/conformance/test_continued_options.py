"""A job that continues from a checkpoint takes the options of a submitted one."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from tests.harness.bench import Bench

APP = bp.App("continued")
GUARD = bp.Guard(hops=3, tokens=7)


@APP.agent("write", accepts=bp.State, returns=bp.State)
def write(state: bp.State) -> bp.State:
    return state


def go_on(bench: Bench, how: str, at: str, **options: Any) -> Any:
    face = bench.face(APP)
    return bench.run(face.fork(at, agent=write, **options) if how == "fork" else face.hand_off(at, to=write, **options))


@pytest.fixture(params=["fork", "hand_off"])
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_they_are_the_jobs(bench: Bench, how: str) -> None:
    at = bench.save(None, {"n": 1}, thread="run")
    job = go_on(bench, how, at, guard=GUARD, priority="high", delay=5, expires=30, deadline=60, returns=bp.State)
    info = bench.run(job.info())
    assert (info.guard, info.priority, info.reason) == (GUARD, "high", "scheduled")
    assert info.due_at
    assert info.expires_at
    assert info.deadline
    times = [(when - info.created_at).total_seconds() for when in (info.due_at, info.expires_at, info.deadline)]
    assert (times, info.checkpoint_id) == ([5, 30, 60], at)
    plain = bench.run(go_on(bench, how, at).info())
    assert (plain.guard, plain.priority, plain.reason, plain.deadline) == (bp.Guard(), "normal", "ready", None)


def test_a_key_is_known_for_as_long_as_it_says(bench: Bench, how: str) -> None:
    at = bench.save(None, {"n": 1}, thread="run")
    first = go_on(bench, how, at, key="k", key_ttl=5)
    assert go_on(bench, how, at, key="k", key_ttl=5).id == first.id
    assert bench.run(first.cancel())
    bench.clock.advance(5_001)
    assert go_on(bench, how, at, key="k", key_ttl=5).id != first.id


def test_what_does_not_fit_is_refused(bench: Bench, how: str) -> None:
    at = bench.save(None, {"n": 1}, thread="run")
    with bench.refused(bp.BadSetup, "guard=3, but it must be a batonpass.Guard"):
        go_on(bench, how, at, guard=3)
    with bench.refused(bp.BadSetup, "returns='report', but it must be a contract"):
        go_on(bench, how, at, returns="report")
    with bench.refused(TypeError, rf"{how}\(\) got an unexpected keyword argument 'on_busy'"):
        go_on(bench, how, at, on_busy="queue")


@pytest.mark.parametrize("options", [{"guard": GUARD}, {"deadline": 5}, {"key_ttl": 5}, {"returns": bp.State}], ids=str)
def test_a_fork_that_is_no_job_has_none(bench: Bench, options: dict[str, Any]) -> None:
    at = bench.save(None, {"n": 1}, thread="run")
    with bench.refused(bp.BadSetup, f"{min(options)}= is for the job of an agent="):
        bench.run(bench.face(APP).fork(at, **options))

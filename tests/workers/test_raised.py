"""A failed job says where in its agent's code the error came from."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import StatisticsError, mean
from traceback import format_exception
from typing import Any

import pytest

import batonpass as bp
from batonpass.workers.outcomes.error_place import raised_in, to_log

from .serving import Ask, Reply, only


def raises(ask: Ask) -> Reply:
    raise ValueError("no such topic")


def calls_a_library(ask: Ask) -> Reply:
    return Reply(text=json.loads("no JSON"))


async def steps(ask: Ask, ctx: bp.Context) -> Reply:
    return await ctx.step("work", raises, ask)


def wraps(ask: Ask) -> Reply:
    try:
        return raises(ask)
    except ValueError as error:
        raise RuntimeError("no luck") from error


def not_done() -> None:
    raise bp.NotDone("no funds")


async def pays(ask: Ask, ctx: bp.Context) -> None:
    await ctx.effect("pay", not_done)


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (pays, r"NotDone: no funds \({here}:\d+ in not_done\)"),
        (raises, r"ValueError: no such topic \({here}:\d+ in raises\)"),
        (calls_a_library, r"JSONDecodeError: .+ \({here}:\d+ in calls_a_library\)"),
        (steps, r"ValueError: no such topic \({here}:\d+ in raises\)"),
        (wraps, r"RuntimeError: no luck \({here}:\d+ in wraps\)"),
        (lambda ask: "no reply", r"agent 'a' returned a str, not workers.reply@1"),
    ],
)
async def test_where_it_came_from(agent: Callable[..., Any], told: str) -> None:
    with pytest.raises(bp.JobFailed) as failed:
        await only(agent, retries=1).run("a", Ask(), timeout=30)
    assert re.fullmatch(told.replace("{here}", "tests/workers/test_raised.py"), str(failed.value.error))


@pytest.mark.parametrize("agent", [raises, steps, wraps, pays])
async def test_the_log_has_no_frames_of_ours_above_the_agents(
    agent: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(bp.JobFailed):
        await only(agent, retries=1).run("a", Ask(), timeout=30)
    [told] = [record for record in caplog.records if record.name == "batonpass.worker" and record.exc_info]
    trace = caplog.handler.format(told).rpartition("Traceback (most recent call last):\n")[2]
    files = re.findall(r'File "(.+?)", line', trace)
    assert files
    assert not [file for file in files[: files.index(__file__)] if "/workers/" in file]
    assert files[-1] == __file__


def test_an_agent_in_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "raised_desk"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .nodes import fetch\n\ndef agent(ask):\n    return fetch(ask)\n")
    (package / "nodes.py").write_text("import json\n\ndef fetch(ask):\n    return json.loads(ask)\n")
    monkeypatch.syspath_prepend(str(package.parent))
    desk = importlib.import_module("raised_desk")
    agent = only(desk.agent)["a"]
    others = only(raises)["a"]
    with pytest.raises(ValueError, match="Expecting value") as caught:
        desk.agent("no JSON")
    error = caught.value
    assert raised_in(agent, error) == "raised_desk/nodes.py:4 in fetch"
    assert error.__traceback__
    error.__traceback__ = error.__traceback__.tb_next  # without this test's own frame
    assert raised_in(others, error) is None


def test_an_error_that_a_framework_wrapped() -> None:
    """Its own frames don't tell the place; those of what it wrapped may, also in a group. A ring of causes ends."""
    agent = only(raises)["a"]
    with pytest.raises(ValueError, match="no such topic") as caught:
        raises(Ask())
    inner, outer, ring = caught.value, RuntimeError("outer"), RuntimeError("ring")
    outer.__cause__ = ExceptionGroup("two", [inner, OSError()])
    ring.__cause__ = ring
    assert re.fullmatch(r"tests/workers/test_raised.py:\d+ in raises", raised_in(agent, outer) or "")
    assert raised_in(agent, ring) is None


async def test_an_agent_without_a_module() -> None:
    """Agents that a program makes itself have none."""
    made: dict[str, Any] = {"Ask": Ask, "Reply": Reply}
    exec("def agent(ask: Ask) -> Reply:\n    raise ValueError('no such topic')", made)
    with pytest.raises(bp.JobFailed, match="ValueError: no such topic"):
        await only(made["agent"], retries=1).run("a", Ask(), timeout=30)


def tries(left: int) -> None:
    """Calls the agent again after each error, as a framework does."""
    try:
        raises(Ask())
    except ValueError:
        if left == 1:
            raise
        tries(left - 1)


def test_what_repeats_is_not_logged_again() -> None:
    """A framework that tries again chains each error to the one before. A cause stays, and so does the error itself."""
    agent = only(raises)["a"]
    with pytest.raises(ValueError, match="no such topic") as caught:
        tries(3)
    error = caught.value
    before, trace = error.__context__, error.__traceback__
    assert isinstance(before, ValueError)
    assert isinstance(before.__context__, ValueError)
    with to_log(agent, error) as traced:
        said = "".join(format_exception(*traced))
    assert said.count("no such topic\n") == 1
    assert (error.__context__, error.__traceback__) == (before, trace)
    error.__cause__ = before
    with to_log(agent, error) as traced:
        assert "".join(format_exception(*traced)).count("no such topic\n") == 2


def first() -> None:
    mean([])


def second() -> None:
    mean([])


def test_the_same_error_from_other_code_of_the_users_is_logged() -> None:
    """It is another one, although both come from the same line of a library."""
    with pytest.raises(StatisticsError, match="at least one") as caught:
        try:
            first()
        except StatisticsError:
            second()
    with to_log(only(raises)["a"], caught.value) as traced:
        said = "".join(format_exception(*traced))
    assert "in first\n" in said
    assert "in second\n" in said

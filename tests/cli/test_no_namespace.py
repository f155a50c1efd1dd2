"""A mistyped namespace on Redis: a command that only reads refuses it, as a missing file, and makes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import batonpass as bp

from ..harness.cluster import Cluster
from ..workers.serving import Reply, only
from .commandline import CommandLine, kept

COMMANDS = [
    ("jobs",),
    ("inbox",),
    ("agents",),
    ("workers",),
    ("dead-letters",),
    ("timeline", "t"),
    ("events",),
    ("schedule", "list"),
    ("webhooks", "list"),
    ("groups", "list"),
    ("prune", "--older-than", "1d"),
    ("submit", "a", "{}"),
]
app = only(lambda ask: Reply(text=ask.text))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_is_refused(
    command: tuple[str, ...], redis_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(redis_url, capsys, monkeypatch)
    said = run(*command, "--json").complaint
    _, _, name = redis_url.partition("?namespace=")
    assert said.startswith(f"there is no namespace {name!r} in redis://")
    assert "--namespace" in said
    assert "creates one" in said
    assert not kept(redis_url)


def test_the_doctor_makes_none_either(
    redis_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = CommandLine(redis_url, capsys, monkeypatch)("doctor")
    assert "it is empty: is it the right one?" in told.out
    assert not kept(redis_url)


def test_a_command_that_brings_something_begins_one(
    redis_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(redis_url, capsys, monkeypatch)
    assert run("webhooks", "add", "pager", "https://example.com").code == 0
    assert [each["name"] for each in run("webhooks", "list", "--json").json] == ["pager"]


def test_one_without_anything_in_it_is_there(
    redis_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with bp.connect(redis_url):
        pass
    assert CommandLine(redis_url, capsys, monkeypatch)("jobs", "--json").json == []


def test_on_a_cluster(
    cluster_place: Callable[[], str],
    three_nodes: Cluster,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = cluster_place()
    run = CommandLine(url, capsys, monkeypatch)
    _, _, name = url.partition("?namespace=")
    assert run("jobs").complaint.startswith(f"there is no namespace {name!r} in redis+cluster://")
    assert not list(three_nodes.plain.scan_iter(match=f"bp:{{{name}:*"))
    with bp.connect(url, app=app) as coordinator:
        coordinator.declare(app)
    assert run("jobs", "--json").json == []
    assert [each["name"] for each in run("agents", "--json").json] == ["a"]

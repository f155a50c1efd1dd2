"""`batonpass delete-namespace`: a team leaves, and nothing of it stays."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp
from batonpass.contracts.errors import Unreachable
from batonpass.coordinator.dropping import drop_namespace
from batonpass.coordinator.redis.moving.side import Side
from batonpass.coordinator.sqlite import dropping
from batonpass.coordinator.sqlite.file import open_file
from batonpass.coordinator.sqlite.wal import WalKeeper

from ..harness.cluster import Cluster
from ..harness.waiting import wait_until
from ..workers.serving import Ask, Reply, only, serving
from .commandline import CommandLine, kept

app = only(lambda ask: Reply(text=ask.text))


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(store_url, capsys, monkeypatch)


def name_of(url: str) -> str:
    return urlsplit(url).query.partition("namespace=")[2] or "default"


def fill(url: str, namespace: str) -> None:
    """Something of everything."""
    with bp.connect(url, namespace=namespace, app=app) as coordinator:
        coordinator.declare(app)
        coordinator.submit("a", Ask(), delay=60, key="once")
        coordinator.submit("a", Ask(), thread="mine")
        coordinator.submit("a", Ask(), thread="mine", on_busy="queue")
        coordinator.submit("a", Ask()).cancel()
        saved = coordinator.save(thread="t", agent="a", state={"large": "x" * 100_000})
        coordinator.name(saved.id, "kept")
        coordinator.schedule("nightly", "a", {}, cron="0 3 * * *")
        coordinator.webhook("pager", "https://hooks.example.com/jobs")
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, url)):
            pass


def rows(url: str) -> dict[str, int]:
    with closing(sqlite3.connect(urlsplit(url).path[1:])) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counted = {name: int(db.execute(f"SELECT count(*) FROM {name}").fetchone()[0]) for name in tables}
    return {name: number for name, number in counted.items() if number and name != "sqlite_sequence"}


def test_nothing_stays_in_a_file(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(sqlite_url, capsys, monkeypatch)
    with bp.connect(sqlite_url, namespace="other", app=app) as other:
        other.declare(app)
        job = other.submit("a", Ask())
    before = rows(sqlite_url)
    fill(sqlite_url, "default")
    assert rows(sqlite_url) != before
    assert run("delete-namespace", "default", "--yes").out == "deleted namespace default\n"
    assert rows(sqlite_url) == before
    again = run("delete-namespace", "default", "--yes")
    assert again.code == 2
    assert again.complaint.startswith("there is no namespace 'default'")
    with bp.connect(sqlite_url, namespace="other", app=app) as other:
        assert other.job(job.id).info().state == "submitted"


def test_jobs_go_together_and_events_in_portions(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction for each job took minutes, and one for all events kept the other namespaces waiting."""
    with bp.connect(sqlite_url, app=app) as coordinator:
        coordinator.declare(app)
        for _ in range(60):
            coordinator.submit("a", Ask())
    commits, said = list[int](), list[str]()

    def opened(path: str) -> sqlite3.Connection:
        connection = open_file(path)
        connection.set_trace_callback(said.append)
        return connection

    monkeypatch.setattr(WalKeeper, "look", lambda *_: commits.append(1))
    monkeypatch.setattr(dropping, "open_file", opened)
    monkeypatch.setattr(dropping, "_EVENTS", 50)
    assert drop_namespace(sqlite_url, "default", lambda *_: None) == 60
    assert len(commits) < 10
    assert len([each for each in said if each.startswith("DELETE FROM event WHERE")]) > 120 / 50
    assert rows(sqlite_url) == {}


def test_nothing_stays_on_a_server(
    redis_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(redis_url, capsys, monkeypatch)
    name = name_of(redis_url)
    fill(redis_url, name)
    assert len(kept(redis_url)) > 20
    assert run("delete-namespace", name, "--yes", "--json").json["namespace"] == name
    assert kept(redis_url) == {}
    assert run("delete-namespace", name, "--yes").complaint.startswith(f"there is no namespace {name!r}")
    with bp.connect(redis_url, app=app) as coordinator:  # the name can be used again
        coordinator.declare(app)
        coordinator.submit("a", Ask())


def test_nothing_stays_on_a_cluster(
    cluster_place: Callable[[], str],
    three_nodes: Cluster,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = cluster_place()
    fill(url, name_of(url))
    pattern = f"bp:{{{name_of(url)}:*"
    assert list(three_nodes.plain.scan_iter(match=pattern))
    assert CommandLine(url, capsys, monkeypatch)("delete-namespace", name_of(url), "--yes").code == 0
    assert not list(three_nodes.plain.scan_iter(match=pattern))


def test_a_cluster_whose_node_is_away_in_the_last_step(
    cluster_place: Callable[[], str], three_nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same again must find the namespace, and delete the rest."""
    url = cluster_place()
    name = name_of(url)
    fill(url, name)
    exchange = Side._exchange

    def partly(side: Side, requests: Sequence[Any], but: Any = ()) -> list[Any]:
        near = [each for each in requests if each[0].endswith(":0}:")]
        if {command[0] for _, command in requests} != {"UNLINK"} or not requests[-1][1][1].endswith(":schema"):
            return exchange(side, requests, but)
        if len(near) == len(requests):
            return exchange(side, requests, but)
        exchange(side, near, but)
        raise Unreachable("a node is away", lasting=False)

    with monkeypatch.context() as patched:
        patched.setattr(Side, "_exchange", partly)
        with pytest.raises(Unreachable):
            drop_namespace(url, name, lambda *_: None)
    drop_namespace(url, name, lambda *_: None)
    assert not list(three_nodes.plain.scan_iter(match=f"bp:{{{name}:*"))


@pytest.mark.each_store
def test_default_is_a_name_too(run: CommandLine) -> None:
    url = f"{run.url.partition('?')[0]}?namespace=default"
    said = run("delete-namespace", "other", "--yes", "--store", url)
    assert "says 'default': name the same one twice" in said.complaint


@pytest.mark.each_store
def test_it_is_refused(run: CommandLine) -> None:
    name = name_of(run.url)
    fill(run.url, name)
    before = kept(run.url)
    assert run("delete-namespace", name).complaint.endswith("for ever: repeat it with --yes")
    assert "says 'other'" in run("delete-namespace", name, "--yes", "--namespace", "other").complaint
    assert kept(run.url) == before
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, run.url)):
        with bp.connect(run.url) as coordinator:
            wait_until(lambda: bool(coordinator.workers()))
        assert "1 worker(s) are at work" in run("delete-namespace", name, "--yes").complaint

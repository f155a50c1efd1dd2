"""A store in use whose connections are closed, or that is opened once more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import batonpass as bp


class Text(bp.Contract, name="closed.text"):
    text: str


app = bp.App("closed-tests")


@app.agent("shout", accepts=Text, returns=Text)
def shout(text: Text) -> Text:
    return Text(text=text.text.upper())


def close_all(coordinator: bp.Coordinator) -> None:
    client = coordinator.store._link.here().client  # type: ignore[attr-defined]
    connections = [each for node in client.nodes_manager.nodes_cache.values() for each in node._connections]
    assert connections
    for connection in connections:
        connection._writer.close()


async def asked(url: str) -> None:
    async with bp.connect(url, app=app) as coordinator:
        job = await coordinator.submit("shout", Text(text="a"))
        close_all(coordinator)
        assert (await job.info()).agent == "shout"
        close_all(coordinator)
        assert [each.id for each in await coordinator.jobs()] == [job.id]


# The async client closes them when it looks for a slot's new node.
def test_calls_on_closed_connections_are_repeated(cluster_url: str) -> None:
    asyncio.run(asked(cluster_url))


def test_opening_it_once_more_changes_nothing_for_its_users(cluster_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored while another thread opens it is found by its name."""
    connection = bp.connect(cluster_url, app=app)
    link: Any = connection._store._link  # type: ignore[attr-defined]
    exchange, jobs = link.exchange, list[bp.SyncJob[Text]]()

    def beside(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(link, "exchange", exchange)
        jobs.extend(coordinator.submit("shout", Text(text=text)) for text in "abcdef")
        monkeypatch.setattr(link, "exchange", beside)
        return exchange(*args, **options)

    with connection as coordinator:
        monkeypatch.setattr(link, "exchange", beside)
        connection._store.open()
        monkeypatch.setattr(link, "exchange", exchange)
        assert len(jobs) > 6
        assert [job.info().agent for job in jobs] == ["shout"] * len(jobs)

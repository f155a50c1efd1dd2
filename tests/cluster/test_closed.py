"""The async client closes connections that calls are about to use, when it looks for a slot's new node."""

from __future__ import annotations

import asyncio

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


def test_calls_on_closed_connections_are_repeated(cluster_url: str) -> None:
    asyncio.run(asked(cluster_url))

"""The users whose files are shipped are enough on a cluster, too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.coordinator.redis import scripts
from tests.harness.cluster import Cluster

FILES = Path(scripts.__file__).with_name("acl")


class Text(bp.Contract, name="cluster-users.text"):
    text: str


app = bp.App("cluster-users")


@app.agent("shout", accepts=Text, returns=Text)
async def shout(text: Text, ctx: bp.Context) -> Text:
    return Text(text=await ctx.step("shout", text.text.upper))


@pytest.fixture
def users(three_nodes: Cluster) -> Iterator[None]:
    """The three users on every node."""
    lines = [path.read_text().replace(" off ", " on >secret ").split() for path in FILES.glob("*.acl")]
    for node in three_nodes.nodes:
        for _, *line in lines:
            node.ask("ACL", "SETUSER", *line)
    yield
    for node in three_nodes.nodes:
        node.ask("ACL", "DELUSER", *(line[1] for line in lines))


def url(cluster_url: str, role: str) -> str:
    return cluster_url.replace("://", f"://batonpass-{role}:secret@")


async def run(cluster_url: str) -> None:
    async with bp.connect(url(cluster_url, "worker"), app=app) as worker, app.worker(worker):
        async with bp.connect(url(cluster_url, "client"), app=app) as client:
            jobs = [await client.submit("shout", Text(text=str(n)), key=str(n), returns=Text) for n in range(20)]
            jobs.append(await client.submit("shout", Text(text="a"), key="a", thread="run", returns=Text))
            await client.save(thread="saved", agent="a", state={"text": "a"})
            assert [(await job.result(timeout=20)).text for job in jobs] == [*map(str, range(20)), "A"]
        async with bp.connect(url(cluster_url, "reader")) as reader:
            assert len(await reader.jobs(limit=5)) == 5
            assert len(await reader.jobs()) == 21
            assert [event.subject async for event in reader.events(job=jobs[0].id)] == [jobs[0].id] * 4
            latest = await reader.latest(thread="saved")
            assert latest is not None
            assert latest.state == {"text": "a"}
            with pytest.raises(bp.BadSetup, match="lacks permissions"):
                await reader.save(thread="other", agent="a", state={})


@pytest.mark.usefixtures("users")
def test_each_may_do_its_part(cluster_url: str) -> None:
    asyncio.run(run(cluster_url))


@pytest.mark.usefixtures("users")
def test_a_wrong_password_is_a_wrong_setup(cluster_url: str) -> None:
    with (
        pytest.raises(bp.BadSetup, match="refused the login"),
        bp.connect(url(cluster_url, "worker").replace("secret", "guess")),
    ):
        pass

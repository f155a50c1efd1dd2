"""The users whose files are shipped are enough on a cluster, too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis import scripts
from batonpass.coordinator.urls import open_store
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


@pytest.mark.parametrize("how", [("resetpass", ">other"), ("-@all",), ("resetkeys",)])
@pytest.mark.usefixtures("users")
def test_who_was_let_in_may_wait_until_it_is_again(
    cluster_url: str, three_nodes: Cluster, how: tuple[str, ...]
) -> None:
    store = open_store(url(cluster_url, "worker"))
    store.open()
    for node in three_nodes.nodes:
        node.ask("ACL", "SETUSER", "batonpass-worker", *how)
        with suppress(redis.ResponseError):  # none is connected
            node.ask("CLIENT", "KILL", "USER", "batonpass-worker")
    for handle in (store, store.sibling()):
        with pytest.raises(bp.Unreachable):
            handle.call(c.ReadJob(mint("j")))
        handle.close()


@pytest.mark.usefixtures("users")
def test_what_is_granted_counts_at_once_in_each_partition(cluster_url: str, three_nodes: Cluster) -> None:
    """`del` is of the note that a key leaves in its own partition: nobody asked there again."""
    if three_nodes.version.startswith("6."):
        pytest.skip("only Redis 7 and newer tell what a user lacks")
    for node in three_nodes.nodes:
        node.ask("ACL", "SETUSER", "batonpass-worker", "-del")
    with bp.connect(url(cluster_url, "worker"), app=app) as coordinator:

        def refusals() -> list[str]:
            found: list[str] = []
            for number in range(12):
                try:
                    coordinator.submit("shout", Text(text="a"), key=str(number), thread=f"t{number}")
                except bp.BadSetup as error:
                    found.append(str(error))
            return found

        refused = refusals()
        assert [text for text in refused if "del: nothing was written" in text] == refused != []
        assert len(coordinator.jobs()) == 12 - len(refused)
        for node in three_nodes.nodes:
            node.ask("ACL", "SETUSER", "batonpass-worker", "+del")
        assert refusals() == []
        assert len(coordinator.jobs()) == 12


@pytest.mark.usefixtures("users")
def test_what_is_taken_away_is_noticed_in_all_partitions(cluster_url: str, three_nodes: Cluster) -> None:
    """The first submit that is refused leaves its job in part. So did one more in each partition."""
    if three_nodes.version.startswith("6."):
        pytest.skip("only Redis 7 and newer tell what a user lacks")
    with bp.connect(url(cluster_url, "worker"), app=app) as coordinator:
        for node in three_nodes.nodes:
            node.ask("ACL", "SETUSER", "batonpass-worker", "-zadd")
        refused: list[str] = []
        for number in range(24):
            with pytest.raises(bp.BadSetup) as error:
                coordinator.submit("shout", Text(text=str(number)))
            refused.append(str(error.value))
        assert ["nothing was written" in text for text in refused] == [False, *[True] * 23]
        for node in three_nodes.nodes:
            node.ask("ACL", "SETUSER", "batonpass-worker", "+zadd")
        coordinator.submit("shout", Text(text="again"))

"""Many tasks at once: by default a process may open 1,024 files, so a task that waits must not need one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness.redis import RedisServer
from tests.sqlite.beside import finished, run, said

_CROWD = """
import asyncio, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
import batonpass as bp
from tests.workers.serving import Ask, Reply, only

async def reply(ask: Ask) -> Reply:
    return Reply(text=str(ask.number))

async def crowd(url):
    app = only(reply)
    async with bp.connect(url, app=app) as coordinator:
        jobs = await asyncio.gather(*(coordinator.submit("a", Ask(number=number)) for number in range(300)))
        results = asyncio.gather(*(job.result(timeout=60) for job in jobs))
        streams = asyncio.gather(*(streamed(job) for job in jobs[:100]))
        await asyncio.sleep(0)
        print("waiting", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        async with app.worker(coordinator):
            assert [result.text for result in await results] == [str(number) for number in range(300)]
            assert await streams == [[]] * 100

async def streamed(job):
    return [each async for each in job.stream()]

asyncio.run(crowd(sys.argv[1]))
"""


def passes(url: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """A process that may open few files submits hundreds of jobs and waits. A worker comes after `meanwhile`."""
    process = run(_CROWD, url)
    assert said(process) == "waiting"
    meanwhile()
    finished(process)


def test_hundreds_submit_and_wait_at_once(store_url: str) -> None:
    passes(store_url)


def test_hundreds_submit_and_wait_at_once_on_a_cluster(cluster_place: Callable[[], str]) -> None:
    passes(cluster_place())


@pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")
def test_hundreds_go_on_waiting_over_a_restart(own_redis: RedisServer) -> None:
    """All lose their connection at the same time, and the new server knows no script."""

    def restart() -> None:
        own_redis.kill()
        own_redis.start()

    passes(own_redis.url, restart)

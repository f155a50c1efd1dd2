"""Each connection is an open file of the service's process, of which it may have only so many."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

import batonpass as bp

from ..harness.waiting import wait_until
from ..workers.serving import DEADLINE
from .service import TOKEN, process, started

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and sets another process's limit")


@linux
def test_it_may_have_as_many_as_the_system_allows(sqlite_url: str) -> None:
    with bp.connect(sqlite_url), process(sqlite_url, "--json", BATONPASS_TOKEN=TOKEN) as running:
        started(running)
        lines = Path(f"/proc/{running.pid}/limits").read_text().splitlines()
        [(soft, hard)] = [line.split()[3:5] for line in lines if line.startswith("Max open files")]
        assert soft == hard


@linux
def test_that_it_has_too_many_is_told_once_and_not_for_each_attempt(sqlite_url: str) -> None:
    import resource

    with (
        bp.connect(sqlite_url),
        process(sqlite_url, "--json", BATONPASS_TOKEN=TOKEN) as running,
        ExitStack() as clients,
    ):
        url = started(running)["url"]
        there = len(os.listdir(f"/proc/{running.pid}/fd"))
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (there + 5, there + 5))
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        for _ in range(20):
            clients.enter_context(socket.create_connection(address))
        assert running.stderr is not None
        said = [running.stderr.readline()]
        with pytest.raises(httpx.TimeoutException):  # two more seconds of attempts
            httpx.get(f"{url}/health", timeout=2)
        clients.close()
        wait_until(lambda: httpx.get(f"{url}/health", timeout=DEADLINE).status_code == 200, timeout=DEADLINE)
        running.terminate()
        said += running.communicate(timeout=DEADLINE)[1].splitlines()
    told = [json.loads(line) for line in said]
    assert [line["level"] for line in told].count("warning") == 1
    assert "no connection can be accepted" in told[0]["message"]
    assert "ulimit -n" in told[0]["message"]

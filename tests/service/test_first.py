"""The service before there is a store: a machine may start it and the workers in any order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import batonpass as bp

from ..workers.serving import Ask
from .service import TOKEN, app, caller, process

pytestmark = pytest.mark.capability("langgraph")


async def test_it_begins_a_store_that_a_worker_finds(tmp_path: Path) -> None:
    """It used to refuse, like a command that only looks, and had to be started by hand after the first worker."""
    with process(url := f"sqlite:///{tmp_path}/new.db", "--json", BATONPASS_TOKEN=TOKEN) as running:
        assert running.stdout is not None
        told = json.loads(running.stdout.readline())
        assert told["new"]
        async with caller(told["url"]) as http, bp.connect(url, app=app) as coordinator, app.worker(coordinator):
            job = await coordinator.submit("plain", Ask(text="it"))
            assert (await http.get(f"/jobs/{job.id}")).status_code == 200


def test_it_says_where_a_new_one_is(tmp_path: Path) -> None:
    """Otherwise the page for a wrong folder would look like the page of a store in which nothing happens."""
    for is_new in (True, False):
        with process(f"sqlite:///{tmp_path}/new.db", BATONPASS_TOKEN=TOKEN) as running:
            assert running.stdout is not None
            lines = [running.stdout.readline() for _ in range(2)]
            running.terminate()
            lines += running.stdout.readlines()
        expected = f"the store {tmp_path}/new.db is new: start a worker on it, or use another --store"
        assert (expected in "".join(lines)) is is_new

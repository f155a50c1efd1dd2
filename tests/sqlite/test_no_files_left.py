"""A wait continues while its process may open no more files, as if the store were away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sqlite.beside import finished, run

_WAITS = """
import asyncio, os, resource, sys, threading
import batonpass as bp
from batonpass.coordinator import commands as c
from tests.harness.bench import new_job

url, side = sys.argv[1:]
looks, looked = 0, threading.Event()
with bp.connect(url) as coordinator:
    store = coordinator.store
    job_id = store.call(new_job()).id
    call = store.call

    def counting(command):
        global looks
        looks += isinstance(command, c.ReadJob)
        if looks > 3:
            looked.set()
        return call(command)

    store.call = counting
    held = []

    def end():
        assert looked.wait(30)
        for file in held:
            os.close(file)
        call(c.Cancel(job_id))

    awaited = bp.Coordinator(store, coordinator.book).job(job_id)
    ends = threading.Thread(target=end)
    ends.start()
    coordinator.job(job_id).info()
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    with asyncio.Runner() as runner:
        runner.run(awaited.info())  # imports what it needs
        try:
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass
        try:
            runner.run(awaited.result(timeout=30)) if side == "async" else coordinator.job(job_id).result(timeout=30)
        except bp.JobCanceled:
            print("canceled")
    ends.join()
"""


@pytest.mark.parametrize("side", ["sync", "async"])
def test_who_waits_looks_on(path: Path, side: str) -> None:
    assert finished(run(_WAITS, f"sqlite:///{path}", side)) == "canceled"

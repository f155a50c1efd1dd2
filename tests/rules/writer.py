"""A process that writes as fast as it can, until it is killed. What the store acknowledged it notes, synced, in a log.

python -m tests.rules.writer STORE_URL LOG NAME
"""

from __future__ import annotations

import os
import sys

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Store
from batonpass.coordinator.urls import open_store
from tests.harness.bench import fence_of, new_checkpoint, new_job, new_target


def main(url: str, log: str, name: str) -> None:
    notes = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(*words: object) -> None:
        os.write(notes, (" ".join(map(str, words)) + "\n").encode())
        os.fdatasync(notes)

    store = open_store(url)
    store.open()
    number = 0
    while True:
        job_id = store.call(new_job(f"{name}-write", key=f"{name}-{number}")).id
        note("submit", job_id, number)
        fence = claim(store, f"{name}-write")
        saved = new_checkpoint(number, thread=job_id)
        store.call(c.Save(job_id, saved, fence, records={"a": b"%d" % number}))
        note("save", saved.id, number)
        last = new_checkpoint(-number, thread=job_id)
        store.call(c.HandOff(fence, new_target(f"{name}-review"), last))
        note("save", last.id, -number)
        note("hand_off", job_id, 1)
        fence = claim(store, f"{name}-review")
        store.call(c.Complete(fence, b"%d" % number))
        note("complete", job_id, number)
        number += 1


def claim(store: Store, agent: str) -> c.Fence:
    [delivery] = store.call(c.Claim("w", ((new_target(agent).queue, 60_000),), (mint("l"),)))
    return fence_of(delivery)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A worker that works badly: it dies, stalls longer than its lease and wakes as a zombie, fails, gives back.

    python -m tests.rules.chaos STORE_URL LOG SEED

Every write that the store acknowledged is noted, synced, in the log, with the token under which it was made.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Store
from batonpass.coordinator.urls import open_store
from tests.harness.bench import fence_of, new_checkpoint, new_target

LEASE = 60
_QUEUES = tuple((new_target(agent).queue, LEASE) for agent in ("write", "review"))


def main(url: str, log: str, seed: str) -> None:
    choose = random.Random(int(seed))
    notes = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    store = open_store(url)
    store.open()
    while True:
        store.call(c.Reap())
        for delivery in store.call(c.Claim(f"w{seed}", _QUEUES, (mint("l"),))):
            fence = fence_of(delivery)
            try:
                run(store, fence, delivery.job.agent, choose, notes)
            except bp.Fenced:
                note(notes, "refused", fence)
        time.sleep(choose.uniform(0, 0.01))


def run(store: Store, fence: c.Fence, agent: str, choose: random.Random, notes: int) -> None:
    """One delivery: some steps, each of them followed by a mishap or not, and an end."""
    for _ in range(choose.randrange(4)):
        store.call(c.Save(fence.job_id, new_checkpoint(fence.token, thread=fence.job_id), fence))
        note(notes, "save", fence)
        mishap(choose)
    kind = choose.choice(["end", "end", "retry", "release"])
    if kind == "retry":
        store.call(c.Fail(fence, "boom", "", retry_in=choose.randrange(50)))
    elif kind == "release":
        store.call(c.Release(fence))
    elif agent == "write":
        store.call(c.HandOff(fence, new_target("review"), new_checkpoint(fence.token, thread=fence.job_id)))
        note(notes, "hand_off", fence)
    else:
        store.call(c.Complete(fence, b"%d" % fence.token))
        note(notes, "complete", fence)


def mishap(choose: random.Random) -> None:
    """Work that takes a part of the lease, or longer (then it is a zombie while its successor works), or death."""
    fate = choose.random()
    if fate < 0.03:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep((choose.uniform(1, 2) if fate < 0.4 else choose.uniform(0, 0.7)) * LEASE / 1000)


def note(notes: int, what: str, fence: c.Fence) -> None:
    os.write(notes, f"{what} {fence.job_id} {fence.token}\n".encode())
    os.fdatasync(notes)


if __name__ == "__main__":
    main(*sys.argv[1:])

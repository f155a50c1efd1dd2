"""Load: threads that bring jobs through every operation, and note what the store acknowledged."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import seal_blob
from batonpass.coordinator.snapshots import open_checkpoint
from batonpass.coordinator.store import Store
from batonpass.coordinator.urls import open_store
from batonpass.workers.session import LeaseSession
from tests.harness.bench import MINUTE, new_checkpoint, new_job, new_target

AGENTS = ("write", "review")
QUEUES = tuple((new_target(agent).queue, MINUTE) for agent in AGENTS)
_WORDS = ("baton", "lease", "token", "thread", "letter", "queue", "river", "stone", "paper", "glass")


@dataclass
class Notes:
    """What was acknowledged, in order, and the leases that were left open on purpose."""

    acknowledged: list[tuple[str, str, Any]] = field(default_factory=list[tuple[str, str, Any]])
    open: list[c.Fence] = field(default_factory=list[c.Fence])
    errors: list[BaseException] = field(default_factory=list[BaseException])

    def note(self, what: str, id_: str, value: Any = None) -> None:
        self.acknowledged.append((what, id_, value))


class Load:
    """Two threads, each with a handle of its own, from `start` to `stop`."""

    def __init__(self, url: str, notes: Notes, *, seed: int = 0) -> None:
        self._url = url
        self._notes = notes
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(random.Random(f"{seed} {number}"), f"{seed}-{number}"))
            for number in range(2)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let each finish the job that it is at."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, choose: random.Random, name: str) -> None:
        store = open_store(self._url)
        try:
            number = 0
            while not self._stop.is_set():
                number += 1
                self._live(store, choose, f"{name}-{number}")
        except BaseException as error:
            self._notes.errors.append(error)
        finally:
            store.close()

    def _live(self, store: Store, choose: random.Random, key: str) -> None:
        job = new_job(key=key)
        self._notes.note("submit", _patient(lambda: store.call(job)).id, key)
        if choose.random() < 0.2:
            free = new_checkpoint(key, thread=key)
            _patient(lambda: store.call(c.Save(key, free)))
            self._notes.note("save", free.id, key)
        claim = c.Claim("w", QUEUES, (mint("l"),))
        for delivery in _patient(lambda: store.call(claim)):
            session = LeaseSession(store, delivery)
            try:
                self._work(session, choose)
            except bp.Fenced:
                # As a worker does: the reply to its end was lost, and another thread has gone on with the job since.
                read = c.ReadJob(session.job_id)
                if _patient(partial(store.call, read)).token == session.fence.token:
                    raise

    def _work(self, session: LeaseSession, choose: random.Random) -> None:
        """Some steps, each of which adds to a transcript, and an end of any kind."""
        said = list(session.checkpoint.state["messages"]) if session.checkpoint else []
        fence, made = session.fence, session.job_id
        for step in range(choose.randrange(4)):
            said.append(" ".join(choose.choices(_WORDS, k=choose.randrange(5, 200))))
            saved = session.save(Snapshot(step=f"s{step}", state={"messages": list(said)}), records={f"r{step}": step})
            self._notes.note("save", saved.id, {"messages": list(said)})
        last = (
            session.seal(Snapshot(step="last", state={"messages": [*said, "end"]})) if choose.random() < 0.5 else None
        )
        kind = choose.choice(["end", "end", "end", "retry", "fail", "release", "suspend", "sleep", "cancel", "open"])
        if kind == "open":
            self._notes.open.append(fence)
        elif kind == "end" and session.agent == "write":
            session.write(c.HandOff(fence, new_target("review"), last))
            self._notes.note("hand_off", made)
        elif kind == "end":
            session.write(c.Complete(fence, made.encode(), last))
            self._notes.note("complete", made)
        elif kind == "suspend":
            session.write(c.Suspend(fence, seal_blob("sure?", path="question"), last))
            _patient(lambda: session._store.call(c.AnswerJob(made, seal_blob("yes", path="answer"))))
        elif kind == "sleep":
            session.write(c.Sleep(fence, 1, last))
        elif kind == "cancel":
            _patient(lambda: session._store.call(c.Cancel(made)))
            self._notes.note("cancel", made)
        else:
            end = {"retry": c.Fail(fence, "boom", "", 1), "fail": c.Fail(fence, "boom", "attempts")}
            session.write(end.get(kind, c.Release(fence)))


def _patient(call: Callable[[], Any]) -> Any:
    """Try again while the store is away, as workers do. If the first try was carried out, the refusal shows it."""
    while True:
        try:
            return call()
        except bp.Unavailable:
            continue
        except bp.WrongState:
            return None


def missing(store: Store, acknowledged: list[tuple[str, str, Any]]) -> Iterator[str]:
    """Which acknowledged writes are not there."""
    for what, id_, value in acknowledged:
        try:
            if what == "save":
                kept = open_checkpoint(store.call(c.Restore(id_))).state == value
            else:
                row = store.call(c.ReadJob(id_))
                kept = {
                    "submit": row.key == value,
                    "hand_off": row.hop > 0,
                    "complete": (row.state, row.result) == ("completed", id_.encode()),
                    "cancel": row.state == "canceled",
                }[what]
        except bp.BatonpassError:
            kept = False
        if not kept:
            yield f"{what} {id_}"

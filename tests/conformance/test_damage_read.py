"""Whatever reads a checkpoint verifies it: a changed record or state is `Corrupted`, and nothing is made of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import adrive, drive, places
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.coded.store import CodedStore
from batonpass.coordinator.rows import Place
from batonpass.coordinator.sync_client import SyncCoordinator
from batonpass.workers.session import LeaseSession
from tests.harness.bench import MINUTE, Bench, new_checkpoint

Change = Callable[[bytes], bytes]
_STATE = {"text": "right", "said": ["a word"] * 3}
# Each leaves something that can be read, and is not what was saved.
_CHANGES: list[tuple[str, Change]] = [
    ("header", lambda data: data.replace(b"write", b"wrote")),
    ("commit", lambda data: data.replace(b" 0 -", b" 9999999999999 -", 1)),
    ("commit", lambda data: re.sub(rb"\d (?=\S+ \d{13} )", b"7 ", data)),
    ("state", lambda data: data.replace(b"right", b"wrong")),
]
_CODED_CHANGES = [change for change in _CHANGES if change[0] == "commit"]


class _Face:
    """A coordinator of the bench's side; what it is asked is carried out."""

    def __init__(self, bench: Bench, app: bp.App, codec: bp.Codec | None) -> None:
        self.bench = bench
        self.store: Any = CodedStore(bench.store, codec) if codec else bench.store
        self._face: Any = (Coordinator if bench.side == "async" else SyncCoordinator)(self.store, Book(app))

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **more: self.bench.run(getattr(self._face, name)(*given, **more))

    def ask(self, command: c.Command[Any]) -> Any:
        return self.bench.run(self.store.acall(command)) if self.bench.side == "async" else self.store.call(command)


def _desk() -> bp.App:
    app = bp.App("desk")
    app.agent("write", accepts=bp.State, returns=bp.State)(lambda state: state)
    return app


def _reads(face: _Face, older: str, at: str) -> dict[str, Callable[[], object]]:
    more = {"append": {"said": ["more"]}, "agent": "write", "thread": "run"}
    return {
        "restore": lambda: face.restore(at),
        "latest": lambda: face.latest(thread="run"),
        "diff": lambda: face.diff(older, at),
        "diff from it": lambda: face.diff(at, older),
        "transcript": lambda: face.transcript(at),
        "branch": lambda: face.fork(at, changes={"n": 1}),
        "fork": lambda: face.fork(at, thread="other"),
        "job": lambda: face.fork(at, agent="write"),
        "hand off": lambda: face.hand_off(at, to="write"),
        "rollback": lambda: face.rollback("run", to=at),
        "append": lambda: face.save(**more, parent=at),
        "append to an older one": lambda: face.save(**more, parent=older, branch=True),
    }


@pytest.mark.parametrize("signed", [False, True])
def test_what_reads_a_checkpoint_verifies_it(bench: Bench, signed: bool) -> None:
    face = _Face(bench, _desk(), bp.Codec(sign={"key": b"k" * 32}) if signed else None)
    older, at = (face.save(thread="run", agent="write", state=_STATE).id for _ in range(2))
    fresh = _Face(bench, _desk(), bp.Codec(sign={"key": b"k" * 32}) if signed else None)  # it has read nothing yet
    for part, change in _CODED_CHANGES if signed else _CHANGES:
        for name, read in _reads(fresh, older, at).items():
            damaged = older if name == "append to an older one" else at
            with bench.harness.tampered(damaged, part, change), bench.refused(bp.Corrupted, damaged):
                read()
                pytest.fail(f"{name} took a changed {part}")
        if part != "state":  # of a copy, reading that says it
            with bench.harness.tampered(at, part, change):
                assert fresh.timeline(thread="run")[0].damaged == ("record",)
                with bench.refused(bp.Corrupted, at):
                    fresh.copy("run", to="copy")
    assert fresh.restore(at).state == _STATE


@pytest.mark.parametrize("signed", [False, True])
def test_what_a_job_goes_on_from_is_verified(bench: Bench, signed: bool) -> None:
    face = _Face(bench, _desk(), bp.Codec(sign={"key": b"k" * 32}) if signed else None)
    queue = bench.job(face.submit("write", bp.State(n=1)).id).queue
    for part, change in _CODED_CHANGES if signed else _CHANGES:

        def claimed() -> LeaseSession:
            [delivery] = face.ask(c.Claim("w", ((queue, MINUTE),), (mint("l"),)))
            return LeaseSession(face.store, delivery)

        first = claimed()
        saved = first.save(Snapshot(step="step", state=_STATE)).id
        face.ask(c.Release(first.fence))
        with bench.harness.tampered(saved, part, change), pytest.raises(bp.Corrupted, match=saved):
            claimed()
        second = bench.job(first.job_id)
        fence = second.fence
        face.ask(c.Fail(fence, "boom", "attempts"))
        with bench.harness.tampered(saved, part, change), bench.refused(bp.Corrupted, saved):
            face.redrive(first.job_id, changes={"text": "mended"})
        face.redrive(first.job_id, changes={"text": "mended"})
        face.ask(c.Release(claimed().fence))


@pytest.mark.parametrize("signed", [False, True])
def test_what_is_found_at_a_place_is_verified(bench: Bench, signed: bool) -> None:
    face = _Face(bench, _desk(), bp.Codec(sign={"key": b"k" * 32}) if signed else None)
    new = new_checkpoint(_STATE, thread="run", place=Place("scope", "key"))
    face.ask(c.Put(new))

    def found() -> object:
        call = places.find("run", "scope", "key")
        there = bench.run(adrive(face.store, call) if bench.side == "async" else drive(face.store, call))
        return there.opened.checkpoint.state

    assert found() == _STATE
    changes = [*(_CODED_CHANGES if signed else _CHANGES), ("commit", lambda data: data.replace(b"key", b"yek"))]
    for part, change in changes:
        with bench.harness.tampered(new.id, part, change), pytest.raises(bp.Corrupted, match=new.id):
            found()

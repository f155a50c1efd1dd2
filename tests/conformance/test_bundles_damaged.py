"""Bundles of threads of which something is damaged: they leave that out, and say so."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from xxhash import xxh3_128_digest

from batonpass.coordinator.parts.digests import Digests
from batonpass.coordinator.parts.spans import Span
from tests.conformance.test_growth import Thread, _grown
from tests.harness.bench import Bench
from tests.harness.bundles import Carrier, history
from tests.harness.texts import words


@pytest.fixture
def carrier(tmp_path: Path) -> Carrier:
    return Carrier(tmp_path)


def test_what_is_damaged_is_left_out(bench: Bench, carrier: Carrier) -> None:
    first, second = bench.save(None, {"n": 1}), bench.save(None, {"n": 2})
    with bench.harness.tampered(first, "state", lambda data: data[:-1] + bytes([data[-1] ^ 1])):
        info = bench.run(bench.face().export_bundle("t", carrier.folder / "t"))
    assert (info.checkpoints, info.left_out) == (1, (f"checkpoint {first}, which is damaged",))
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            there.run(there.face().import_bundle(carrier.folder / "t"))
            assert [each.id for each in history(there, "t")] == [second]


def _run(bench: Bench) -> Thread:
    """A thread that has grown, was edited in the middle, has branches and checkpoints with ends of their own, and a
    value in many pieces."""
    run, chance = Thread(bench, "t"), random.Random(3)
    saved = _grown(run, 12)
    before, state = saved[5][0], saved[-1][1]
    for number in range(3):
        run.fork(before, state={**saved[5][1], "note": number, "messages": [*saved[5][1]["messages"], {"m": number}]})
    run.save({**state, "messages": [*state["messages"][:4], {"new": "x" * 600}, *state["messages"][5:]]})
    state = run.latest().state
    for number in range(3):
        run.save({**state, "doc": words(chance, 90_000), "messages": [*state["messages"], {"again": number}]})
    return run


def _damaged(run: Thread, ids: list[str]) -> list[str]:
    return [id_ for id_ in ids if run.restore(id_, partial=True).damaged]


def test_what_shares_something_damaged_is_left_out(bench: Bench, carrier: Carrier) -> None:
    """Whatever bit of a log is another one: what can be read arrives, and the rest is named."""
    run = _run(bench)
    right = {each.id: each.state for each in history(bench, "t")}
    ids = [each.id for each in bench.run(bench.face().timeline(thread="t", limit=500))][::-1]
    chance, met = random.Random(5), 0
    for name, whole in bench.harness.logs().items():
        at = chance.randrange(len(whole))
        bench.harness.put_log(name, whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        lost = _damaged(run, ids)
        path = carrier.folder / f"{met}.bundle"
        info = bench.run(bench.face().export_bundle("t", path))
        assert info.left_out == tuple(f"checkpoint {id_}, which is damaged" for id_ in lost)
        assert info.checkpoints == len(ids) - len(lost)
        bench.harness.put_log(name, whole)
        met += bool(lost)
        if lost:
            with carrier.elsewhere(bench.side) as [there, _]:
                there.run(there.face().import_bundle(path))
                arrived = {each.id: each.state for each in history(there, "t")}
                assert arrived == {id_: state for id_, state in right.items() if id_ not in lost}
    assert met > 2
    assert bench.run(bench.face().export_bundle("t", carrier.folder / "whole")).left_out == ()


def test_a_log_that_is_gone(bench: Bench, carrier: Carrier) -> None:
    """It was said to have been deleted meanwhile, whenever it was tried."""
    run = Thread(bench, "t")
    saved = _grown(run, 40)
    [(name, whole), *_] = bench.harness.logs().items()
    bench.harness.put_log(name, whole[:-1])
    ids = [id_ for id_, _ in saved]
    lost = _damaged(run, ids)
    assert lost
    info = bench.run(bench.face().export_bundle("t", carrier.folder / "t"))
    assert info.left_out == tuple(f"checkpoint {id_}, which is damaged" for id_ in lost)


@pytest.mark.parametrize("seed", range(20))
def test_digests_of_parts_one_after_the_other(seed: int) -> None:
    """Whatever they share: grown, cut, in pieces, with ends of their own."""
    chance = random.Random(seed)
    logs = {f"log {number}": chance.randbytes(3000) for number in range(3)}
    digests, line = Digests(), [[Span("log 0", 0, 10)]]
    for _ in range(60):
        spans = list(chance.choice(line[-3:]))
        log, first, last = spans[-1]
        for what in chance.sample(["grows", "goes on", "is cut", "stays"], 2):
            if what == "grows" and last < 2900:
                spans[-1] = Span(log, first, last + chance.randrange(1, 90))
            elif what == "goes on" and len(spans) < 5:
                start = chance.randrange(2000)
                spans.append(Span(chance.choice([*logs]), start, start + chance.randrange(1, 50)))
            elif what == "is cut" and len(spans) > 1:
                spans = spans[: chance.randrange(1, len(spans))]
        line.append(spans)
        end = chance.randbytes(chance.choice([0, 0, 5]))
        plan = digests.plan(spans)
        read = {span: logs[span.log][span.first : span.last] for span in plan.rest}
        whole = b"".join(logs[span.log][span.first : span.last] for span in spans) + end
        assert digests.digest(plan, read, end) == xxh3_128_digest(whole)


def test_a_part_that_grows_is_read_once() -> None:
    digests, read = Digests(), 0
    for last in range(100, 10_001, 100):
        plan = digests.plan([Span("a", 0, 50), Span("b", 0, last)])
        read += sum(span.last - span.first for span in plan.rest)
        digests.digest(plan, dict.fromkeys(plan.rest, b"x"), b"")
    assert read == 10_050

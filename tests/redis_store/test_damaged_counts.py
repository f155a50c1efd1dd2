"""Counts of the uses of spans that somebody has damaged: what they count for is kept, and all else goes on."""

from __future__ import annotations

import random
from typing import Any

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.parts.spans import Span, write_spans
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.refusals import Ungrounded
from batonpass.coordinator.rows import Write
from tests.harness.bench import Bench
from tests.harness.places import Places, first_part
from tests.harness.stores import RedisHarness

damages = pytest.mark.parametrize("damage", ["", "q", "1.5", " 1", "1" * 30, "9223372036854775807"])


def _words(seed: int, size: int = 3000) -> str:
    return random.Random(seed).randbytes(size // 2).hex()


def _damage(bench: Bench, damage: str) -> None:
    """In each count of each log."""
    assert isinstance(bench.harness, RedisHarness)
    assert isinstance(bench.store, RedisStore)
    server: Any = bench.harness.server
    logs = [*server.scan_iter(match=f"{bench.store.prefix}u:*")]
    assert logs
    for log in logs:
        server.hset(log, mapping=dict.fromkeys([each for each in server.hkeys(log) if each != b"end"], damage))


def _thread(bench: Bench) -> dict[str, Any]:
    """A thread of states that share, by checkpoint."""
    made: dict[str, Any] = {}
    said = [_words(n) for n in range(20)]
    for n in range(4):
        said = [*said, _words(100 + n)]
        made[bench.run(bench.face().save(thread="run", agent="a", state={"said": said})).id] = {"said": said}
    return made


@damages
def test_what_shares_them_is_saved(bench: Bench, damage: str) -> None:
    """The checkpoint was there, as the tip, though its save was refused."""
    face, states = bench.face(), _thread(bench)
    _damage(bench, damage)
    [*_, (last, state)] = states.items()
    forked = bench.run(face.fork(last, thread="forked"))
    more = {"said": [*state["said"], "new"]}
    states |= {forked.id: state, bench.run(face.save(thread="run", agent="a", state=more)).id: more}
    bench.run(face.copy("run", to="twin"))
    for id_, held in states.items():
        assert bench.run(face.restore(id_)).state == held
    assert bench.run(face.latest(thread="twin")).state == more


@damages
def test_what_shares_them_is_deleted(bench: Bench, damage: str) -> None:
    """All but the bytes whose uses nobody can count any more."""
    face, states = bench.face(), _thread(bench)
    first, *_, last = states
    forked = bench.run(face.fork(last, thread="forked"))
    _damage(bench, damage)
    bench.run(face.expire(first))
    bench.run(face.prune("run", keep_last=2))
    assert bench.run(face.restore(last)).state == states[last]
    bench.run(face.delete("run"))
    assert bench.run(face.restore(forked.id)).state == states[last]
    bench.run(face.delete("forked"))
    assert bench.run(face.threads()) == []
    states = _thread(bench)
    assert [bench.run(face.restore(id_)).state for id_ in states] == [*states.values()]


@damages
def test_what_is_written_at_places_shares_them(bench: Bench, damage: str) -> None:
    run = Places(bench)
    run.line("a", "b", state={"said": _words(1)})
    big = {"said": _words(2, 200_000)}
    run.put("c", "b", state=big)
    new = run.new("d", state={**big, "more": [_words(3, 20_000)]})
    writes = [Write("x", b"1", first_part(new)[0])]
    bench.do(c.Put(new, "c", None, None, writes))
    _damage(bench, damage)
    bench.do(c.Put(run.new("e", state={**big, "more": [_words(3, 20_000)]}), "d", None, None, writes))
    run.write("e", *writes)
    run.write("e", Write("x", b"2", again=True))
    assert run.written("d") == {"x": b"1"}
    assert run.written("e") == {"x": b"2"}
    bench.run(bench.face().delete("run"))


def test_the_length_of_a_log_too(bench: Bench) -> None:
    face, states = bench.face(), _thread(bench)
    assert isinstance(bench.harness, RedisHarness)
    assert isinstance(bench.store, RedisStore)
    server: Any = bench.harness.server
    [log] = server.scan_iter(match=f"{bench.store.prefix}u:*")
    server.hset(log, "end", "q")
    shared = [Write("x", b"1", write_spans([Span(log.decode().rpartition(":")[2], 0, 1)]))]
    with bench.nothing_changes(), pytest.raises(Ungrounded):
        bench.do(c.PutWrites("run", "", "a", shared))
    more = {"said": [_words(n) for n in range(20)]}
    states[bench.run(face.save(thread="run", agent="a", state=more)).id] = more
    for id_, state in states.items():
        assert bench.run(face.restore(id_)).state == state
    bench.run(face.delete("run"))
    assert bench.run(face.threads()) == []

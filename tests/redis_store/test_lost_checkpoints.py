"""Checkpoints whose records a server has evicted, or somebody has deleted: whatever goes through lists of checkpoints
passes over them, and what frees takes them along."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import digest
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.rows import Write
from tests.harness.bench import MINUTE, Bench, new_checkpoint
from tests.harness.places import Places, large
from tests.harness.stores import RedisHarness


def _key(bench: Bench, name: str) -> str:
    assert isinstance(bench.store, RedisStore)
    return bench.store.prefix + name


def _server(bench: Bench) -> Any:
    assert isinstance(bench.harness, RedisHarness)
    return bench.harness.server


def _lose(bench: Bench, *ids: str) -> None:
    assert _server(bench).delete(*(_key(bench, f"c:{id_}") for id_ in ids)) == len(ids)


def _left(bench: Bench) -> set[str]:
    """The kinds of keys that there are, without events and what says that there is a namespace."""
    assert isinstance(bench.harness, RedisHarness)
    kinds = {key.removeprefix(_key(bench, "")).partition(":")[0] for key in [*bench.harness.keys()]}
    return kinds - {"events", "schema", "epoch", "partitions", "clock"}


def _line(bench: Bench, number: int, thread: str = "run") -> list[str]:
    return [bench.save(None, large(str(at)), thread=thread) for at in range(number)]


def test_a_copy_is_of_the_others(bench: Bench) -> None:
    ids = _line(bench, 5)
    _lose(bench, ids[2])
    assert bench.run(bench.face().copy("run", to="twin")) == 4
    assert [found.copy_of for found in bench.run(bench.face().timeline(thread="twin"))] == [*ids[:2:-1], ids[1], ids[0]]


@pytest.mark.parametrize("lost", [[0], [2], [4], [1, 2, 3], [0, 1, 2, 3, 4]])
def test_a_thread_can_be_deleted(bench: Bench, lost: list[int]) -> None:
    """With all that it kept: also what only the lost ones used."""
    ids = _line(bench, 5)
    bench.do(c.Name(ids[lost[0]], "best"))
    _lose(bench, *(ids[at] for at in lost))
    bench.run(bench.face().delete("run"))
    assert _left(bench) == set()
    assert bench.harness.logs() == {}


def test_the_newest_that_are_there_stay(bench: Bench) -> None:
    ids = _line(bench, 6)
    others = _line(bench, 3, "z")
    _lose(bench, ids[1], ids[4], ids[5])
    bench.run(bench.face().prune(keep_last=2))
    assert [row.id for row in bench.line("run")] == [ids[3], ids[2]]
    assert [row.id for row in bench.line("z")] == others[:0:-1]
    assert bench.run(bench.face().restore(ids[3])).state == large("3")
    bench.run(bench.face().prune(keep_last=0))
    assert _left(bench) == set()
    assert bench.harness.logs() == {}


def test_the_newest_that_are_there_stay_beside_expired_ones(bench: Bench) -> None:
    ids = [bench.save(None, at, thread="run", ttl=MINUTE if at % 3 == 0 else 0) for at in range(8)]
    _lose(bench, ids[7], ids[2])
    bench.clock.advance(2 * MINUTE)
    bench.run(bench.face().prune("run", keep_last=2))
    assert [row.id for row in bench.line("run")] == [ids[5], ids[4]]


def test_many_lost_ones(bench: Bench) -> None:
    """More than a script looks at in one step."""
    ids = [bench.save(None, at, thread="run") for at in range(1203)]
    _lose(bench, *ids[2:-1])
    assert bench.run(bench.face().copy("run", to="twin")) == 3
    bench.run(bench.face().prune("run", keep_last=2))
    assert [row.id for row in bench.line("run")] == [ids[-1], ids[1]]
    assert _server(bench).zcard(_key(bench, f"o:{digest('run')}")) == 2
    bench.run(bench.face().delete("run"))
    bench.run(bench.face().delete("twin"))
    assert _left(bench) == set()


def test_named_ones(bench: Bench) -> None:
    """A page is as long as it would be without the lost ones, and their names are free again."""
    ids = _line(bench, 5)
    for at, id_ in enumerate(ids):
        bench.do(c.Name(id_, f"n{at}"))
    _lose(bench, ids[3], ids[1])
    page = bench.do(c.Timeline("run", 2, named=True))
    assert [row.id for row in page] == [ids[4], ids[2]]
    assert [row.id for row in bench.do(c.Timeline("run", 2, page[-1].id, named=True))] == [ids[0]]
    bench.run(bench.face().prune("run", keep_last=5))
    bench.do(c.Name(ids[0], "n1"))


def test_a_thread_goes_on(bench: Bench) -> None:
    face = bench.face()
    ids = _line(bench, 3)
    _lose(bench, ids[2])
    assert bench.run(face.latest(thread="run")).id == ids[1]
    made = bench.run(face.save(thread="run", agent="a", state=large("more")))
    forked = bench.run(face.fork(ids[1], state=large("other")))
    assert bench.run(face.restore(made.id)).state == large("more")
    assert bench.run(face.restore(forked.id)).state == large("other")
    assert [found.id for found in bench.run(face.timeline(thread="run"))] == [forked.id, made.id, ids[1], ids[0]]
    _lose(bench, ids[1])
    assert bench.run(face.ancestors(forked.id)) == []
    assert bench.run(face.branches("run"))


def test_what_was_at_a_place_makes_room(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c")
    run.write("c", Write("x", b"1"))
    _lose(bench, ids[2])
    assert run.keys(None) == ["b", "a"]
    again = run.put("c", "b")
    assert run.keys(None) == ["c", "b", "a"]
    assert _server(bench).zrange(_key(bench, f"o:{digest('run')}"), 0, -1) == [
        id_.encode() for id_ in [*ids[:2], again]
    ]


def test_a_framework_goes_on_from_the_latest_that_is_there(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c")
    _lose(bench, ids[2])
    run.put("d", "b", tip="b")
    assert run.keys(None) == ["d", "b", "a"]


def test_places_go_along(bench: Bench) -> None:
    run = Places(bench)
    ids = [run.put(key, state=large(key), run="d" * 32) for key in "abc"]
    for key in "abc":
        run.write(key, Write("x", key.encode()))
    _lose(bench, ids[1])
    assert bench.run(bench.face().copy("run", to="twin")) == 2
    bench.run(bench.face().delete("twin"))
    assert bench.run(bench.face().prune("run", keep_last=1)) == 1
    assert run.keys(None) == ["c"]
    bench.run(bench.face().delete("run"))
    assert _left(bench) == set()
    assert bench.harness.logs() == {}


def test_what_expires(bench: Bench) -> None:
    ids = [bench.save(None, at, thread="run", ttl=MINUTE) for at in range(3)]
    _lose(bench, ids[1])
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Reap())
    bench.run(bench.face().delete("run"))
    assert _left(bench) == set()


def test_a_thread_whose_own_record_is_gone(bench: Bench) -> None:
    ids = _line(bench, 3)
    _lose(bench, ids[1])
    assert _server(bench).delete(_key(bench, f"t:{digest('run')}")) == 1
    bench.run(bench.face().delete("run"))
    assert bench.line("run") == []
    assert "o" not in _left(bench)


def test_a_checkpoint_that_is_put_again(bench: Bench) -> None:
    """As after a restored backup of another server: the id is known, and its record is not."""
    new = new_checkpoint(thread="run")
    bench.do(c.Save("run", new))
    _lose(bench, new.id)
    with bench.refused(bp.NotFound):
        bench.run(bench.face().restore(new.id))
    bench.run(bench.face().delete("run"))
    bench.do(c.Save("run", replace(new)))
    assert bench.run(bench.face().restore(new.id)).id == new.id

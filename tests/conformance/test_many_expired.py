"""However many checkpoints have expired and are not freed yet, those behind them are found."""

from __future__ import annotations

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Place
from tests.harness.bench import MINUTE, Bench, commit_of, new_checkpoint
from tests.harness.places import Places

# More than two scripts pass over.
_MANY = 1_100


def expiring(bench: Bench, count: int, *scopes: str) -> list[str]:
    """Many checkpoints of the thread that live a minute, in each of these scopes if there are any."""
    keys = [f"m{number:04}" for number in range(_MANY)]
    places: list[Place | None] = [Place(scope, key) for key in keys for scope in scopes]
    new = [new_checkpoint(0, thread="run", ttl=MINUTE, place=place) for place in places or [None] * _MANY]
    bench.do(c.Import("run", count, new, [""] * len(new)))
    return [each.id for each in new]


def test_a_thread_is_read_over_them(bench: Bench) -> None:
    first, second = bench.save(None, thread="run"), bench.save(None, thread="run")
    named = expiring(bench, 2)[600]
    bench.do(c.Name(named, "kept"))
    newest = bench.save(None, thread="run")
    bench.clock.advance(MINUTE)
    line = [newest, named, second, first]
    for limit in range(1, 5):
        assert [row.id for row in bench.do(c.Timeline("run", limit))] == line[:limit]
    assert [row.id for row in bench.do(c.Timeline("run", 2, named))] == [second, first]
    bench.do(c.Expire(newest))
    assert bench.tip("run") == named
    bench.do(c.Expire(named))
    assert bench.tip("run") == second
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run")))).parent == second


def test_a_thread_goes_on_behind_them(bench: Bench) -> None:
    """Its tip has expired. The newest one that is left can be continued, an older one only as a branch."""
    older, newest = bench.save(None, thread="run"), bench.save(None, thread="run")
    expiring(bench, 2)
    bench.clock.advance(MINUTE)
    with bench.refused(bp.Conflict):
        bench.save(None, thread="run", parent=older)
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run", parent=newest)))).parent == newest


def test_a_thread_is_pruned_over_them(bench: Bench) -> None:
    """Expired checkpoints do not count among the last that stay."""
    ids = [bench.save(None, thread="run") for _ in range(3)]
    named = expiring(bench, 3)[600]
    bench.do(c.Name(named, "kept"))
    bench.clock.advance(MINUTE)
    assert bench.run(bench.face().prune("run", keep_last=3)) == 1
    assert [row.id for row in bench.line("run")] == [named, *ids[:0:-1]]
    assert bench.run(bench.face().prune("run", keep_last=4)) == 0


def test_places_are_found_over_them(bench: Bench) -> None:
    run = Places(bench)
    for scope in ("", "s"):
        run.put("a", scope=scope)
        run.put("b", scope=scope)
    run.put("z", scope="t")
    expiring(bench, 5, "", "s")
    run.put("x", scope="s")
    bench.clock.advance(MINUTE)
    assert [run.at(scope=scope) for scope in ("", "s", "t")] == ["b", "x", "z"]
    assert [run.keys(scope) for scope in ("", "s", None)] == [["b", "a"], ["x", "b", "a"], [*"zxbbaa"]]
    assert [run.keys(None, limit=2), run.keys(None, before=("x", "s"), limit=3)] == [[*"zx"], [*"bba"]]
    with bench.refused(bp.Conflict):
        run.put("c", tip="a")
    run.put("c", tip="b")
    assert run.at() == "c"

"""A thread's checkpoints, page by page, newest first, without their state."""

from __future__ import annotations

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.snapshots import open_summary
from tests.harness.bench import MINUTE, Bench


def page(bench: Bench, thread: str, limit: int, before: str = "") -> list[str]:
    return [row.id for row in bench.do(c.Timeline(thread, limit, before))]


def test_pages(bench: Bench) -> None:
    ids = [bench.save(None, thread="run") for _ in range(7)][::-1]
    assert page(bench, "run", 3) == ids[:3]
    assert page(bench, "run", 3, ids[2]) == ids[3:6]
    assert page(bench, "run", 3, ids[5]) == ids[6:]
    assert page(bench, "run", 3, ids[6]) == []
    assert page(bench, "run", 50) == ids


def test_rows_are_summaries(bench: Bench) -> None:
    saved = bench.save(None, {"large": "x"}, thread="run", step="fetch")
    [row] = bench.line("run")
    assert (row.id, row.thread, row.state, row.native) == (saved, "run", b"", b"")
    summary = open_summary(row)
    assert (summary.thread, summary.step, summary.step_index) == ("run", "fetch", 0)


def test_threads_do_not_mix(bench: Bench) -> None:
    one = [bench.save(None, thread="one") for _ in range(3)]
    two = [bench.save(None, thread="two") for _ in range(3)]
    assert page(bench, "one", 9) == one[::-1]
    assert page(bench, "two", 9) == two[::-1]


def test_before_a_checkpoint_of_another_thread(bench: Bench) -> None:
    for thread in ("one", "two"):
        for _ in range(3):
            bench.save(None, thread=thread)
    other = bench.tip("two")
    for named in (False, True):
        with bench.refused(bp.BadSetup, f"checkpoint {other} is not on thread 'one'"):
            bench.do(c.Timeline("one", 9, other, named))


def test_before_an_unknown_checkpoint(bench: Bench) -> None:
    bench.save(None, thread="run")
    gone = bench.save(None, thread="run")
    bench.do(c.Expire(gone))
    for before in (gone, mint("c")):
        with bench.refused(bp.NotFound, before):
            page(bench, "run", 9, before)


def test_a_page_is_full_although_some_have_expired(bench: Bench) -> None:
    kept = []
    for _ in range(4):
        kept.append(bench.save(None, thread="run"))
        bench.save(None, thread="run", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    assert page(bench, "run", 3) == kept[:0:-1]
    assert page(bench, "run", 3, kept[1]) == kept[:1]

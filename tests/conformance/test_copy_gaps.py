"""A copy of a thread of which much has expired, and was not freed yet."""

from __future__ import annotations

import batonpass as bp
from tests.harness.bench import MINUTE, Bench


def test_a_copy_goes_on_behind_any_number_that_have_expired(bench: Bench) -> None:
    """More in a row than a store looks at for one page."""
    first = bench.save(None, "first", thread="run")
    for number in range(620):
        bench.save(None, number, thread="run", ttl=MINUTE)
    last = bench.save(None, "last", thread="run")
    bench.clock.advance(2 * MINUTE)
    face = bench.face()
    assert bench.run(face.copy("run", to="twin")) == 2
    assert [found.copy_of for found in bench.run(face.timeline(thread="twin"))] == [last, first]


def test_a_copy_of_nothing_but_expired_ones_ends(bench: Bench) -> None:
    for number in range(3):
        bench.save(None, number, thread="run", ttl=MINUTE)
    bench.clock.advance(2 * MINUTE)
    with bench.refused(bp.NotFound, "no checkpoints to copy"):
        bench.run(bench.face().copy("run", to="twin"))

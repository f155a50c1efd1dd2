"""Under faults the store keeps its promises, and all there is to do is done."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from tests.house.tree import ROOT
from tests.simulation.faults import ON_A_COMMAND, ON_A_TICK
from tests.simulation.report import Total, run_some
from tests.simulation.seeds import simulate

SEEDS = 250
# A job's place and what is asked: its places then, and the refusals, that must be seen among so many seeds.
EXPECTED = """
none            Submit     ready scheduled
scheduled       AnswerJob  WrongState
scheduled       Cancel     canceled
scheduled       Reap       ready
scheduled       Submit     scheduled
retry_at        AnswerJob  WrongState
retry_at        Cancel     canceled
retry_at        Fail       retry_at
retry_at        Reap       ready
retry_at        Save       Fenced
retry_at        Submit     retry_at
sleeping        AnswerJob  WrongState
sleeping        Cancel     canceled
sleeping        Sleep      sleeping
sleeping        Reap       ready
sleeping        Save       Fenced
ready           AnswerJob  WrongState ready
ready           Cancel     canceled
ready           Claim      working
ready           Complete   Fenced
ready           Fail       Fenced
ready           HandOff    Fenced ready
ready           Heartbeat  ready
ready           Record     Fenced
ready           Redrive    WrongState ready
ready           Release    Fenced
ready           Save       Fenced
ready           Submit     ready
ready           Suspend    Fenced
working         AnswerJob  WrongState
working         Cancel     canceled
working         Complete   Fenced completed
working         Fail       Fenced failed rejected retry_at
working         HandOff    Fenced ready working
working         Heartbeat  working
working         Reap       failed ready
working         Record     Fenced working
working         Release    Fenced ready working
working         Save       Fenced working
working         Submit     working
working         Suspend    Fenced input_required
working         Sleep      Fenced sleeping
working         Spawn      Fenced waiting_children
waiting_children Cancel    canceled
input_required  AnswerJob  WrongState ready
input_required  Cancel     canceled
input_required  Reap       input_required ready
input_required  Record     Fenced
input_required  Save       Fenced
input_required  Submit     input_required
input_required  Suspend    input_required
completed       AnswerJob  WrongState
completed       Cancel     completed
completed       Complete   Fenced completed
completed       HandOff    Fenced
completed       Heartbeat  completed
completed       Record     Fenced
completed       Save       Fenced
completed       Submit     completed
failed          AnswerJob  WrongState
failed          Cancel     failed
failed          Fail       failed
failed          Redrive    ready
failed          Save       Fenced
failed          Submit     failed
rejected        AnswerJob  WrongState
rejected        Cancel     rejected
rejected        Fail       rejected
rejected        Submit     rejected
canceled        AnswerJob  WrongState
canceled        Cancel     canceled
canceled        Complete   Canceled
canceled        Fail       Canceled
canceled        HandOff    Canceled
canceled        Heartbeat  canceled
canceled        Record     Canceled
canceled        Save       Canceled
canceled        Submit     canceled
"""


def expected() -> set[tuple[str, str, str]]:
    """The table's transitions, one by one."""
    lines = (line.split() for line in EXPECTED.strip().splitlines())
    return {(place, operation, then) for place, operation, *ways in lines for then in ways}


@pytest.fixture(scope="module")
def total() -> Total:
    return run_some(0, SEEDS)


def test_promises_are_kept(total: Total) -> None:
    assert total.broken == {}
    assert total.seeds == SEEDS


def test_each_seed_is_hard(total: Total) -> None:
    assert total.fewest_operations >= 300
    assert total.fewest_workers >= 4
    assert total.fewest_kinds >= 3
    assert set(total.faults) == {*ON_A_COMMAND, *ON_A_TICK}


def test_every_transition_happens(total: Total) -> None:
    assert expected() - set(total.coverage) == set()


def test_a_seed_is_the_same_every_time() -> None:
    told: list[str] = []
    simulate(7, Counter(), told.append)
    again = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "--seed", "7"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert again.stdout.startswith("\n".join(told))

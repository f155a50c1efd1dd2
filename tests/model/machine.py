"""The machine: Hypothesis chooses the moves, and finds the shortest way to a difference."""

from __future__ import annotations

from contextlib import ExitStack

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.model.moves import make
from tests.model.pausing import WEIGHTED
from tests.model.stores import Stores
from tests.model.world import Picks, Tally, World


class Machine(RuleBasedStateMachine):
    """One rule for all moves. Hypothesis switches rules off at random, and then few combinations would reach most
    states."""

    def __init__(self, stores: Stores, tally: Tally) -> None:
        super().__init__()
        self._open = ExitStack()
        self.world = World(self._open.enter_context(stores.opened()), tally)

    @rule(move=st.sampled_from(WEIGHTED), number=st.integers(0, 2**32 - 1))
    def do(self, move: str, number: int) -> None:
        """One move; the number says how."""
        make(move, self.world, Picks(number))

    @invariant()
    def the_same_jobs(self) -> None:
        self.world.look()

    def teardown(self) -> None:
        try:
            self.world.compare_all()
        finally:
            self._open.close()

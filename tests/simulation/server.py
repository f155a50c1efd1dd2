"""Server: the model store in a bad world. Replies get lost, requests come late and twice, its clock jumps, it forgets.

A restart that loses the last writes is a new store to which only the older commands are said again: operations are
pure, so the same commands at the same times make the same records.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from batonpass.contracts.errors import BatonpassError, Unreachable
from batonpass.coordinator import commands as c
from batonpass.coordinator.memory.records import MemoryRecords
from batonpass.coordinator.operations import run
from batonpass.coordinator.store import rings
from tests.model.growing import Growing
from tests.simulation.auditing import compare_all, compare_events
from tests.simulation.faults import Faults
from tests.simulation.judging import refusal
from tests.simulation.known import Violation
from tests.simulation.ledger import Coverage, Ledger

START = 1_000_000
# A restart takes longer than tokens can be ahead of the clock.
RESTART_MS = 1_000


class Server:
    """`ask` is what a caller sees, `carry_out` what happens. `say` hears all of it."""

    def __init__(
        self, random: Random, growing: Growing, coverage: Coverage, say: Callable[[str], None] | None = None
    ) -> None:
        self.random = random
        self.now = self._latest = START
        self.tick = 0
        self.operations = 0
        self.faults = Faults(random)
        self.ledger = Ledger(growing, {}, coverage)
        self.woken: Callable[[], None] = lambda: None
        self._coverage = coverage
        self._records = MemoryRecords()
        self._log: list[tuple[int, c.Command[Any]]] = []
        self._late: list[tuple[int, c.Command[Any]]] = []
        self._say = say

    def ask(self, command: c.Command[Any], name: str) -> Any:
        """Carry a command out, if the request arrives; `Unreachable` if the reply does not."""
        fault = self.faults.on_a_command()
        if self._say:
            self.tell(f"{name} {fault}")
        if fault in ("late request", "duplicate"):
            self._late.append((self.tick + self.random.randrange(1, 60), command))
        if fault in ("late request", "lost request"):
            raise Unreachable(fault)
        last = self._records.last_event()
        try:
            answer = self.carry_out(command)
        except BatonpassError as error:
            raise Unreachable(fault) if fault == "lost reply" else error from None
        if fault != "late wake-up" and rings(command, answer, self._records.last_event() != last):
            self.woken()
        if fault == "lost reply":
            raise Unreachable(fault)
        return answer

    def pass_time(self) -> str:
        """Let a little time pass, so that late requests arrive. Returns the fault that strikes, if others have to act
        on it."""
        self.tick += 1
        self.now += int(self.random.random() * 25)
        fault = self.faults.on_a_tick()
        if fault:
            self.tell(fault)
        if fault == "clock forward":
            self.now += self.random.choice([100, 1_000, 5_000])
        elif fault == "clock back":
            self.now -= self.random.randrange(1, 500)
        elif fault == "restart":
            self._restart(self.random.randrange(1, 9))
        self._latest = max(self._latest, self.now)
        if self._late:
            self._arrive()
        return fault

    def _arrive(self) -> None:
        arrived = [command for due, command in self._late if due <= self.tick]
        self._late = [late for late in self._late if late[0] > self.tick]
        for command in arrived:
            self.tell("arrives late:")
            try:
                self.carry_out(command)
            except BatonpassError:
                continue

    def carry_out(self, command: c.Command[Any]) -> Any:
        """Run a command, and hold the ledger against what it does and answers."""
        self.operations += 1
        self._records.now = self.now
        must = refusal(self.ledger, command, self.now, self._records)
        try:
            answer = run(self._records, command)
        except BatonpassError as error:
            self.tell(f"{command}\n{type(error).__name__}: {error}")
            if type(error).__name__ != must:
                raise Violation(f"{command} was refused ({error}), must be {must or 'carried out'}") from error
            self.ledger.refuse(command, error)
            raise
        if self._say:
            self.tell(f"{command}\n{answer}")
        if must:
            raise Violation(f"{command} was carried out, must be refused: {must}")
        if type(command) not in c.READING:
            self._log.append((self.now, command))
            self.ledger.accept(command, answer, self.now, self._records)
        return answer

    def _restart(self, lost: int) -> None:
        """Start again without the last `lost` writes."""
        del self._log[max(len(self._log) - lost, 0) :]
        self._records = MemoryRecords()
        self.ledger = Ledger(self.ledger.growing, self.ledger.given, self._coverage, replaying=True)
        for now, command in self._log:
            self._records.now = now
            self.ledger.accept(command, run(self._records, command), now, self._records)
        self.ledger.replaying = False
        self.now = self._latest + RESTART_MS
        self.audit()

    def audit(self) -> None:
        """Compare everything that is kept with the ledger."""
        self._records.now = self.now
        compare_all(self.ledger, self._records, self.now)
        compare_events(self.ledger, self._records)

    def calm(self) -> None:
        """No more faults; what was late never comes."""
        self.faults.cease()
        self._late = []

    def tell(self, text: str) -> None:
        """A line of the trace."""
        if self._say:
            self._say(f"{self.now - START:>7} {text}".replace("\n", "\n        "))

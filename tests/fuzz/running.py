"""Running: records are taken, changed and read; what comes out is counted, or is a finding."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import batonpass as bp
from batonpass.contracts.codec import pack
from batonpass.contracts.handoff import Envelope
from batonpass.coordinator.book import Declaration

from .mutations import mutated
from .records import Kind, kinds

# What reading may end with. Anything else is a finding.
EXPECTED = (bp.Corrupted, bp.Refused)
# No record is longer than some kilobytes: reading one that takes this long, in seconds of CPU, is a finding.
SLOW = 2.0


@dataclass
class Tally:
    """What came out, by kind of record and outcome, and the findings."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    findings: list[str] = field(default_factory=list[str])
    slowest: float = 0.0


class Fuzzer:
    """Each number is a seed, and gives one mutated record: the same in every process. `only`: of one kind."""

    def __init__(self, only: str | None = None) -> None:
        self._kinds = kinds()
        self._names = [only] if only else list(self._kinds)
        self._all = [data for kind in self._kinds.values() for sample in kind.samples for data in sample.values()]

    def run(self, seed: int, tally: Tally) -> None:
        """Change one record and read it."""
        choose = random.Random(seed)
        name = choose.choice(self._names)
        kind = self._kinds[name]
        parts = self._changed(kind, choose)
        began = time.process_time()
        outcome = self._outcome(kind, parts)
        took = time.process_time() - began
        tally.slowest = max(tally.slowest, took)
        if took > SLOW:
            outcome = f"took {took:.1f} s"
        if outcome in _FINE:
            tally.counts[name, outcome] += 1
        else:
            tally.counts[name, "FINDING"] += 1
            tally.findings.append(f"seed {seed}, {name}: {outcome}")

    def _changed(self, kind: Kind, choose: random.Random) -> dict[str, bytes]:
        parts = dict(choose.choice(kind.samples))
        which = choose.choice(list(parts))
        parts[which] = mutated(parts[which], choose, self._all)
        return kind.forge(parts, which) if choose.random() < 0.7 else parts

    def _outcome(self, kind: Kind, parts: dict[str, bytes]) -> str:
        try:
            value: Any = kind.read(parts)
        except EXPECTED as error:
            told = str(error)
            if "\n" in told or not told:
                return f"an error that is not one line: {told!r:.200}"
            return "Corrupted" if isinstance(error, bp.Corrupted) else "Refused"
        except BaseException as error:
            return f"{type(error).__module__}.{type(error).__name__}: {error!s:.200}"
        try:
            pack(value.state if isinstance(value, bp.Checkpoint) else value)
        except bp.Unserializable as error:
            return "a value" if isinstance(value, _OURS) else f"a value that can't be saved again: {error!s:.200}"
        return "a value"


_OURS = (bp.Payload, bp.Event, Envelope, Declaration)
_FINE = ("Corrupted", "Refused", "a value")

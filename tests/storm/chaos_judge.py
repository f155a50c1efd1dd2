"""The judge of a chaos run: what the evidence and the store say, held against each other and against the promises."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import batonpass as bp
from tests.storm.chaos_app import ATTEMPTS, HOPS, LATE, Done, fate, hopeless

_STEPS = ("0:a", "0:b", "1:a", "1:b", "2:a")


@dataclass
class Evidence:
    """What the log tells. Labels are `number:hop:part`."""

    ran: Counter[str] = field(default_factory=Counter[str])
    finished: dict[str, int] = field(default_factory=dict[str, int])  # the token that it was finished with first
    repeated: list[str] = field(default_factory=list[str])
    stale: list[str] = field(default_factory=list[str])
    paid: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    recorded: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    failed: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # number:hop -> attempts, as planned
    ended: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # job:hop:attempt -> token and how
    late: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # job:hop -> attempts
    raised: int = 0
    hung: int = 0

    def read(self, log: Path) -> Evidence:
        """All of the log. A last line that a kill cut off does not count."""
        text = log.read_text()
        for line in text[: text.rfind("\n") + 1].splitlines():
            _, what, label, token, *extra = line.split(" ")
            self._note(what, label, int(token), " ".join(extra))
        return self

    def _note(self, what: str, label: str, token: int, extra: str) -> None:
        if what == "ran":
            self.ran[label] += 1
            if label in self.finished:
                # A worker that does not know yet that its lease is over may begin it, but its record is refused.
                (self.repeated if token >= self.finished[label] else self.stale).append(label)
        elif what == "finished":
            self.finished.setdefault(label, token)
        elif what == "paid":
            self.paid[label].add(extra)
        elif what == "recorded":
            self.recorded[label].add(extra)
        elif what == "ended":
            self.ended[label].add(f"{token} {extra}")
        elif what == "late":
            job, _, attempt = label.rpartition(":")
            self.late[job].add(int(attempt))
        else:
            self.raised += what == "raises"
            self.hung += what == "hangs"
            place, _, attempt = label.rpartition(":")
            self.failed[place].add(int(attempt))


@dataclass
class Verdict:
    """What became of the jobs, and what must not be."""

    completed: int = 0
    dead: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])


def judge(evidence: Evidence, jobs: list[bp.SyncJob[Done]]) -> Verdict:
    """Every job that was acknowledged, and every line of the evidence."""
    verdict = Verdict()
    verdict.problems += [f"the finished step {label} ran again" for label in evidence.repeated]
    for label, receipts in evidence.recorded.items():
        if len(receipts) > 1:
            verdict.problems.append(f"effect {label} has several recorded outcomes: {receipts}")
        if not receipts <= evidence.paid[label]:
            verdict.problems.append(f"effect {label} has an outcome that never happened: {receipts}")
    verdict.problems += _ends(evidence)
    for number, job in enumerate(jobs):
        info = job.info()
        if info.state == bp.JobState.COMPLETED:
            verdict.completed += 1
            verdict.problems += _completed(evidence, number, job)
        elif info.state == bp.JobState.FAILED and (why := _explained(evidence, number, info)):
            verdict.dead[why] += 1
        else:
            verdict.problems.append(f"job {number} is not explained: {info}")
    return verdict


def _ends(evidence: Evidence) -> Iterator[str]:
    """A hop is left once, and an attempt fails once."""
    left: dict[str, set[str]] = defaultdict(set)
    for label, ends in evidence.ended.items():
        if len(ends) > 1:
            yield f"attempt {label} ended twice: {ends}"
        left[label.rpartition(":")[0]] |= {end for end in ends if not end.endswith("Fail")}
    for place, ends in left.items():
        if len(ends) > 1:
            yield f"hop {place} was left twice: {ends}"


def _completed(evidence: Evidence, number: int, job: bp.SyncJob[Done]) -> Iterator[str]:
    result: Any = job.result(timeout=0)
    recorded = evidence.recorded[f"{number}:2:pay"]
    if result.number != number or result.receipt not in evidence.paid[f"{number}:2:pay"]:
        yield f"job {number} has another's result: {result}"
    if recorded and {result.receipt} != recorded:
        yield f"job {number} tells {result.receipt}, but {recorded} was recorded"
    for part in _STEPS:
        if not evidence.ran[f"{number}:{part}"]:
            yield f"job {number} completed without {part}"
    for hop in range(HOPS):
        if len(evidence.failed[f"{number}:{hop}"]) >= ATTEMPTS:
            yield f"job {number} completed, though hop {hop} failed {ATTEMPTS} times"


def _explained(evidence: Evidence, number: int, info: bp.JobInfo) -> str:
    """Why the job is a dead letter; "" if nothing explains it."""
    if info.reason == "attempts" and hopeless(number) == info.hop:
        return "every attempt failed"
    planned = {attempt for attempt in range(1, ATTEMPTS + 1) if fate(number, info.hop, attempt)}
    others_late = len(planned | evidence.late[f"{info.id}:{info.hop}"]) == ATTEMPTS
    if info.reason == "attempts" and (others_late or LATE in (info.error or "")):
        return "an attempt took too long"
    unknown = info.hop == HOPS - 1 and not evidence.recorded[f"{number}:2:pay"]
    if info.reason == "ambiguous" and unknown:
        return "an effect was cut off"
    if info.reason == "poison":
        return "ten workers died"
    return ""

"""The demo's course: a job goes through three frameworks, one worker is killed, one is paused and refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import batonpass as bp

from .contracts import Incident, Report
from .evidence import go_file
from .proof import begun_by, units
from .screen import Screen
from .staff import STAGES, Hand, Staff
from .telling import pid_of, refusal_of, told

# Where a stage's workers are stopped: in the middle of a step, when at least one before it has finished.
HELD = {"triage": "triage: agent 2", "write": "write: post-mortem", "review": "review: editor 1"}
PATIENCE = 60.0  # seconds without an event, a unit of work begun or a line logged
_LOOK_EVERY = 0.05  # seconds


class Stuck(Exception):
    """The demo did not get where it should."""


class Story:
    """Tells one job as it happens. `owners` are the workers that held each stage, in order."""

    def __init__(self, coordinator: bp.SyncCoordinator, staff: Staff, screen: Screen, evidence: Path) -> None:
        self._coordinator = coordinator
        self._staff = staff
        self._screen = screen
        self._evidence = evidence
        self._cursor = ""
        self._seen: set[str] = set()
        self.owners: dict[str, list[int]] = {stage: [] for stage in STAGES}
        self.tokens: list[int] = []
        self.refusal = ""

    def tell(self, incident: Incident, kill: str | None) -> bp.SyncJob[Report]:
        """Submit the incident and accompany it to its end; `kill` names the stage whose workers are stopped."""
        for stage in STAGES:
            self._staff.hire(stage, hold=HELD[stage] if stage == kill else "")
        if kill:
            self._staff.hire(kill, hold=HELD[kill])  # a spare, so that its slow import is done when it is needed
        self._job = self._coordinator.submit("triage", incident, returns=Report)
        self._say("demo", f"job {self._job.id} submitted to triage; {len(self._staff.hands)} worker processes start")
        if kill:
            first = self._next_owner(kill)
            self._until(lambda: all(hand.ready() for hand in self._staff.hands), "the spare worker")
            self._wake(kill, self._stop_two(kill, first))
        self._until(self._ended, "the end of the job")
        return self._job

    def _stop_two(self, stage: str, first: Hand) -> Hand:
        """Kill the stage's first worker and pause its second; its third finishes. Gives the paused one."""
        unit = HELD[stage].partition(": ")[2]
        self._say("demo", f"kill -9 worker {first.pid} in the middle of '{unit}'", tone="bad")
        first.kill()
        killed = time.monotonic()
        self._staff.hire(stage, hold=HELD[stage])
        second = self._next_owner(stage)
        done = ", ".join(
            u.name for u in units(self._evidence) if u.stage == stage and u.is_step and u.label != HELD[stage]
        )
        self._say(
            stage, f"taken over {time.monotonic() - killed:.1f} s after the kill; not run again: {done}", tone="good"
        )
        self._say("demo", f"pause worker {second.pid} (SIGSTOP) in the middle of '{unit}'", tone="bad")
        second.pause(self._coordinator.url)
        self._go_on(self._next_owner(stage))
        self._until(self._ended, "the end of the job")
        return second

    def _wake(self, stage: str, zombie: Hand) -> None:
        """Wake the paused worker, which goes on as if the job were its own, and see what comes of that."""
        before = self._state()
        self._say(
            "demo", f"wake worker {zombie.pid} (SIGCONT), which still believes that the job is its own", tone="bad"
        )
        self._go_on(zombie)
        zombie.wake()
        self._until(lambda: bool(refusal_of(zombie.lines())), "the zombie's refusal")
        self._say(stage, f"refused; worker {zombie.pid} logs: {refusal_of(zombie.lines())}", tone="good")
        if self._state() != before:
            raise Stuck(f"worker {zombie.pid} changed the job, although its lease was over")
        self.refusal = refusal_of(zombie.lines())

    def _state(self) -> tuple[object, ...]:
        return self._job.info(), *self._coordinator.timeline(thread=self._job.id, limit=1000)

    def _next_owner(self, stage: str) -> Hand:
        """Wait until another worker has the stage, and stands in the unit in which it is held."""
        known = begun_by(self._evidence, HELD[stage])
        self._until(lambda: len(begun_by(self._evidence, HELD[stage])) > len(known), f"a worker to take {stage} on")
        pid = begun_by(self._evidence, HELD[stage])[-1]
        hand = self._staff.of(pid)
        if hand is None:
            raise Stuck(f"process {pid} runs {stage}, but it is no worker of this demo")
        return hand

    def _go_on(self, hand: Hand) -> None:
        go_file(self._evidence, hand.pid).touch()

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        """Show what happens until the condition holds; it is given up when nothing at all happens for long."""
        deadline, known = time.monotonic() + PATIENCE, self._progress()
        while True:
            holds = condition()
            self._catch_up()
            if known != (known := self._progress()):
                deadline = time.monotonic() + PATIENCE
            if holds:
                return
            if self._ended() and "job.completed" not in self._seen:
                raise Stuck(f"the job ended as {self._job.info().state}: {self._job.info().error}")
            for hand in self._staff.hands:
                if hand.died():
                    raise Stuck(f"worker {hand.pid} ended by itself: {' '.join(hand.lines()[-1:])} ({hand.log})")
            if time.monotonic() > deadline:
                raise Stuck(f"waited {PATIENCE:.0f} s for {what}: see the logs in {self._evidence.parent}")
            time.sleep(_LOOK_EVERY)

    def _catch_up(self) -> None:
        for event in self._coordinator.events(after=self._cursor, job=self._job.id):
            self._cursor = event.cursor
            kind, agent = event.type.removeprefix("batonpass."), str(event.data["agent"])
            self._seen.add(kind)
            if kind == "job.started":
                self.owners[agent].append(pid_of(event))
                self.tokens.append(int(event.data["token"]))
            if text := told(event):
                self._say(str(event.data.get("sender", agent)), text)

    def _progress(self) -> tuple[object, ...]:
        logs = (hand.log for hand in self._staff.hands)
        return self._cursor, *(path.stat().st_size for path in (self._evidence, *logs) if path.exists())

    def _ended(self) -> bool:
        return not self._seen.isdisjoint({"job.completed", "job.failed", "job.canceled", "job.rejected"})

    def _say(self, who: str, text: str, *, tone: str = "") -> None:
        self._screen.say(who, text, tone=tone)

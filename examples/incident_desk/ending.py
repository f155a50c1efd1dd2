"""How the demo ended: the report, what ran how often, and whether that is as it should be."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

import batonpass as bp

from .contracts import Incident, Report
from .proof import Unit, recount, repeated, units
from .screen import WIDTH, Screen
from .staff import STAGES
from .story import HELD, Story


class Ending:
    """A finished run of the demo, judged by its evidence."""

    def __init__(
        self,
        coordinator: bp.SyncCoordinator,
        job: bp.SyncJob[Report],
        story: Story,
        incident: Incident,
        evidence: Path,
        kill: str | None,
    ) -> None:
        self.report = job.result(timeout=5)
        self.job = job.info()
        self.checkpoints = coordinator.timeline(thread=self.job.thread, limit=1000)[::-1]
        self.units = units(evidence)
        self.repeated = repeated(evidence, HELD[kill] if kill else "", story.owners[kill] if kill else [])
        self.story = story
        self.folder = evidence.parent
        self._kill = kill
        truth = recount(Path(incident.log))
        self.true_figures = sum(figure in truth for figure in self.report.figures)

    @property
    def good(self) -> bool:
        """The report came, no finished step ran twice, tokens grew, and a woken zombie was refused."""
        tokens = self.story.tokens
        return not self.repeated and tokens == sorted(set(tokens)) and bool(self.story.refusal or not self._kill)

    def as_dict(self) -> dict[str, Any]:
        """The outcome as plain values, for JSON."""
        return {
            "job": self.job.id,
            "good": self.good,
            "report": self.report.model_dump(),
            "steps": {
                stage: {unit.name: len(unit.pids) for unit in self.units if unit.stage == stage} for stage in STAGES
            },
            "repeated": [unit.label for unit in self.repeated],
            "owners": self.story.owners,
            "tokens": self.story.tokens,
            "refusal": self.story.refusal,
            "folder": str(self.folder),
        }

    def show(self, screen: Screen, commands: list[str]) -> None:
        """Print it all."""
        self._show_report(screen)
        self._show_steps(screen)
        screen.heading(f"Timeline of job {self.job.id}")
        for c in self.checkpoints:
            screen.row(
                f"{c.step_index:>3}  {c.created_at:%H:%M:%S}  {c.agent:<7} {c.framework:<10} {c.step:<32} {c.id}"
            )
        screen.heading("Where everything is")
        screen.row(f"{self.folder}/  the evidence, each worker's log, and the store unless --store named one")
        screen.heading("Try next")
        for command in commands:
            screen.raw(f"  {command}")
        verdict = "no finished step ran twice" if not self.repeated else "FINISHED STEPS RAN TWICE"
        screen.raw("")
        screen.say("demo", f"done: the report is there, {verdict}", tone="good" if self.good else "bad")

    def _show_report(self, screen: Screen) -> None:
        report = self.report
        screen.heading(f"Report: {report.title}")
        approved = f"approved by {' and '.join(report.reviewers)}" if report.approved else "not approved"
        screen.row(f"severity {report.severity}, {approved}")
        for line in wrap(report.summary, WIDTH):
            screen.row(line)
        for moment in report.timeline:
            screen.row(f"{moment.time or 'no time':<19}  line {moment.line or '-':<6} {moment.what}")
        for figure in report.figures:
            screen.row(f"{figure.value:>19}  {figure.name}")
        screen.row(
            f"{self.true_figures} of {len(report.figures)} figures are those of the file, counted again just now"
        )

    def _show_steps(self, screen: Screen) -> None:
        screen.heading("What ran how often (written by the agents themselves, not by Batonpass)")
        for stage in STAGES:
            mine = [unit for unit in self.units if unit.stage == stage]
            steps = [unit for unit in mine if unit.is_step]
            once = [unit for unit in steps if len(unit.pids) == 1]
            tools = f"; {len(mine) - len(steps)} tool calls" if len(mine) > len(steps) else ""
            ran = f"each ran once{tools}" if len(once) == len(steps) else f"{len(once)} ran once{tools}"
            screen.row(f"{stage}: {len(steps)} steps, {ran} ({', '.join(unit.name for unit in once)})")
            for unit in mine:
                if len(unit.pids) > 1:
                    screen.row(self._explain(unit))

    def _explain(self, unit: Unit) -> str:
        if unit in self.repeated or self._kill is None:
            return f"  '{unit.name}' began {len(unit.pids)} times, and should not have"
        killed, paused, last = unit.pids
        return f"  '{unit.name}' began in {killed} (killed), in {paused} (paused, then refused), finished in {last}"

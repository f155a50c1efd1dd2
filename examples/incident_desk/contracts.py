"""What the incident desk's agents pass to each other."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

import batonpass as bp

Severity = Literal["low", "medium", "high"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Figure(_Part):
    """A number or time that was read off the log. `line` is where it can be seen, None for a count over all."""

    name: str
    value: str
    line: int | None


class Moment(_Part):
    """One entry of a timeline; `time` is written as in the figures, empty where the log has no times."""

    time: str
    what: str
    line: int | None


class Incident(bp.Contract, name="desk.incident"):
    """What somebody reports: a title, and the path of the log that shows it."""

    title: str
    log: str


class Findings(bp.Contract, name="desk.findings"):
    """What triage found in the log: figures computed by its tools, and the analyst's summary of them."""

    title: str
    summary: str
    severity: Severity
    figures: list[Figure]
    timeline: list[Moment]


class PostMortem(bp.Contract, name="desk.post-mortem"):
    """A draft in markdown, with the figures that it rests on."""

    title: str
    severity: Severity
    markdown: str
    figures: list[Figure]
    timeline: list[Moment]


class Report(bp.Contract, name="desk.report"):
    """The reviewed incident report. Every figure in it is one of the log's own."""

    title: str
    severity: Severity
    summary: str
    timeline: list[Moment]
    figures: list[Figure]
    approved: bool
    reviewers: list[str]

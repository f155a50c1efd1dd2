"""What the offline models answer: rules over the text of a transcript, the same for the same transcript.

They know neither the log nor the code that read it: every figure that they write stood in a message before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from ..contracts import PostMortem, Report, Severity
from ..figures import Result, figures, read_figures, read_timeline, timeline, write_figures, write_timeline

Said = tuple[str, str]  # who said it, and what
Call = tuple[str, dict[str, Any]]

APPROVED = "APPROVED"
_ROUNDS = [("count_levels", "find_bursts", "top_signatures"), ("first_occurrences",), ("excerpt",)]
_IN_DRAFT = 8  # figures that the author quotes in the draft's text; the reviewer asks for the others


def next_calls(offered: Sequence[str], results: Sequence[Result]) -> list[Call]:
    """The tools to ask next, of those offered; none when all have answered."""
    answered = {name for name, _ in results}
    for names in _ROUNDS:
        if missing := [name for name in names if name in offered and name not in answered]:
            return [(name, _arguments(name, results)) for name in missing]
    return []


def _arguments(tool: str, results: Sequence[Result]) -> dict[str, Any]:
    if tool != "excerpt":
        return {}
    moments = [moment.line for moment in timeline(results) if moment.line]
    return {"lines": list(dict.fromkeys(moments))[:6]}


def summary(results: Sequence[Result]) -> str:
    """What the tools' answers come to, in a few sentences."""
    value = {figure.name: figure for figure in figures(results)}
    sentences: list[str] = []
    if "lines" in value:
        sentences.append(f"{value['error lines'].value} of the log's {value['lines'].value} lines are errors.")
    if "first time" in value:
        sentences.append(f"It runs from {value['first time'].value} to {value['last time'].value}.")
    fullest = next((figure for name, figure in value.items() if name.startswith("fullest minute")), None)
    if fullest:
        sentences.append(f"The {fullest.name} is {fullest.value} (line {fullest.line}).")
    commonest = next((figure for name, figure in value.items() if name.startswith("count of")), None)
    if commonest:
        what = commonest.name.removeprefix("count of ")
        sentences.append(f"Most frequent, with a count of {commonest.value}: {what}.")
    for moment in timeline(results)[:1]:
        sentences.append(f"It began in line {moment.line}, {moment.what}.")
    return " ".join(sentences)


def facts(prompt: str) -> str:
    """The prompt's facts, in order: the analyst's answer in the crew."""
    parts = [f"{name}: {_field(prompt, name)}" for name in ("Incident", "Severity", "Summary")]
    return "\n".join([*parts, "", write_figures(read_figures(prompt)), "", write_timeline(read_timeline(prompt))])


def post_mortem(prompt: str) -> str:
    """The prompt's facts as a `PostMortem` in JSON: the author's answer in the crew."""
    title, severity = _field(prompt, "Incident"), _field(prompt, "Severity")
    quoted, moments = read_figures(prompt), read_timeline(prompt)
    markdown = "\n".join(
        [
            *(f"# Post-mortem: {title}", "", f"Severity: {severity}", "", "## What happened", ""),
            *(_field(prompt, "Summary"), "", "## Timeline", "", write_timeline(moments), "", "## Figures", ""),
            write_figures(quoted[:_IN_DRAFT]),
        ]
    )
    return PostMortem(
        title=title,
        severity=cast(Severity, severity),
        markdown=markdown,
        figures=quoted,
        timeline=moments,
    ).model_dump_json()


def verdict(said: Sequence[Said]) -> str:
    """The reviewer's answer: which of the draft's figures the text, or the report, does not quote yet."""
    draft, report = _draft(said), _last_report(said)
    shown = [*read_figures(draft.markdown), *(report.figures if report else [])]
    missing = [figure for figure in draft.figures if figure not in shown]
    if missing:
        return f"Please quote these figures too:\n{write_figures(missing)}"
    if report is None:
        return f"All {len(draft.figures)} figures are quoted. {APPROVED}"
    return f"The report quotes all {len(draft.figures)} figures. {APPROVED}"


def report(said: Sequence[Said]) -> str:
    """The draft as a `Report` in JSON, with what the reviewer asked for: the editor's answer."""
    draft = _draft(said)
    remarks = [text for source, text in said if source == "reviewer"]
    quoted = {figure.name: figure for text in [draft.markdown, *remarks] for figure in read_figures(text)}
    happened = draft.markdown.partition("## What happened")[2].partition("##")[0].strip()
    return Report(
        title=draft.title,
        severity=draft.severity,
        summary=happened,
        timeline=draft.timeline,
        figures=list(quoted.values()),
        approved=bool(remarks) and APPROVED in remarks[-1],
        reviewers=["reviewer", "editor"],
    ).model_dump_json()


def _field(text: str, name: str) -> str:
    """What follows `name:` at the start of a line; the last one, as a transcript grows downwards."""
    found = re.findall(rf"^{name}: (.*)$", text, re.MULTILINE)
    return str(found[-1]).strip() if found else ""


def _draft(said: Sequence[Said]) -> PostMortem:
    for _, text in said:
        if (value := _object(text)) and "markdown" in value:
            return PostMortem.model_validate(value)
    raise ValueError("the transcript holds no draft to review")


def _last_report(said: Sequence[Said]) -> Report | None:
    for _, text in reversed(said):
        if (value := _object(text)) and "approved" in value:
            return Report.model_validate(value)
    return None


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None

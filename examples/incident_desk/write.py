"""The write-up: a CrewAI crew of two tasks, the facts and then the post-mortem."""

from __future__ import annotations

from typing import Any

from crewai import Agent, Crew, Process, Task
from crewai.hooks import InterceptionPoint, on

from .contracts import Findings, PostMortem
from .evidence import begin
from .figures import write_figures, write_timeline
from .models.crewai import crew_model


@on(InterceptionPoint.PRE_STEP)
def _note(step: Any) -> None:
    if step.kind == "task":
        begin(f"write: {step.task.name}")


def inputs(findings: Findings) -> dict[str, Any]:
    """The findings as the one text that the first task quotes.

    One input only: CrewAI would fill in a second one wherever the first one's text has its name in braces.
    """
    parts = [f"Incident: {findings.title}", f"Severity: {findings.severity}", f"Summary: {findings.summary}"]
    parts += ["", "Figures:", write_figures(findings.figures), "", "Timeline:", write_timeline(findings.timeline)]
    return {"findings": "\n".join(parts)}


def build() -> Crew:
    """The crew. Each task is a checkpoint."""
    model = crew_model()
    analyst = Agent(
        role="Incident analyst",
        goal="State what is known about an incident, and nothing else",
        backstory="You read findings of a log's triage and keep every figure and line number exactly as given.",
        llm=model,
        verbose=False,
    )
    author = Agent(
        role="Post-mortem author",
        goal="Write post-mortems that people can act on",
        backstory="You write short, plain markdown and quote figures exactly, each with its line.",
        llm=model,
        verbose=False,
    )
    facts = Task(
        name="facts",
        description="List the facts of this incident in the order of their importance.\n\n{findings}",
        expected_output="The title, severity and summary, then all figures and the timeline, as they were given.",
        agent=analyst,
    )
    post_mortem = Task(
        name="post-mortem",
        description="Write the post-mortem of the incident from its facts.",
        expected_output="Title, severity, the post-mortem in markdown, and the figures and timeline that it rests on.",
        agent=author,
        context=[facts],
        output_pydantic=PostMortem,
    )
    return Crew(agents=[analyst, author], tasks=[facts, post_mortem], process=Process.sequential, verbose=False)

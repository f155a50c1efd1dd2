"""The incident desk: triage (LangGraph) hands to write (CrewAI), which hands to review (AutoGen)."""

from __future__ import annotations

from typing import Any

import batonpass as bp

from .contracts import Findings, Incident, PostMortem, Report

app = bp.App("incident-desk")

LEASE = 3.0  # seconds: short, so that the demo's takeovers do not keep anybody waiting
RETRIES = 5


@app.langgraph("triage", accepts=Incident, hands_to={"write": Findings}, lease=LEASE, retries=RETRIES)
def triage() -> Any:
    from .triage import build

    return build()


def _enter_write(findings: Findings, ctx: Any) -> dict[str, Any]:
    from .write import inputs

    return inputs(findings)


# Crews run in a process of their own by default. Here they don't, so that what the demo kills is the worker.
@app.crewai(
    "write",
    accepts=Findings,
    hands_to={"review": PostMortem},
    enter=_enter_write,
    lease=LEASE,
    retries=RETRIES,
    isolation="task",
)
def write() -> Any:
    from .write import build

    return build()


@app.autogen("review", accepts=PostMortem, returns=Report, lease=LEASE, retries=RETRIES)
def review() -> Any:
    from .review import build

    return build()
